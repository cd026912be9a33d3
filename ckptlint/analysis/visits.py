"""What a trace reaches, in order: each access and each collective with all that leads to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ckptlint.analysis.sequences import Access, Branch, Exit, Item, Loop, Operation, Scope, Trace
from ckptlint.analysis.steps import Level, levels_of, places

Conditions: TypeAlias = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Visit:
    """One access or collective, the calls and rank tests that lead to it, and the conditions of
    all ranks under which it is reached. ``polled`` when it is repeated until something happens."""

    item: Access | Operation
    chain: tuple[Scope, ...]
    levels: tuple[Level, ...]
    conditions: Conditions
    order: int
    polled: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """The place, and the places of the calls that lead there."""
        return (*places(self.chain), self.item.site.key)

    def contradicts(self, other: Visit) -> bool:
        """Say whether no run reaches both."""
        known = dict(self.conditions)
        return any(known.get(key, truth) is not truth for key, truth in other.conditions)


def visits(trace: Trace) -> list[Visit]:
    """List everything that is reached, whatever the conditions turn out to be."""
    found: list[Visit] = []
    _walk(trace.items, (), (), (), False, found)
    return found


def _walk(
    items: Sequence[Item],
    chain: tuple[Scope, ...],
    levels: tuple[Level, ...],
    conditions: Conditions,
    polled: bool,
    into: list[Visit],
) -> None:
    for item in items:
        if isinstance(item, Access | Operation):
            inner = levels + levels_of(item.guards, chain)
            into.append(Visit(item, chain, inner, conditions, len(into), polled))
        elif isinstance(item, Branch):
            for arm, truth in ((item.yes, True), (item.no, False)):
                _walk(arm.items, chain, levels, (*conditions, (item.key, truth)), polled, into)
            leaves = _leaves(item.yes), _leaves(item.no)
            if leaves[0] is not leaves[1]:
                conditions = (*conditions, (item.key, leaves[1]))
        elif isinstance(item, Loop):
            _walk(item.body.items, chain, levels, conditions, polled or item.endless, into)
        elif isinstance(item, Scope):
            inner = levels + levels_of(item.guards, chain)
            _walk(item.body.items, (*chain, item), inner, conditions, polled, into)


def _leaves(trace: Trace) -> bool:
    """Say whether a block always ends in an exit."""
    if not trace:
        return False
    last = trace.items[-1]
    if isinstance(last, Branch):
        return _leaves(last.yes) and _leaves(last.no)
    return isinstance(last, Exit)
