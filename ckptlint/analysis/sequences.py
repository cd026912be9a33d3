"""What a function does, as seen from one rank: a tree of collectives and of file accesses.

The items of a sequence happen in order. A :class:`Branch` is a choice on a condition that is the
same on every rank; a rank predicate never makes one, since it was folded. An :class:`Exit` ends
the loop turn, the loop or the function that it is in. Ranks do not wait for each other in an
:class:`Access` to a file: ``Trace.collective`` is the sequence without these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

from ckptlint.analysis.values import Rank, Setting, Site, Value
from ckptlint.facts import Call, Hook
from ckptlint.project import Function


@dataclass(frozen=True)
class Test:
    """A rank-dependent decision that let a rank in (or kept it out).

    ``kind``: ``test`` (if, while, ternary, short circuit), ``decorator``, ``context``,
    ``wrapper`` or ``hook``; ``divergent`` for one on which ranks may disagree, because of
    ``reason``. ``taken`` is the truth of the test on this rank; ``compound`` says that the rank is
    asked for under another condition of the same test.
    """

    site: Site
    kind: str
    taken: bool
    rank: Rank
    hook: Hook | None = None
    reason: str = ""
    compound: bool = False


Guards: TypeAlias = tuple[Test, ...]


@dataclass(frozen=True)
class Operation:
    """One call of a collective; ``handed`` when the caller was given it as a value.

    ``given`` is the constant that ranks must give alike. ``single`` when what the call is given
    says that there is one process.
    """

    site: Site
    call: Call
    group: Literal["world", "sub"]
    certain: bool
    guards: Guards = ()
    handed: bool = False
    path: Value | None = field(default=None, compare=False)
    given: object = None
    single: bool = False

    @property
    def shape(self) -> object:
        """What must be equal for two ranks to meet in this call."""
        name = "barrier" if self.call.effect == "barrier" else self.call.name
        return (name, self.group, self.given)


@dataclass(frozen=True)
class Access:
    """One call that writes, creates, renames, deletes or reads a file.

    ``path`` is what the call was given as the name of the file, ``content`` what it was given
    besides. ``certain`` is false when the call is known by its name alone. ``forgiven`` when it
    does not matter that another rank has deleted or created the file before.
    """

    site: Site
    call: Call
    path: Value
    content: tuple[Value, ...] = ()
    certain: bool = True
    guards: Guards = ()
    forgiven: bool = False

    @cached_property
    def shape(self) -> object:
        """Every place is one of its own."""
        return ("access", self.site.key)


@dataclass(frozen=True)
class Exit:
    """``return``, ``break``, ``continue``, or an exception where those are looked at."""

    kind: Literal["return", "break", "continue", "raise"]
    site: Site
    guards: Guards = ()

    @property
    def shape(self) -> object:
        """Exits are equal when they leave the same thing."""
        return self.kind


@dataclass(frozen=True)
class Branch:
    """One sequence or another, by the unknown ``key``; ``site`` is the condition as written."""

    key: int
    yes: Trace
    no: Trace
    site: Site

    @cached_property
    def shape(self) -> object:
        """Equal conditions with equal arms."""
        return ("branch", self.key, self.yes.shape, self.no.shape)


@dataclass(frozen=True)
class Loop:
    """A body that is repeated the same number of times on every rank.

    ``endless`` marks ``while`` loops: a turn without a collective may be repeated by one rank
    alone.
    """

    site: Site
    body: Trace
    endless: bool
    guards: Guards = ()

    @property
    def forever(self) -> bool:
        """Whether it says of itself that it does not end."""
        return forever(self.site.node)

    @cached_property
    def shape(self) -> object:
        """Loops are equal when their bodies are."""
        return ("loop", self.body.shape)


@dataclass(frozen=True)
class Scope:
    """The body of a called function: a ``return`` inside ends here.

    ``handed`` when the caller was given the function as a value, as a decorator is.
    """

    site: Site
    function: Function
    body: Trace
    guards: Guards = ()
    handed: bool = False

    @cached_property
    def shape(self) -> object:
        """The body's, when nothing in it returns early: a helper is as good as its body."""
        return self.body.shape if not self.body.returns else ("scope", self.body.shape)


@dataclass(frozen=True)
class Yield:
    """Where a generator hands over: the body of the ``with`` goes here.

    ``settings`` are the module variables that the generator has set for it.
    """

    settings: tuple[tuple[Setting, Value], ...] = ()

    @property
    def shape(self) -> object:
        """One is as good as another."""
        return "yield"


Item: TypeAlias = Operation | Access | Exit | Branch | Loop | Scope | Yield


