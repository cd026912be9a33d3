"""Abstract values: what an expression may be on one rank.

A value is known (:class:`Const`), typed (:class:`Object`, :class:`Instance`), something callable,
or only a name for "the same unknown on every rank" (:class:`Symbol`). A :class:`Choice` is one
value or another, depending on an unknown that is the same on every rank. ``rank`` marks what was
computed from the rank, and where; ``divergent`` marks what may differ between ranks although no
rank is in its text, and why.

Unknowns are numbered by what they were computed from (``keys.py``), so two tests of one unchanged
condition have one number, in every function and for every rank.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from ckptlint.facts import Guard, Part
from ckptlint.project import ClassDefinition, Function, Module


@dataclass(frozen=True)
class Site:
    """A node of a module: a place in the source."""

    module: Module
    node: ast.AST

    @cached_property
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
class Divergent:
    """Mark of a value that may differ between ranks: because of what, as a noun phrase.

    ``likely`` is false when it differs under circumstances that the source does not show. ``part``
    says that this rank has only a part of what all have: the ``root`` everything and the others
    nothing, its own ``state``, or its ``shard``. ``counts`` is
    false when the values differ, but not how many there are; ``uneven`` is true where their number
    differs by the rank. With ``backends`` they differ where one of them is in use.
    """

    reason: str
    likely: bool = True
    part: Part = ""
    counts: bool = True
    uneven: bool = False
    backends: tuple[str, ...] = ()


def merge_divergent(*marks: Divergent | None) -> Divergent | None:
    """Return the first of some marks that is likely, else the first."""
    found = [mark for mark in marks if mark is not None]
    return next((mark for mark in found if mark.likely), found[0] if found else None)


@dataclass(frozen=True)
class Value:
    """Base of all abstract values."""

    rank: Rank | None = field(default=None, kw_only=True)
    divergent: Divergent | None = field(default=None, kw_only=True)


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
            and other.divergent == self.divergent
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
    constructor. One that is not ``exact`` may be of a class that inherits from this one."""

    definition: ClassDefinition
    attributes: tuple[tuple[str, Value], ...] = ()
    exact: bool = False


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


@dataclass(frozen=True)
class Many(Value):
    """A container of unknown length whose elements are alike; ``mapped`` when it is a mapping, of
    which they are the values."""

    element: Value
    mapped: bool = False


@dataclass(frozen=True)
class Table(Value):
    """A dictionary with constant keys."""

    entries: tuple[tuple[Any, Value], ...]


# Values of module variables while a block is executed, by module and name; and the calls that do
# nothing there, by their names. ``LAZILY`` stands for all set-up, where something is made once, and
# ``APART`` for what ranks do to files one after the other.
Setting: TypeAlias = tuple[Module, str] | str
Settings: TypeAlias = Mapping[Setting, Value]

LAZILY = "lazily"
APART = "apart"

NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


def blank(value: Value) -> bool:
    """Say whether nothing is known of a value, or only that it is not there yet."""
    return (
        value.rank is None
        and value.divergent is None
        and (isinstance(value, Symbol) or (isinstance(value, Const) and not value.value))
    )


def marked(value: Value, mark: Rank | None) -> Value:
    """Return ``value`` with a rank mark added."""
    if mark is None:
        return value
    if isinstance(value, Choice):
        return replace(value, yes=marked(value.yes, mark), no=marked(value.no, mark), rank=None)
    merged = mark.merged(value.rank)
    return value if merged == value.rank else replace(value, rank=merged)
