"""What too few write or load: a part that stands for the whole, a load nobody hears of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ckptlint.analysis.containers import parts_of
from ckptlint.analysis.contention import Contention, changes
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.origins import HELD, NAMED, RANKS, Origins
from ckptlint.analysis.ranks import FIRST, OTHER
from ckptlint.analysis.sequences import Access, Operation
from ckptlint.analysis.values import Value
from ckptlint.analysis.visits import Visit


def partial(
    first: Sequence[Visit], rest: Sequence[Visit], keys: Keys, origins: Origins
) -> Iterator[Contention]:
    """Find what rank 0 writes or loads of its own though all ranks have some or need it, and what
    the others use though only the root has it."""
    shared = {visit.key for visit in rest}
    last = max((v.order for v in first if _sends(v)), default=-1)
    own = [visit for visit in rest if _keeps_own_state(visit, origins)]
    for visit in first:
        item = visit.item
        if not isinstance(item, Access):
            continue
        alone = bool(visit.levels) and visit.key not in shared
        if changes(visit) or item.call.effect == "write":
            for mark in parts_of(item.content):
                if mark.part == "shard" and not (
                    _of_a_rank(origins, item.path) or _gathered(first, visit, mark.backends)
                ):
                    who = (FIRST,) if alone else (FIRST, OTHER)
                    yield Contention(
                        "shard", visit, who, True, reason=mark.reason, backends=mark.backends
                    )
                elif mark.part == "state" and alone and changes(visit):
                    if any(not visit.contradicts(each) for each in own):
                        continue
                    yield Contention("state", visit, (FIRST,), True, reason=mark.reason)
        elif item.call.effect == "load" and alone and visit.order > last and _global(visit):
            yield Contention("load", visit, (FIRST,), True)
    for visit in rest:
        if any(key in keys.divergent and keys.divergent[key].part for key, _ in visit.conditions):
            continue  # it is looked at first
        for mark in parts_of(visit.item.content) if isinstance(visit.item, Access) else ():
            if mark.part == "root":
                yield Contention("root", visit, (OTHER,), True, reason=mark.reason)


def _gathered(first: Sequence[Visit], write: Visit, backends: Collection[str]) -> bool:
    """Say whether what one of some backends keeps in shards is gathered before it is written."""
    return any(
        visit.order < write.order
        and visit.item.call.effect == "gather"
        and bool({*visit.item.call.backends} & {*backends})
        for visit in first
        if isinstance(visit.item, Operation)
    )


def _keeps_own_state(visit: Visit, origins: Origins) -> bool:
    """Say whether a rank writes a state of its own to a file of its own."""
    item = visit.item
    return (
        isinstance(item, Access)
        and changes(visit)
        and any(mark.part == "state" for mark in parts_of(item.content))
        and _of_a_rank(origins, item.path)
    )


def _of_a_rank(origins: Origins, path: Value) -> bool:
    return bool(origins.of(path) & {*RANKS, NAMED, HELD})


def _global(visit: Visit) -> bool:
    """Say whether only tests of the rank in the whole job lead here."""
    return all(level.test.rank.scopes == {"global"} for level in visit.levels)


def _sends(visit: Visit) -> bool:
    """Say whether a collective may bring what rank 0 has to the others.

    Set-up that a rank does not wait in brings nothing: FSDP without ``sync_module_states``.
    """
    if not isinstance(visit.item, Operation):
        return False
    call = visit.item.call
    return call.effect != "barrier" and (call.effect, call.alone) != ("setup", "late")