class Trace:
    """An immutable sequence of items with its comparable shape computed once."""

    __slots__ = ("__dict__", "items")

    def __init__(self, items: Sequence[Item] = ()) -> None:
        self.items = tuple(items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.items == other.items

    def __hash__(self) -> int:
        return hash(self.shape)

    @cached_property
    def shape(self) -> object:
        """A hashable that is equal for two sequences in which ranks meet everywhere."""
        parts: list[object] = []
        for item in self.items:
            shape = item.shape
            if isinstance(item, Scope) and not item.body.returns:
                assert isinstance(shape, _Shape)
                parts.extend(shape.parts)
            else:
                parts.append(shape)
        return _Shape(tuple(parts))

    @cached_property
    def returns(self) -> bool:
        """Whether what leaves the function (not one that it calls) is anywhere inside."""
        return any(
            (isinstance(item, Exit) and item.kind in ("return", "raise"))
            or (isinstance(item, Branch) and (item.yes.returns or item.no.returns))
            or (isinstance(item, Loop) and item.body.returns)
            for item in self.items
        )

    @cached_property
    def exits(self) -> bool:
        """Whether any exit is inside that matters to what follows."""
        return any(
            isinstance(item, Exit)
            or (isinstance(item, Branch) and (item.yes.exits or item.no.exits))
            or (isinstance(item, Loop) and item.body.returns)
            or (isinstance(item, Scope) and item.body.fails)
            for item in self.items
        )

    @cached_property
    def fails(self) -> bool:
        """Whether an exception that leaves the function is anywhere inside."""
        return any(
            (isinstance(item, Exit) and item.kind == "raise")
            or (isinstance(item, Branch) and (item.yes.fails or item.no.fails))
            or (isinstance(item, Loop | Scope) and item.body.fails)
            for item in self.items
        )

    @cached_property
    def yields(self) -> bool:
        """Whether a ``yield`` is anywhere inside."""
        return any(
            isinstance(item, Yield)
            or (isinstance(item, Branch) and (item.yes.yields or item.no.yields))
            or (isinstance(item, Loop | Scope) and item.body.yields)
            for item in self.items
        )

    @cached_property
    def acts(self) -> bool:
        """Whether a collective is anywhere inside."""
        return any(
            isinstance(item, Operation)
            or (isinstance(item, Branch) and (item.yes.acts or item.no.acts))
            or (isinstance(item, Loop | Scope) and item.body.acts)
            for item in self.items
        )

    @cached_property
    def matters(self) -> bool:
        """Whether a caller has to know of this: a collective, an access to a file, a ``yield``, or
        a rank that leaves early is inside."""
        return self.acts or any(
            isinstance(item, Yield | Access)
            or (isinstance(item, Exit) and bool(item.guards))
            or (isinstance(item, Branch) and (item.yes.matters or item.no.matters))
            or (isinstance(item, Loop | Scope) and item.body.matters)
            for item in self.items
        )

    @cached_property
    def accesses(self) -> bool:
        """Whether an access to a file is anywhere inside."""
        return any(
            isinstance(item, Access)
            or (isinstance(item, Branch) and (item.yes.accesses or item.no.accesses))
            or (isinstance(item, Loop | Scope) and item.body.accesses)
            for item in self.items
        )

    @cached_property
    def collective(self) -> Trace:
        """The sequence without accesses to files, and without what held nothing else."""
        if not self.accesses:
            return self
        kept: list[Item] = []
        for item in self.items:
            if isinstance(item, Branch):
                yes, no = item.yes.collective, item.no.collective
                if yes.shape == no.shape and not yes.acts:
                    kept.extend(yes)
                elif yes or no:
                    kept.append(replace(item, yes=yes, no=no))
            elif isinstance(item, Loop):
                body = item.body.collective
                if body.matters or body.returns:
                    kept.append(replace(item, body=body))
            elif isinstance(item, Scope):
                body = item.body.collective
                if body.matters:
                    kept.append(replace(item, body=body))
            elif not isinstance(item, Access):
                kept.append(item)
        return Trace(kept)

    @cached_property
    def unguarded(self) -> Trace:
        """The sequence without the rank tests that its items stand under."""
        items = [_unguarded(item) for item in self.items]
        same = all(new is old for new, old in zip(items, self.items, strict=True))
        return self if same else Trace(items)

    @cached_property
    def conditions(self) -> frozenset[int]:
        """The conditions of all branches inside, at any depth."""
        found: set[int] = set()
        for item in self.items:
            if isinstance(item, Branch):
                found |= {item.key} | item.yes.conditions | item.no.conditions
            elif isinstance(item, Loop | Scope):
                found |= item.body.conditions
        return frozenset(found)

    @cached_property
    def functions(self) -> frozenset[Function]:
        """The functions whose bodies were spliced in, at any depth."""
        found: set[Function] = set()
        for item in self.items:
            if isinstance(item, Scope):
                found.add(item.function)
                found |= item.body.functions
            elif isinstance(item, Loop):
                found |= item.body.functions
            elif isinstance(item, Branch):
                found |= item.yes.functions | item.no.functions
        return frozenset(found)


def forever(node: ast.AST) -> bool:
    """Say whether a loop says of itself that it does not end."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and bool(node.test.value)
    )


def _unguarded(item: Item) -> Item:
    if isinstance(item, Branch):
        yes, no = item.yes.unguarded, item.no.unguarded
        return item if yes is item.yes and no is item.no else replace(item, yes=yes, no=no)
    if isinstance(item, Loop | Scope):
        body = item.body.unguarded
        return (
            item if body is item.body and not item.guards else replace(item, body=body, guards=())
        )
    if isinstance(item, Operation | Exit) and item.guards:
        return replace(item, guards=())
    return item


class _Shape:
    """A tuple that knows its hash: shapes nest deeply and are compared often."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[object, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shape) and self._hash == other._hash and self.parts == other.parts


EMPTY = Trace()


def before_exits(items: Trace, extra: Trace) -> Trace:
    """Insert ``extra`` before every exit and at the end: what a ``finally`` does."""
    if not extra:
        return items
    result: list[Item] = []
    for item in items:
        if isinstance(item, Exit):
            result.extend(extra)
        elif isinstance(item, Branch) and (item.yes.exits or item.no.exits):
            yes = _insert(item.yes, extra)
            item = replace(item, yes=yes, no=_insert(item.no, extra))
        result.append(item)
    if not (result and isinstance(result[-1], Exit)):
        result.extend(extra)
    return Trace(result)


def _insert(items: Trace, extra: Trace) -> Trace:
    result: list[Item] = []
    for item in items:
        if isinstance(item, Exit):
            result.extend(extra)
        elif isinstance(item, Branch) and (item.yes.exits or item.no.exits):
            item = replace(item, yes=_insert(item.yes, extra), no=_insert(item.no, extra))
        result.append(item)
    return Trace(result)


def without_failures(items: Trace) -> Trace:
    """Take the exceptions of called functions out: what ``except`` does."""
    if not items.fails:
        return items
    result: list[Item] = []
    for item in items:
        if isinstance(item, Branch):
            yes, no = without_failures(item.yes), without_failures(item.no)
            result.append(replace(item, yes=yes, no=no))
        elif isinstance(item, Loop | Scope):
            result.append(replace(item, body=without_failures(item.body)))
        elif not (isinstance(item, Exit) and item.kind == "raise"):
            result.append(item)
    return Trace(result)


def settings_of(items: Trace) -> dict[Setting, Value]:
    """Return the module variables that a context manager sets for the body of a ``with``."""
    found: dict[Setting, Value] = {}
    for item in items:
        match item:
            case Yield():
                found |= dict(item.settings)
            case Branch():
                found |= settings_of(item.yes) | settings_of(item.no)
            case Loop() | Scope() if item.body.yields:
                found |= settings_of(item.body)
    return found


def split_yield(items: Trace) -> tuple[Trace, Trace] | None:
    """Return what a context manager does before its ``yield`` and after it.

    None when that depends on something: the ``yield`` stands in a branch or a loop.
    """
    for index, item in enumerate(items):
        before, after = items.items[:index], items.items[index + 1 :]
        if isinstance(item, Yield):
            return Trace(before), Trace(after)
        if isinstance(item, Scope) and item.body.yields:
            parts = split_yield(item.body)
            if parts is None:
                return None
            enter, leave = (replace(item, body=part) for part in parts)
            return Trace((*before, enter)), Trace((leave, *after))
        if isinstance(item, Branch | Loop) and Trace([item]).yields:
            return None
    return None


def replace_yield(items: Trace, body: Trace) -> Trace:
    """Put the body of a ``with`` where its context manager yields."""
    result: list[Item] = []
    for item in items:
        if isinstance(item, Yield):
            result.extend(body)
        elif isinstance(item, Branch):
            yes, no = replace_yield(item.yes, body), replace_yield(item.no, body)
            result.append(replace(item, yes=yes, no=no))
        elif isinstance(item, Loop):
            result.append(
                Loop(item.site, replace_yield(item.body, body), item.endless, item.guards)
            )
        elif isinstance(item, Scope):
            result.append(replace(item, body=replace_yield(item.body, body)))
        else:
            result.append(item)
    return Trace(result)
