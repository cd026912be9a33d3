"""What a trace reaches, in order: each access and each collective with all that leads to it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from ckptlint.analysis.sequences import Access, Branch, Exit, Item, Loop, Operation, Scope, Trace
from ckptlint.analysis.steps import Level, levels_of

Conditions: TypeAlias = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Visit:
    """One access or collective, the calls and rank tests that lead to it, the places ``where`` the
    calls stand, and the conditions of all ranks under which it is reached. ``polled`` when it is
    repeated until something happens; ``left`` when under some condition this rank has left before,
    by a test of its rank."""

    item: Access | Operation
    chain: tuple[Scope, ...]
    where: tuple[object, ...]
    levels: tuple[Level, ...]
    conditions: Conditions
    order: int
    polled: bool = False
    left: bool = False

    @cached_property
    def key(self) -> tuple[object, ...]:
        """The place, and the places of the calls that lead there."""
        return (*self.where, self.item.site.key)

    @property
    def around(self) -> ast.AST:
        """The syntax of the function, or else of the file, in which it stands."""
        return self.chain[-1].function.node if self.chain else self.item.site.module.tree

    def contradicts(self, other: Visit) -> bool:
        """Say whether no run reaches both."""
        return not self._ruled_out.isdisjoint(other.conditions)

    @cached_property
    def _ruled_out(self) -> frozenset[tuple[int, bool]]:
        known = dict(self.conditions)
        return frozenset((key, not truth) for key, truth in known.items())


def visits(trace: Trace) -> list[Visit]:
    """List everything that is reached, whatever the conditions turn out to be."""
    found: list[Visit] = []
    _walk(trace.items, _Way(), found)
    return found


@dataclass(frozen=True)
class _Way:
    """What leads to a place: see :class:`Visit`."""

    chain: tuple[Scope, ...] = ()
    where: tuple[object, ...] = ()
    levels: tuple[Level, ...] = ()
    conditions: Conditions = ()
    polled: bool = False
    left: bool = False

    def into(self, scope: Scope) -> _Way:
        levels = self.levels + levels_of(scope.guards, self.chain)
        where = (*self.where, scope.site.key)
        return replace(self, chain=(*self.chain, scope), where=where, levels=levels)

    def under(self, key: int, truth: bool) -> _Way:
        return replace(self, conditions=(*self.conditions, (key, truth)))


def _walk(items: Sequence[Item], way: _Way, into: list[Visit]) -> None:
    for item in items:
        if isinstance(item, Access | Operation):
            levels = way.levels + levels_of(item.guards, way.chain)
            into.append(
                Visit(
                    item,
                    way.chain,
                    way.where,
                    levels,
                    way.conditions,
                    len(into),
                    way.polled,
                    way.left,
                )
            )
        elif isinstance(item, Branch):
            for arm, truth in ((item.yes, True), (item.no, False)):
                _walk(arm.items, way.under(item.key, truth), into)
            leaves = _leaves(item.yes), _leaves(item.no)
            if leaves[0] is not leaves[1]:
                way = way.under(item.key, leaves[1])
            way = replace(way, left=way.left or _parts(item))
        elif isinstance(item, Loop):
            _walk(item.body.items, replace(way, polled=way.polled or item.endless), into)
        elif isinstance(item, Scope):
            _walk(item.body.items, way.into(item), into)


def _parts(branch: Branch) -> bool:
    """Say whether a rank test in one of the arms takes the rank out of the function."""
    return any(
        _parts(item) if isinstance(item, Branch) else isinstance(item, Exit) and bool(item.guards)
        for item in (*branch.yes, *branch.no)
    )


def _leaves(trace: Trace) -> bool:
    """Say whether a block always ends in an exit."""
    if not trace:
        return False
    last = trace.items[-1]
    if isinstance(last, Branch):
        return _leaves(last.yes) and _leaves(last.no)
    return isinstance(last, Exit)
