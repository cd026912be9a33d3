"""Taking a barrier or another raw collective out of a rank test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ckptlint.analysis.ranks import FIRST, LAST
from ckptlint.fault import Fault
from ckptlint.fixing.guards import split_guard
from ckptlint.fixing.proposal import Proposal, RefusedError, doubted
from ckptlint.fixing.shapes import guard_at, statement_at
from ckptlint.knowledge import Knowledge


def move_barrier(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite that takes guarded collectives out of their test.

    A barrier at the edge of the guarded block goes in front of the test or behind it. Elsewhere it
    parts the block, which a reader has to agree to, as where the block holds nothing else (the
    others may have been meant to meet it elsewhere) or there is another arm. Where the other ranks
    wait alone, it is for the author to say what they were to wait for.
    """
    try:
        site = fault.divergence.test.site
        shape = guard_at(site, statement_at(site))
    except RefusedError:
        return
    present = fault.divergence.present
    if FIRST not in present and present != (LAST,):
        return  # they were to wait for rank 0, which has its barrier in the wrong place or none
    doubt = _doubt(fault, shape.node if shape is not None else None)
    for proposal in split_guard(fault, knowledge):
        yield proposal if doubt is None else doubted(proposal, doubt)


def _doubt(fault: Fault, statement: ast.If | None) -> str | None:
    divergence = fault.divergence
    if any(reached.operation.call.effect != "barrier" for reached in divergence.operations):
        return f"whether every rank has a part for {fault.operation}"
    places = [divergence.place(reached).node for reached in divergence.operations]
    if statement is None:
        return "whether the other ranks were to wait here"
    edges = [statement.body[0], statement.body[-1]]
    at_edge = all(
        any(isinstance(edge, ast.Expr) and edge.value is place for edge in edges)
        for place in places
    )
    if fault.indirect or statement.orelse or not at_edge or len(statement.body) == len(places):
        return "whether the other ranks were to wait here"
    return None
