"""What keeps the accesses of ranks apart in time: the collectives in which they meet."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence

from ckptlint.analysis.origins import words_of
from ckptlint.analysis.sequences import Access, Operation
from ckptlint.analysis.visits import Conditions, Visit

_WAITS = re.compile(
    "backward|barrier|broadcast|evaluate|fit|gather|join|reduce|rendezvous|step|sync|synchronize"
    "|train|wait|zero"
)


def shapes(found: Sequence[Visit]) -> Mapping[object, Sequence[object]]:
    """Return the collectives that each function on the way makes itself, in order: once what is
    reached in several ways."""
    made: dict[object, dict[object, object]] = defaultdict(dict)
    for visit in found:
        if isinstance(visit.item, Operation):
            made[visit.where].setdefault(visit.key, visit.item.shape)
    return {chain: list(shapes.values()) for chain, shapes in made.items()}


def counts(found: Sequence[Visit], meets: Callable[[Visit], bool]) -> Mapping[int, int]:
    """Return for each access, by its order, how many collectives in which ranks meet come before.

    One that is reached in several ways is met in one of them, and not where no run reaches both.
    """
    before: dict[int, int] = {}
    met: list[Visit] = []
    # Under the same conditions the same are met: what was met so far, and how many were asked.
    known: dict[Conditions, tuple[set[object], int]] = {}
    for visit in found:
        if isinstance(visit.item, Access):
            keys, asked = known.get(visit.conditions, (set(), 0))
            keys.update(each.key for each in met[asked:] if not each.contradicts(visit))
            known[visit.conditions] = keys, len(met)
            before[visit.order] = len(keys)
        elif meets(visit):
            met.append(visit)
    return before


def may_wait(one: Visit, two: Visit, known: Container[ast.AST]) -> bool:
    """Say whether a call between two accesses has a name that speaks of waiting for each other.

    What the ``known`` calls do is told by the traces.
    """
    depth = 0
    for mine, theirs in zip(one.chain, two.chain, strict=False):
        if mine.site.key != theirs.site.key:
            break
        depth += 1
    a, b = (v.chain[depth].site if len(v.chain) > depth else v.item.site for v in (one, two))
    if a.module is not b.module:
        return True
    body = one.chain[depth - 1].function.node if depth else a.module.tree
    start, end = sorted((a.key[1], b.key[1]))
    return any(
        isinstance(node, ast.Call)
        and start <= node.lineno <= end
        and node not in known
        and node not in (a.node, b.node)
        and _speaks_of_waiting(node)
        for node in ast.walk(body)
    )


def _speaks_of_waiting(node: ast.Call) -> bool:
    """Say whether a call has such a name; what is given something to join puts together strings."""
    func = node.func
    called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return any(map(_WAITS.fullmatch, words_of(called))) and not (called == "join" and node.args)
