"""Abstract values: what an expression may be on one rank.

A value is known (:class:`Const`), typed (:class:`Object`, :class:`Instance`), something callable,
or only a name for "the same unknown on every rank" (:class:`Symbol`). A :class:`Choice` is one
value or another, depending on an unknown that is the same on every rank. ``rank`` marks what was
computed from the rank, and where.

Unknowns are numbered by what they were computed from (:class:`Keys`), so two tests of one
unchanged condition have one number, in every function and for every rank.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ckptlint.facts import Guard
from ckptlint.project import ClassDefinition, Function, Module


@dataclass(frozen=True)
class Site:
    """A node of a module: a place in the source."""

    module: Module
    node: ast.AST

    @property
    def key(self) -> tuple[str, int, int]:
        """File, line and column (in UTF-8 bytes): what identifies the place."""
        return (
            self.module.source.display,
            getattr(self.node, "lineno", 1),
            getattr(self.node, "col_offset", 0),
        )


@dataclass(frozen=True)
class Rank:
    """Mark of a value computed from the rank: of which scopes, and how sure that is.

    ``scopes`` holds ``global``, ``node``, ``group``, ``member`` or ``last``. ``certain`` is false
    when only the name says so; ``exact`` is false when the value is not known on each rank class
    but had to be assumed.
    """

    scopes: frozenset[str]
    certain: bool = True
    exact: bool = True

    def merged(self, other: Rank | None) -> Rank:
        """Combine the marks of two operands."""
        if other is None or other == self:
            return self
        return Rank(
            self.scopes | other.scopes,
            self.certain and other.certain,
            self.exact and other.exact,
        )


def merge_ranks(*marks: Rank | None) -> Rank | None:
    """Combine any number of marks."""
    result: Rank | None = None
    for mark in marks:
        if mark is not None:
            result = mark.merged(result)
    return result


@dataclass(frozen=True)
class Value:
    """Base of all abstract values."""

    rank: Rank | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Const(Value):
    """A value known exactly on this rank."""

    value: Any

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value), self.rank))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Const)
            and type(other.value) is type(self.value)
            and other.value == self.value
            and other.rank == self.rank
        )


@dataclass(frozen=True)
class Symbol(Value):
    """An unknown, numbered by how it was computed.

    ``each`` marks the variable of a loop; ``origin`` says where it came from (``call``,
    ``name``, ``attribute`` or nothing), which decides whether a naming convention applies.
    """

    key: int
    each: bool = False
    origin: str = ""


@dataclass(frozen=True)
class Choice(Value):
    """``yes`` where the unknown ``key`` is true, else ``no``; the same on every rank."""

    key: int
    yes: Value
    no: Value

    @property
    def leaves(self) -> tuple[Value, ...]:
        """The alternatives, from left to right."""
        return tuple(
            leaf
            for arm in (self.yes, self.no)
            for leaf in (arm.leaves if isinstance(arm, Choice) else (arm,))
        )


@dataclass(frozen=True)
class Object(Value):
    """An instance of a class that the facts know. ``settings`` are constant arguments given to
    its constructor."""

    name: str
    certain: bool = True
    settings: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Instance(Value):
    """An instance of a class of the project; ``attributes`` were set by this very call of its
    constructor."""

    definition: ClassDefinition
    attributes: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True)
class External(Value):
    """A name outside the project by its dotted path; for a method ``owner`` is the object."""

    name: str
    owner: Value | None = None


@dataclass(frozen=True)
class ModuleValue(Value):
    """A module of the project."""

    module: Module


@dataclass(frozen=True)
class ClassValue(Value):
    """A class of the project."""

    definition: ClassDefinition


@dataclass(frozen=True, eq=False)
class Closure:
    """Variables that a nested function sees."""

    variables: Mapping[str, Value]
    outer: Closure | None = None

    def get(self, name: str) -> Value | None:
        """Look a name up here and further out."""
        scope: Closure | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.outer
        return None


@dataclass(frozen=True)
class FunctionValue(Value):
    """A function of the project, with its closure and, for a bound method, ``self``."""

    function: Function
    closure: Closure | None = None
    bound: Value | None = None


@dataclass(frozen=True)
class Guarded(Value):
    """A function that runs on some ranks only: ``guard`` was applied at ``site``."""

    inner: Value
    guard: Guard
    site: Site


@dataclass(frozen=True)
class GuardMaker(Value):
    """A guard that waits for its function (``@on_process(index)``, a decorator not yet applied)."""

    guard: Guard
    site: Site


@dataclass(frozen=True)
class Partial(Value):
    """``functools.partial`` of a value."""

    inner: Value
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True)
class Items(Value):
    """A tuple or list of known length."""

    items: tuple[Value, ...]


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


_MAX_LEAVES = 6


def blank(value: Value) -> bool:
    """Say whether nothing is known of a value, or only that it is not there yet."""
    return value.rank is None and (
        isinstance(value, Symbol) or (isinstance(value, Const) and not value.value)
    )


class Keys:
    """Numbers unknowns by what they were computed from."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self.meanings: dict[int, Choice] = {}

    def number(self, *parts: object) -> int:
        """Return the number for these parts; equal parts give the equal number."""
        return self._numbers.setdefault(parts, len(self._numbers))

    def choose(self, key: int, yes: Value, no: Value) -> Value:
        """Build a choice, or something simpler when that loses nothing that matters.

        Choices between unknowns become an unknown; a choice of too many alternatives keeps the
        only one that is known, or becomes an unknown too: the analysis must not grow with them.
        """
        if isinstance(yes, Choice) and yes.key == key:
            yes = yes.yes
        if isinstance(no, Choice) and no.key == key:
            no = no.no
        if yes == no:
            return yes
        choice = Choice(key, yes, no)
        leaves = choice.leaves
        if all(isinstance(leaf, Symbol) and leaf.rank is None for leaf in leaves):
            return Symbol(self.of(choice))
        if len(leaves) <= _MAX_LEAVES:
            return choice
        known = {leaf for leaf in leaves if not blank(leaf)}
        if len(known) == 1:
            return known.pop()
        mark = merge_ranks(*(leaf.rank for leaf in leaves))
        return Symbol(self.of(choice), rank=mark and Rank(mark.scopes, mark.certain, False))

    def spread(self, value: Value, apply: Callable[[Value], Value]) -> Value:
        """Apply a function to every alternative of a value."""
        if isinstance(value, Choice):
            return self.choose(
                value.key, self.spread(value.yes, apply), self.spread(value.no, apply)
            )
        return apply(value)

    def condition(self, test: Choice) -> Choice:
        """Turn a test whose alternatives depend on no rank into a single condition.

        What it was made of stays known in ``meanings``, for the comparison of paths.
        """
        if (test.yes, test.no) == (TRUE, FALSE) or (test.yes, test.no) == (FALSE, TRUE):
            return test
        if any(leaf.rank is not None for leaf in test.leaves):
            return test
        key = self.of(test)
        self.meanings[key] = test
        return Choice(key, TRUE, FALSE)

    def known(self, key: int, facts: Mapping[int, bool]) -> bool | None:
        """Return the truth of a condition where ``facts`` decide it, else None."""
        if key in facts:
            return facts[key]
        value: Value | None = self.meanings.get(key)
        while isinstance(value, Choice):
            truth = self.known(value.key, facts)
            if truth is None:
                return None
            value = value.yes if truth else value.no
        return bool(value.value) if isinstance(value, Const) else None

    def implied(self, key: int, truth: bool) -> dict[int, bool]:
        """Return the conditions that must hold for ``key`` to be ``truth``, itself included."""
        meaning = self.meanings.get(key)
        found = {key: truth}
        if meaning is not None:
            paths = list(_paths(meaning, truth))
            if len(paths) == 1:
                for part, value in paths[0].items():
                    found |= self.implied(part, value)
        return found

    def of(self, value: Value) -> int:
        """Return a number for any value that is the same on every rank class.

        A value that was computed from the rank gives one number whatever it is on this rank, so
        what an unknown function makes of it counts as equal everywhere: a missed alarm at worst.
        """
        if isinstance(value, Symbol):
            return value.key
        if value.rank is not None:
            return self.number("ranked", *sorted(value.rank.scopes))
        match value:
            case Const():
                return self.number("const", type(value.value).__name__, repr(value.value))
            case Choice():
                return self.number("choice", value.key, self.of(value.yes), self.of(value.no))
            case Object() | External():
                return self.number("named", value.name)
            case Instance() | ClassValue():
                return self.number(type(value).__name__, value.definition.qualname)
            case FunctionValue():
                return self.number("function", value.function.node)
            case Guarded() | Partial():
                return self.of(value.inner)
            case Items():
                return self.number("items", *map(self.of, value.items))
            case ModuleValue():
                return self.number("module", value.module.source.display)
        return self.number(type(value).__name__)


def marked(value: Value, mark: Rank | None) -> Value:
    """Return ``value`` with a rank mark added."""
    if mark is None:
        return value
    if isinstance(value, Choice):
        return replace(value, yes=marked(value.yes, mark), no=marked(value.no, mark), rank=None)
    merged = mark.merged(value.rank)
    return value if merged == value.rank else replace(value, rank=merged)


def _paths(value: Value, truth: bool) -> Iterator[dict[int, bool]]:
    """Yield the conditions under which a test comes out as ``truth``."""
    if isinstance(value, Choice):
        for arm, taken in ((value.yes, True), (value.no, False)):
            for path in _paths(arm, truth):
                yield {value.key: taken, **path}
    elif isinstance(value, Const) and bool(value.value) is truth:
        yield {}
