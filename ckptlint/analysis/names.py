"""Names: what a variable, a global, an import or a convention stands for."""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from ckptlint.analysis.expressions import Evaluator
from ckptlint.analysis.frame import Frame
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.values import (
    ClassValue,
    Closure,
    Const,
    External,
    ModuleValue,
    Object,
    Rank,
    Settings,
    Symbol,
    Value,
    blank,
    merge_divergent,
    merge_ranks,
)
from ckptlint.analysis.world import World
from ckptlint.project import (
    ClassDefinition,
    Function,
    Import,
    Module,
)

_T = TypeVar("_T")


class Namer(Evaluator):
    """Resolves names."""

    def __init__(self, world: World, ranks: RankClass, keys: Keys, common: Common) -> None:
        super().__init__(world, ranks, keys, common)
        self.settings: Settings = {}

    @abstractmethod
    def module_variables(self, module: Module) -> Mapping[str, Value]:
        """Execute a module's top level once and return its variables."""

    @abstractmethod
    def given(self, setter: Function) -> Settings:
        """Return what a function puts into variables of its module."""

    @contextmanager
    def within(self, settings: Settings) -> Iterator[None]:
        """Execute a block in which module variables have other values."""
        outer, self.settings = self.settings, {**self.settings, **settings}
        try:
            yield
        finally:
            self.settings = outer

    def apart_from_settings(self, find: Callable[[], _T]) -> _T:
        """Find out what is the same whatever a module variable is where it is asked."""
        outer, self.settings = self.settings, {}
        try:
            return find()
        finally:
            self.settings = outer

    @abstractmethod
    def decorated(
        self, function: Function, bound: Value | None, closure: Closure | None = None
    ) -> Value:
        """Return what a definition binds: the function with its decorators applied."""

    def lookup(self, frame: Frame, name: str) -> Value:
        """Read a name: local, enclosing, global, built in, or by convention."""
        found = frame.variables.get(name)
        if found is None and frame.closure is not None:
            found = frame.closure.get(name)
        if found is None and name in frame.shared:
            found = self.module_variables(frame.module).get(name)
        if found is None:
            found = self.global_value(frame.module, name)
        if found is not None:
            return self.keys.narrowed(found, frame.facts)
        if hasattr(builtins, name):
            return External(name)
        symbol = Symbol(self.keys.number("name", frame.module.source.display, name), origin="name")
        return self.by_convention(frame.module, name, symbol)

    def global_value(self, module: Module, name: str) -> Value | None:
        """Read a name of a module; None when the module does not bind it."""
        found = self._bound(module, name)
        if found is not None:
            return found
        for star in module.project.giving(module.source, name, "outline"):
            if isinstance(star, Module):
                found = self._bound(star, name)
            elif self.recorded(f"{star}.{name}"):
                found = External(f"{star}.{name}")
            if found is not None:
                return found
        return None

    def _bound(self, module: Module, name: str) -> Value | None:
        """Read a name that a module binds itself, not by ``import *``."""
        symbol = module.symbols.get(name)
        if isinstance(symbol, ClassDefinition):
            return ClassValue(symbol)
        if symbol is not None:
            value = self.memory.aside(
                ("name", module, name),
                partial(self.apart_from_settings, lambda: self._defined(module, symbol)),
                lambda: None,  # modules that import each other in a circle
            )
            if value is not None:
                return value
        return self.assigned(module, name)

    def assigned(self, module: Module, name: str) -> Value | None:
        """Read a variable of a module: as its top level leaves it, or as functions set it."""
        if (module, name) in self.settings:
            return self.settings[module, name]
        initial = self.module_variables(module).get(name) if name in module.assigned else None
        setters = self.world.setters(module).get(name)
        if not setters:
            return initial
        given = [self.given(setter).get((module, name)) for setter in setters]
        values = [value for value in (initial, *given) if value is not None]
        told = [value for value in values if not (blank(value) or _settled(value))]
        if told and all(value == told[0] for value in told):
            return told[0]
        symbol = Symbol(
            self.keys.number("global", module.source.display, name),
            origin="name",
            rank=merge_ranks(*(value.rank for value in told)),
            divergent=merge_divergent(*map(self.keys.disagreement, told)),
        )
        return self.by_convention(module, name, symbol) if _plain(symbol) else symbol

    def _defined(self, module: Module, symbol: Function | Import) -> Value | None:
        if isinstance(symbol, Function):
            return self.decorated(symbol, None)
        return self.imported(module, symbol)

    def imported(self, module: Module, target: Import) -> Value:
        """Follow an import into the project or out of it."""
        full = f"{target.module}.{target.name}" if target.name else target.module
        if not target.level and self.recorded(full):
            return External(full)
        found = module.project.find(module, target.module, target.level, "outline")
        if not target.name:
            return ModuleValue(found) if found is not None else External(full)
        if found is not None and found is not module:
            value = self.global_value(found, target.name)
            if value is not None:
                return value
        inner = ".".join(part for part in (target.module, target.name) if part)
        submodule = module.project.find(module, inner, target.level, "outline")
        if submodule is not None:
            return ModuleValue(submodule)
        return External(full)

    def recorded(self, name: str) -> bool:
        """Say whether the facts tell of a function or class, whose source is not asked then."""
        known = self.knowledge
        name = known.canonical(name)
        return any(
            name in table
            for table in (known.calls, known.predicates, known.guards, known.classes, known.returns)
        )

    def by_convention(self, module: Module, name: str, symbol: Symbol) -> Value:
        """Give an unknown what its name conventionally holds in a distributed program."""
        known = self.knowledge
        if module.imports.isdisjoint(known.import_roots):
            return symbol
        predicate = known.conventions.get(name)
        if predicate is not None:
            value = self.ranks.value(predicate)
            if predicate.meaning in ("world", "distributed"):
                return Const(value)
            return Const(value, rank=Rank(frozenset({predicate.scope}), certain=False))
        usual = known.usual(name, module.imports)
        if usual is not None:
            return Object(known.canonical(usual.name), certain=False)
        return symbol

    def conventional(self, frame: Frame, target: ast.expr, value: Value) -> Value:
        """Apply :meth:`by_convention` to the target of an assignment from an unknown call."""
        if isinstance(value, Symbol) and value.origin == "call" and _plain(value):
            if isinstance(target, ast.Name):
                return self.by_convention(frame.module, target.id, value)
            if isinstance(target, ast.Attribute):
                return self.by_convention(frame.module, target.attr, value)
        return value


def _settled(value: Value) -> bool:
    """Say whether a value is a constant of all ranks: one that a function may change."""
    return isinstance(value, Const) and value.rank is None


def _plain(value: Value) -> bool:
    each = isinstance(value, Symbol) and value.each
    return value.rank is None and value.divergent is None and not each
