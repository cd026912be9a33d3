"""Names that every rank finds free by itself: the second finds taken what the first has made."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from ckptlint.analysis.contention import Contention
from ckptlint.analysis.naming import Repeated, looks_for_a_name, made_in, names_in
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import Access, Operation
from ckptlint.analysis.visits import Visit


def chosen(
    first: Sequence[Visit],
    rest: Sequence[Visit],
    present: tuple[RankClass, ...],
    shared: Callable[[Visit], bool],
) -> Iterator[Contention]:
    """Find names that every rank looks for by itself: the second finds taken what the first made.

    ``shared`` says of an access whether every rank that gets there may mean the same file. A name
    that only some ranks use afterwards, as far as that is seen, may differ; one that a collective
    is given is told there.
    """
    theirs = {visit.key for visit in rest}
    for visit in first:
        item = visit.item
        if not isinstance(item, Access) or item.call.effect != "read" or visit.levels:
            continue
        loop = _loop_around(visit)
        if loop is None or visit.key not in theirs or not shared(visit):
            continue
        uses = [each for each in first if _uses(each, visit, loop)]
        told = any(isinstance(each.item, Operation) for each in uses)
        if not uses or (not told and any(each.key in theirs for each in uses)):
            yield Contention("name", visit, present, False)


def _loop_around(visit: Visit) -> Repeated | None:
    """Return the loop that looks for a name with an access."""
    for loop in ast.walk(visit.around):
        if isinstance(loop, Repeated) and looks_for_a_name(loop) is visit.item.site.node:
            return loop
    return None


def _uses(visit: Visit, look: Visit, loop: Repeated) -> bool:
    """Say whether something after a loop, in the same function, is given a name made there."""
    depth = len(look.chain)
    if visit.where[:depth] != look.where[:depth]:
        return False
    site = visit.chain[depth].site if len(visit.chain) > depth else visit.item.site
    after = site.key[1] > (loop.end_lineno or loop.lineno)
    return after and not made_in(loop).isdisjoint(names_in(site.node))
