"""Which methods may put something known into an attribute, from their syntax alone.

To know what an attribute holds, the methods that assign it are executed. Most assignments only move
unknowns about; what is assigned, and what the variables in it were computed from, tells which.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ckptlint.analysis.holders import flags_of
from ckptlint.project import (
    ClassDefinition,
    Function,
    Module,
    every_statement,
    handed_on,
    walk,
)
from ckptlint.questions import Answers, Questions

_Assigned = tuple[ast.expr, ast.expr]
_Sources = dict[str, list[ast.expr]]
_Telling = Callable[[Module, ast.AST], bool]


@dataclass(frozen=True)
class Writers:
    """What a class's own code puts into an attribute of ``self``.

    ``methods`` may put something known there; ``constants`` come from the others, and with
    ``unknown`` these put something else there too.
    """

    methods: tuple[Function, ...]
    constants: tuple[Any, ...]
    unknown: bool


class Attributes:
    """Finds the telling assignments of classes; ``telling`` judges an expression of a module."""

    def __init__(self, telling: _Telling, questions: Questions) -> None:
        self._telling = telling
        self._questions = questions
        self._writers: Answers[ClassDefinition, Mapping[str, Writers]] = {}

    def writers(self, definition: ClassDefinition) -> Mapping[str, Writers]:
        """Return what may be put into each attribute that the class's methods assign."""
        return self._questions.remembered(
            self._writers, definition, lambda: self._find_writers(definition)
        )

    def _find_writers(self, definition: ClassDefinition) -> Mapping[str, Writers]:
        definition.module.project.read(definition.module, definition.node)
        methods = dict.fromkeys(m for each in definition.writers.values() for m in each)
        written = {method: _written(method) for method in methods}
        tested = {method: _suggested(method) for method in methods}
        sources = {method: _sources(method) for method in methods}
        return {
            name: self._judged(
                {m: written[m][name] for m in each},
                {m: tested[m][name] for m in each},
                sources,
            )
            for name, each in definition.writers.items()
        }

    def _judged(
        self,
        written: Mapping[Function, list[ast.expr]],
        tested: Mapping[Function, list[ast.expr]],
        sources: Mapping[Function, _Sources],
    ) -> Writers:
        methods: list[Function] = []
        constants: list[Any] = []
        unknown = False
        for method, values in written.items():
            telling = [*values, *tested[method]]
            if any(self._tells(method.module, value, sources[method]) for value in telling):
                methods.append(method)
                continue
            for value in values:
                if isinstance(value, ast.Constant):
                    constants.append(value.value)
                else:
                    unknown = True
        return Writers(tuple(methods), tuple(constants), unknown)

    def _tells(self, module: Module, value: ast.expr, sources: _Sources) -> bool:
        """Say whether an expression, or what its variables were computed from, may tell."""
        pending: list[ast.expr] = [value]
        seen: set[str] = set()
        while pending:
            node = pending.pop()
            if self._telling(module, node):
                return True
            for name in _names(node) - seen:
                seen.add(name)
                pending += sources.get(name, ())
        return False


def _written(method: Function) -> dict[str, list[ast.expr]]:
    """Return what a method assigns to each attribute of its first parameter."""
    return _by_attribute(_assignments(method.node), _owner(method))


def _suggested(method: Function) -> dict[str, list[ast.expr]]:
    """Return what else tells of the attributes of the first parameter: the tests under which they
    are set, and the calls that are given them."""
    owner = _owner(method)
    return _by_attribute((*_flags(method.node), *handed_on(method.node, owner)), owner)


def _owner(method: Function) -> str:
    arguments = method.node.args
    return [*arguments.posonlyargs, *arguments.args][0].arg


def _by_attribute(assigned: Iterable[_Assigned], owner: str) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for target, value in assigned:
        for node in walk(target):
            if isinstance(node, ast.Attribute) and _is_named(node.value, owner):
                found[node.attr].append(value)
    return found


def _sources(method: Function) -> _Sources:
    """Return what each variable of a method is computed from; of a parameter, its annotation."""
    arguments = method.node.args
    found: _Sources = defaultdict(list)
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            found[each.arg].append(_spelled_out(each.annotation))
    for target, value in (*_assignments(method.node), *_flags(method.node)):
        for name in _names(target):
            found[name].append(value)
    return found


def _spelled_out(annotation: ast.expr) -> ast.expr:
    """Return the annotation that a string holds."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError):
            return annotation
    return annotation


def _assignments(function: ast.AST) -> Iterator[_Assigned]:
    """Yield targets and values of everything that a function assigns, loops and ``with`` too."""
    body = getattr(function, "body", ())
    for statement in every_statement(body if isinstance(body, list) else []):
        match statement:
            case ast.Assign():
                yield from ((target, statement.value) for target in statement.targets)
            case ast.AnnAssign():
                yield statement.target, _spelled_out(statement.annotation)
                if statement.value is not None:
                    yield statement.target, statement.value
            case ast.AugAssign():
                changed = ast.BinOp(statement.target, statement.op, statement.value)
                yield statement.target, changed
            case ast.For() | ast.AsyncFor():
                yield statement.target, statement.iter
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    if item.optional_vars is not None:
                        yield item.optional_vars, item.context_expr
        for node in _own_expressions(statement):
            if isinstance(node, ast.NamedExpr):
                yield node.target, node.value


def _flags(function: ast.AST) -> Iterator[_Assigned]:
    """Yield the targets to which a function assigns true, false or None under a test, and that."""
    body = getattr(function, "body", ())
    for statement in every_statement(body if isinstance(body, list) else []):
        if isinstance(statement, ast.If):
            yield from ((each, statement.test) for flag in flags_of(statement) for each in flag)


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    for value in vars(statement).values():
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.expr | ast.withitem):
                yield from walk(node)


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in walk(node) if isinstance(each, ast.Name)}
