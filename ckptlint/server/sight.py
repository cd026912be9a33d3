"""What the facts say of the name at a place: the code around it is executed as the analysis does
it, and what the name stood for is noted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ckptlint import evidence
from ckptlint.analysis.frame import Arguments, Frame
from ckptlint.analysis.holders import Holders
from ckptlint.analysis.interpreter import Interpreter
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common
from ckptlint.analysis.met import Met
from ckptlint.analysis.ranks import FIRST, OTHER, RankClass
from ckptlint.analysis.sequences import Operation
from ckptlint.analysis.statements import TooComplexError
from ckptlint.analysis.steps import operations_in
from ckptlint.analysis.values import (
    Choice,
    ClassValue,
    External,
    FunctionValue,
    Guarded,
    Instance,
    Object,
    Partial,
    Site,
    Value,
)
from ckptlint.analysis.world import World
from ckptlint.engine import Request, in_deep_stack
from ckptlint.facts import Call
from ckptlint.finding import Span
from ckptlint.knowledge import Knowledge
from ckptlint.lookup import Fact
from ckptlint.project import Function, Module, Project
from ckptlint.source import Source, SourceError

_Named = ast.Name | ast.Attribute


@dataclass(frozen=True)
class Sight:
    """What stands at ``span``: the facts about it, or the collectives that a function of the
    project reaches when it is called there."""

    span: Span
    facts: tuple[Fact, ...] = ()
    reached: tuple[Operation, ...] = ()


def sight(request: Request, source: Source, line: int, column: int) -> Sight | None:
    """Look at a place of a file of the project (both from 1), or return None when nothing is known
    of what stands there."""
    return in_deep_stack(lambda: _sight(request, source, line, column))


def _sight(request: Request, source: Source, line: int, column: int) -> Sight | None:
    try:
        node = _node_at(source, line, column)
    except SourceError:
        return None
    if node is None:
        return None
    knowledge = Knowledge(request.facts, evidence.pinned(request.root, request.facts))
    if isinstance(node, ast.Constant):
        variable = knowledge.environment.get(str(node.value))
        return None if variable is None else Sight(source.span(node), (variable,))
    project = Project(request.sources, request.root)
    world = World(project, knowledge, Holders(project, knowledge))
    module = project.module(source)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _hook(world, module, node)
    for ranks in (FIRST, OTHER):
        watcher = _Watcher(world, ranks, node)
        watcher.execute_around(module)
        found = tuple(watcher.facts())
        if found or watcher.reached:
            return Sight(_last_part(source, node), found, tuple(watcher.reached))
    return None


def _hook(world: World, module: Module, node: ast.AST) -> Sight | None:
    """Say on which ranks a framework runs a method that it calls."""
    for function in module.functions:
        if function.node is node:
            hook = Interpreter(world, FIRST, Keys(), Common()).hook_of(function)
            return None if hook is None else Sight(_name_of(function), (hook,))
    return None


def _node_at(source: Source, line: int, column: int) -> ast.AST | None:
    """Return the name, the attribute, the definition or the string at a place."""
    for node in ast.walk(source.tree):
        place: Span | None = None
        if isinstance(node, _Named):
            place = _last_part(source, node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = _name_span(source, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            place = source.span(node)
        if place is not None and _covers(place, line, column):
            return node
    return None


def _covers(span: Span, line: int, column: int) -> bool:
    return span.line == span.end_line == line and span.column <= column <= span.end_column


def _last_part(source: Source, node: ast.AST) -> Span:
    """Return where a name stands; of ``a.b.c`` where ``c`` does."""
    span = source.span(node)
    if not isinstance(node, ast.Attribute):
        return span
    start = span.end_column - len(node.attr)
    return Span(span.path, span.end_line, start, span.end_line, span.end_column)


def _name_of(function: Function) -> Span:
    assert isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef)
    return _name_span(function.module.source, function.node)


def _name_span(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
    span = source.span(node)
    text = source.lines[span.line - 1]
    start = text.find(node.name, span.column + len("def")) + 1
    return Span(span.path, span.line, start, span.line, start + len(node.name))


class _Watcher(Interpreter):
    """An interpreter that notes what ``target`` stands for whenever it comes by."""

    def __init__(self, world: World, ranks: RankClass, target: ast.AST) -> None:
        super().__init__(world, ranks, Keys(), Common())
        self.target = target
        self.reached: list[Operation] = []
        self._values: list[Value] = []
        self._owners: list[Value] = []
        self._met: list[Call] = []

    def execute_around(self, module: Module) -> None:
        """Execute the function that the target stands in, or else the file."""
        with suppress(TooComplexError, RecursionError):  # told as CKP900
            self._run_around(module)
        if not (self._values or self._owners):
            # Not reached in any execution, as a decorator or a base class is not.
            frame = Frame(module, None)
            if isinstance(self.target, ast.expr):
                self.evaluate(frame, self.target)

    def _run_around(self, module: Module) -> None:
        function = next(
            (each for each in module.functions if _contains(each.node, self.target)), None
        )
        if function is None:
            self.run_module(module)
            return
        bound = Instance(function.owner) if function.owner is not None else None
        value = self.decorated(function, bound)
        self.run_entry(value, self.hook_of(function), Site(module, function.node))
        done: set[ast.AST] = set()
        seen: set[Met] = set()
        met = self.memory.met
        while inner := {
            node: value
            for each in met.every(seen)
            for node, (_, value) in each.nested.items()
            if node not in done
        }:
            self.memory.met = met = Met()
            for node, value in inner.items():
                done.add(node)
                if _contains(node, self.target):
                    self.run_entry(value, None, Site(module, node))

    # -- noting --------------------------------------------------------------------------------

    def evaluate(self, frame: Frame, node: ast.expr | None) -> Value:
        value = super().evaluate(frame, node)
        if node is self.target:
            self._values.append(value)
        return value

    def attribute(self, frame: Frame, base: Value, name: str, node: ast.expr) -> Value:
        if node is self.target:
            self._owners.append(base)
        return super().attribute(frame, base, name, node)

    def called_attribute(self, frame: Frame, base: Value, node: ast.Attribute) -> Value:
        value = super().called_attribute(frame, base, node)
        if node is self.target:
            self._owners.append(base)
            self._values.append(value)
        return value

    def operate(
        self, frame: Frame, record: Call, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        if self._targets(site.node):
            self._met.append(record)
        return super().operate(frame, record, callee, arguments, site)

    def inline(
        self, frame: Frame, callee: FunctionValue, arguments: Arguments, site: Site
    ) -> Value:
        before = len(frame.trace)
        value = super().inline(frame, callee, arguments, site)
        if self._targets(site.node):
            known = {operation.site.key for operation in self.reached}
            for operation in operations_in(frame.trace[before:]):
                if operation.site.key not in known:
                    self.reached.append(operation)
        return value

    def _targets(self, node: ast.AST) -> bool:
        return node is self.target or (isinstance(node, ast.Call) and node.func is self.target)

    # -- telling -------------------------------------------------------------------------------

    def facts(self) -> Iterator[Fact]:
        """Yield the facts about what was noted, each once; the convention by which a name is taken
        for a rank test when nothing else is known."""
        known = self.knowledge
        found: list[Fact] = []
        for name in dict.fromkeys(self._names()):
            calls = [*known.calls.get(name, ()), *known.calls.get(f"{name}.__init__", ())]
            met = [record for record in self._met if record in calls]
            found += met or calls
            found += (table[name] for table in (known.predicates, known.guards) if name in table)
        if not found:
            last = self.target.attr if isinstance(self.target, ast.Attribute) else ""
            last = self.target.id if isinstance(self.target, ast.Name) else last
            convention = known.conventions.get(last)
            if convention is not None and any(value.rank for value in self._values):
                found.append(convention)
        seen: list[Fact] = []
        for fact in found:
            if fact not in seen:
                seen.append(fact)
                yield fact

    def _names(self) -> Iterator[str]:
        known = self.knowledge
        for value in (leaf for each in self._values for leaf in _leaves(each)):
            if isinstance(value, External):
                yield known.canonical(value.name)
        if isinstance(self.target, ast.Attribute):
            for owner in (leaf for each in self._owners for leaf in _leaves(each)):
                yield from self._members(owner, self.target.attr)

    def _members(self, owner: Value, name: str) -> Iterator[str]:
        known = self.knowledge
        if isinstance(owner, External) and owner.owner is None:
            yield known.canonical(f"{owner.name}.{name}")
        classes: tuple[str, ...] = (owner.name,) if isinstance(owner, Object) else ()
        if isinstance(owner, Instance | ClassValue):
            classes = self.external_bases(owner.definition)
        for each in classes:
            member = known.member(each, name)
            if member is not None:
                yield member


def _leaves(value: Value) -> Iterator[Value]:
    while isinstance(value, Guarded | Partial):
        value = value.inner
    yield from value.leaves if isinstance(value, Choice) else (value,)


def _contains(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))
