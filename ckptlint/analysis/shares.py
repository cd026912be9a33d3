"""Shares: what is dealt out by the number of the rank, of which some ranks get one more.

``range(rank, count, world_size)`` and ``items[rank::world_size]`` give every rank a part of its
own. The parts are of one length only where the count is a multiple of the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.values import NONE, Choice, Const, Divergent, Value

_SHARE = Divergent("this rank's own share", uneven=True)
TURNS = "how many turns of the loop fall to this rank"


def share_of_range(keys: Keys, arguments: Sequence[Value]) -> Divergent | None:
    """Return the mark of a range that begins, or ends, at the number of the rank.

    Without a step it has to be the rank for certain: what is called ``rank`` may be a matrix's.
    """
    match arguments:
        case [stop]:
            return _SHARE if _is_rank(stop, certain=True) else None
        case [start, stop]:
            return _SHARE if _is_rank(start, True) != _is_rank(stop, True) else None
        case [start, stop, step] if _is_rank(start) and not _is_rank(stop):
            return None if _is_multiple(keys, stop, step) else _SHARE
    return None


def share_of_slice(start: Value, stop: Value, step: Value) -> Divergent | None:
    """Return the mark of every n-th element, counted from the number of the rank."""
    return _SHARE if _is_rank(start) and stop == NONE and step != NONE else None


def _is_rank(value: Value, certain: bool = False) -> bool:
    """Say whether a value is a number that is known to depend on the rank, by more than its name
    where that has to be ``certain``."""
    leaves = value.leaves if isinstance(value, Choice) else (value,)
    return any(
        isinstance(leaf, Const)
        and type(leaf.value) is int
        and leaf.rank is not None
        and leaf.rank.exact
        and (leaf.rank.certain or not certain)
        for leaf in leaves
    )


def _is_multiple(keys: Keys, count: Value, step: Value) -> bool:
    """Say whether a count was made a multiple of the step: ``n * step`` or ``n - n % step``."""
    if isinstance(count, Const) and isinstance(step, Const) and step.value:
        return type(count.value) is type(step.value) is int and count.value % step.value == 0
    by = keys.of(step)
    match keys.made_of(keys.of(count)):
        case ("Mult", *factors):
            return by in factors
        case ("Sub", whole, int(rest)):
            return keys.made_of(rest) == ("Mod", whole, by)
    return False
