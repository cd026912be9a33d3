"""Moving a barrier out of a rank test, where it stands at the edge of the guarded block."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ckptlint.analysis.ranks import FIRST, LAST
from ckptlint.fault import Fault
from ckptlint.fixing.guards import guarded_if, split_guard
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.knowledge import Knowledge


def move_barrier(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite that puts a guarded barrier in front of the test or behind it.

    Elsewhere in the block, where there is another arm, or where the other ranks wait alone, it is
    for the author to say which ranks were to wait for what. A block that holds nothing else may
    have been meant to meet a barrier of the others, so that its rewrite has to be read.
    """
    if fault.call.effect != "barrier" or fault.indirect:
        return
    try:
        statement = guarded_if(fault.divergence.test.site)
    except RefusedError:
        return
    present = fault.divergence.present
    if FIRST not in present and present != (LAST,):
        return  # they were to wait for rank 0, which has its barrier in the wrong place or none
    edges = [statement.body[0], statement.body[-1]]
    places = [fault.divergence.place(reached).node for reached in fault.divergence.operations]
    if not statement.orelse and all(
        any(isinstance(edge, ast.Expr) and edge.value is place for edge in edges)
        for place in places
    ):
        for proposal in split_guard(fault, knowledge):
            if len(statement.body) == len(places):
                doubt = "whether the other ranks were to wait here"
                yield told(proposal.message, [doubt], proposal.edits)
            else:
                yield proposal
