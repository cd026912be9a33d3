"""Moving a barrier out of a rank test, where it stands at the edge of the guarded block."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ckptlint.fault import Fault
from ckptlint.fixing.guards import guarded_if, split_guard
from ckptlint.fixing.proposal import Proposal, RefusedError
from ckptlint.knowledge import Knowledge


def move_barrier(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite that puts a guarded barrier in front of the test or behind it.

    Elsewhere in the block, or where there is another arm, it is for the author to say which ranks
    were to wait for what.
    """
    if fault.call.effect != "barrier" or fault.indirect:
        return
    try:
        statement = guarded_if(fault.divergence.test.site)
    except RefusedError:
        return
    edges = [statement.body[0], statement.body[-1]]
    places = [fault.divergence.place(reached).node for reached in fault.divergence.operations]
    if not statement.orelse and all(
        any(isinstance(edge, ast.Expr) and edge.value is place for edge in edges)
        for place in places
    ):
        yield from split_guard(fault, knowledge)
