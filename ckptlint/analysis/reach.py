"""Which functions can matter, from the names they mention: a call graph without values.

Names are resolved as far as imports and definitions go: a plain name to what the module binds, an
attribute to the functions of that name in the modules and classes that the module can see. So the
graph has too many edges rather than too few, and no function has to be executed to draw it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ckptlint.project import ClassDefinition, Function, Import, Module

_HOPS = 6


class View:
    """What a module can see: its names, and the methods of the classes around it."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def names(self) -> Mapping[str, Function | ClassDefinition | Module]:
        """Names of the module that lead to something of the project."""
        found: dict[str, Function | ClassDefinition | Module] = {}
        for star in self.module.stars:
            target = self.module.project.find(self.module, star.module, star.level)
            if target is not None:
                found.update(
                    (name, symbol)
                    for name, symbol in target.symbols.items()
                    if not isinstance(symbol, Import)
                )
        for name in self.module.symbols:
            symbol = resolve(self.module, name)
            if symbol is not None:
                found[name] = symbol
        for names in self.module.local_imports:
            for name, import_ in names.items():
                symbol = _imported(self.module, import_, _HOPS)
                if symbol is not None:
                    found.setdefault(name, symbol)
        return found

    @cached_property
    def attributes(self) -> Mapping[str, list[Function]]:
        """Functions that an attribute may lead to: of visible modules, of visible classes."""
        modules: dict[Module, None] = {self.module: None}
        classes: dict[ClassDefinition, None] = {}
        for symbol in self.names.values():
            if isinstance(symbol, Module):
                modules[symbol] = None
            elif symbol.module is not self.module:
                modules[symbol.module] = None
        found: dict[str, list[Function]] = defaultdict(list)
        for module in modules:
            for defined in module.symbols.values():
                if isinstance(defined, Function) and module is not self.module:
                    found[defined.name].append(defined)
                elif isinstance(defined, ClassDefinition):
                    classes[defined] = None
        queue = list(classes)
        while queue:
            definition = queue.pop()
            for name, method in definition.methods.items():
                found[name].append(method)
            for base in definition.node.bases:
                if isinstance(base, ast.Name):
                    symbol_ = resolve(definition.module, base.id)
                    if isinstance(symbol_, ClassDefinition) and symbol_ not in classes:
                        classes[symbol_] = None
                        queue.append(symbol_)
        return found

    def targets(self, name: str, attribute: bool) -> Iterator[Function]:
        """Yield the functions that mentioning a name may lead to."""
        if attribute:
            yield from self.attributes.get(name, ())
            return
        symbol = self.names.get(name)
        if isinstance(symbol, Function):
            yield symbol
        elif isinstance(symbol, ClassDefinition) and "__init__" in symbol.methods:
            yield symbol.methods["__init__"]


def resolve(
    module: Module, name: str, hops: int = _HOPS
) -> Function | ClassDefinition | Module | None:
    """Follow a name of a module through imports to a definition of the project."""
    symbol = module.symbols.get(name)
    if isinstance(symbol, Import):
        return _imported(module, symbol, hops)
    if symbol is not None:
        return symbol
    if hops:
        for star in module.stars:
            target = module.project.find(module, star.module, star.level)
            if target is not None and target is not module:
                found = resolve(target, name, hops - 1)
                if found is not None:
                    return found
    return None


def _imported(
    module: Module, target: Import, hops: int
) -> Function | ClassDefinition | Module | None:
    if not hops:
        return None
    found = module.project.find(module, target.module, target.level)
    if not target.name:
        return found
    if found is not None and found is not module:
        symbol = resolve(found, target.name, hops - 1)
        if symbol is not None:
            return symbol
    inner = ".".join(part for part in (target.module, target.name) if part)
    return module.project.find(module, inner, target.level)


class Mentions:
    """The identifiers of a piece of syntax: plain names and attributes."""

    __slots__ = ("attributes", "names")

    def __init__(self, node: ast.AST) -> None:
        names: set[str] = set()
        attributes: set[str] = set()
        stack = [node]
        while stack:
            current = stack.pop()
            if isinstance(current, ast.Name):
                names.add(current.id)
                continue
            if isinstance(current, ast.Attribute):
                attributes.add(current.attr)
            stack.extend(ast.iter_child_nodes(current))
        self.names = frozenset(names)
        self.attributes = frozenset(attributes)


class Reach:
    """The functions from which one of some identifiers is reached, and how modules name them."""

    def __init__(
        self,
        views: Mapping[Module, View],
        mentions: Mapping[Function, Mentions],
        seeds: frozenset[str],
    ) -> None:
        self._views = views
        self._names: dict[Module, frozenset[str]] = {}
        callers: dict[Function, list[Function]] = defaultdict(list)
        queue: list[Function] = []
        self._seeds: dict[Module, frozenset[str]] = {
            module: seeds | _renamed(module, seeds) for module in views
        }
        self.functions: set[Function] = set()
        for function, said in mentions.items():
            view = views[function.module]
            for attribute, names in ((False, said.names), (True, said.attributes)):
                for name in names:
                    for target in view.targets(name, attribute):
                        callers[target].append(function)
            own = self._seeds[function.module]
            if not (own.isdisjoint(said.names) and own.isdisjoint(said.attributes)):
                self.functions.add(function)
                queue.append(function)
        while queue:
            for caller in callers.get(queue.pop(), ()):
                if caller not in self.functions:
                    self.functions.add(caller)
                    queue.append(caller)

    def names(self, module: Module) -> frozenset[str]:
        """Identifiers through which this module reaches what was sought."""
        known = self._names.get(module)
        if known is None:
            view = self._views[module]
            found = set(self._seeds[module])
            for name, symbol in view.names.items():
                if symbol in self.functions or (
                    isinstance(symbol, ClassDefinition)
                    and not self.functions.isdisjoint(symbol.methods.values())
                ):
                    found.add(name)
            for name, functions in view.attributes.items():
                if not self.functions.isdisjoint(functions):
                    found.add(name)
            known = self._names[module] = frozenset(found | _renamed(module, found))
        return known


def _renamed(module: Module, names: Iterable[str]) -> set[str]:
    """Return other names that a module gives to what ``names`` name."""
    wanted = set(names)
    return {other for name, other in module.renames if name in wanted}
