"""One rank that puts together what all ranks have written, before it knows that they have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ckptlint.analysis.contention import Contention, changes
from ckptlint.analysis.origins import RANKS, Origins, words_of
from ckptlint.analysis.ranks import FIRST
from ckptlint.analysis.sequences import Access, Operation
from ckptlint.analysis.visits import Visit

_EACH = re.compile("gpus|parts|partitions|processes|procs|ranks|replicas|shards|workers")
_TAKES = ("read", "delete", "rename")


def merged(first: Sequence[Visit], rest: Sequence[Visit], origins: Origins) -> Iterator[Contention]:
    """Find files, one for each rank, that one rank uses in a loop over the ranks, where no rank has
    waited for the others so far, or not since each has opened one of its own. That the ranks write
    them is known by their names."""
    shared = {visit.key for visit in rest}
    told: set[ast.For] = set()
    met = False
    for visit in first:
        item = visit.item
        if isinstance(item, Operation):
            met = met or (item.call.effect != "setup" and visit.key in shared)
        elif visit.key in shared and changes(visit) and origins.of(item.path) & RANKS:
            met = False
        elif not met and visit.levels and item.call.effect in _TAKES:
            loop = _over_ranks(visit)
            if loop is not None and loop not in told:
                told.add(loop)
                yield Contention("parts", visit, (FIRST,), False)


def _over_ranks(visit: Visit) -> ast.For | None:
    """Return the loop over all ranks, whose numbers go into a name, in which an access stands."""
    assert isinstance(visit.item, Access)
    node = visit.item.site.node
    for loop in ast.walk(visit.around):
        if (
            isinstance(loop, ast.For)
            and isinstance(loop.target, ast.Name)
            and _counts_ranks(loop.iter)
            and any(child is node for child in ast.walk(loop))
            and _is_named(loop, loop.target.id)
        ):
            return loop
    return None


def _counts_ranks(iterable: ast.expr) -> bool:
    match iterable:
        case ast.Call(func=ast.Name(id="range"), args=[*_, stop]):
            names = [node.id for node in ast.walk(stop) if isinstance(node, ast.Name)]
            names += [node.attr for node in ast.walk(stop) if isinstance(node, ast.Attribute)]
            words = [words_of(name) for name in names]
            return any({"world", "size"} <= w or any(map(_EACH.fullmatch, w)) for w in words)
    return False


def _is_named(loop: ast.For, number: str) -> bool:
    """Say whether a number is put into a string in a loop."""
    return any(
        any(isinstance(part, ast.Name) and part.id == number for part in ast.walk(node))
        for node in ast.walk(loop)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))
        or (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "format")
    )
