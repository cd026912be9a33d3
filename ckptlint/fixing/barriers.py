"""Taking a barrier or another raw collective out of a rank test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from ckptlint.analysis.ranks import FIRST, LAST
from ckptlint.fault import Fault, spelled
from ckptlint.finding import Edit
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.guards import split_guard, splits
from ckptlint.fixing.place import Place
from ckptlint.fixing.proposal import Proposal, RefusedError, doubted, told
from ckptlint.fixing.scopes import contains, leaves
from ckptlint.fixing.shapes import Shape, guard_at, statement_at
from ckptlint.knowledge import Knowledge


def move_barrier(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite that takes guarded collectives out of their test.

    A barrier at the edge of the guarded block goes in front of the test or behind it. Elsewhere it
    parts the block, which a reader has to agree to, as where the block holds nothing else (the
    others may have been meant to meet it elsewhere) or there is another arm. Where the other ranks
    wait alone, rank 0 gets its barrier behind the work that they wait for, if that can be told.
    """
    site = fault.divergence.test.site
    try:
        statement = statement_at(site)
        shape = guard_at(site, statement)
        if FIRST not in fault.divergence.present and fault.divergence.present != (LAST,):
            place = Place.of(fault, knowledge, statement)
            yield from _counterpart(place, shape) if shape is not None else ()
            return
    except (RefusedError, cst.CSTValidationError):
        return
    doubt = _doubt(fault, shape.node if shape is not None else None)
    for proposal in split_guard(fault, knowledge):
        yield proposal if doubt is None else doubted(proposal, doubt)


def _counterpart(place: Place, shape: Shape) -> Iterator[Proposal]:
    """Let rank 0 meet the others behind its work: in the other arm, in front of their test, or in
    a test of its own behind it. Raises RefusedError."""
    node = shape.node
    waiting = [arm for arm in (node.body, node.orelse) if contains(_all(arm), place.operations)]
    if place.fault.call.effect != "barrier" or len(waiting) != 1 or len(waiting[0]) != 1:
        raise RefusedError("the others do more than wait")
    [waits] = waiting[0]
    if not isinstance(waits, ast.Expr) or waits.value not in place.operations:
        raise RefusedError("the others do more than wait")
    doubt = "whether this is what the other ranks wait for"
    operation = spelled(place.fault.place)
    other = node.orelse if waiting[0] is node.body else node.body
    before = place.block[place.index - 1] if place.index else None
    if _meets(place, other, waits.value):
        raise RefusedError("rank 0 meets the others somewhere in its own arm")
    if other or _tests(before, node.test):
        shape = shape if other is node.body or not other else shape.flipped()
        for rewrite in splits(place, shape):
            message = f"call {operation} on every rank, behind the work of rank 0"
            yield told(message, [*rewrite.doubts, doubt], rewrite.edits)
        return
    for statement in place.block[place.index + 1 :]:
        if contains(statement, place.operations) or leaves([statement]):
            break
        if isinstance(statement, ast.If) and _tests(statement, node.test):
            if _meets(place, statement.body, waits.value):
                break
            edit = _with_last(place, statement, waits)
            message = f"let rank 0 call {operation} behind its work"
            yield told(message, [doubt], (edit,))
            return
    raise RefusedError("what the others wait for cannot be told")


def _meets(place: Place, arm: list[ast.stmt], barrier: ast.expr) -> bool:
    """Say whether an arm makes the call for which the others wait, or a collective."""
    wanted = ast.dump(barrier.func) if isinstance(barrier, ast.Call) else ""
    return any(
        isinstance(node, ast.Call)
        and (ast.dump(node.func) == wanted or place.purity.communicates(node))
        for node in ast.walk(_all(arm))
    )


def _all(statements: list[ast.stmt]) -> ast.Module:
    return ast.Module(statements, [])


def _tests(statement: ast.stmt | None, test: ast.expr) -> bool:
    """Say whether a statement is an ``if`` of the ranks that another test keeps out."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    (one, yes), (other, no) = _positive(statement.test), _positive(test)
    return one == other and yes is not no


def _positive(test: ast.expr) -> tuple[str, bool]:
    """Return a test without its negation, and whether it had none."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            text, true = _positive(inner)
            return text, not true
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.Gt()], comparators=[right]):
            return ast.dump(ast.Compare(left, [ast.Eq()], [right])), False
    return ast.dump(test), True


def _with_last(place: Place, statement: ast.If, last: ast.Expr) -> Edit:
    """Return the edit that puts a call at the end of an ``if`` block. Raises RefusedError."""
    source = place.purity.module.source
    cut = Cut.of(source, [statement])
    written = cst.ensure_type(cut.statements[0], cst.If)
    if not isinstance(written.body, cst.IndentedBlock):
        raise RefusedError("the test stands on one line")
    text = ast.get_source_segment(source.text, last) or ast.unparse(last)
    line = cst.SimpleStatementLine([cst.Expr(cst.parse_expression(text))])
    body = written.body.with_changes(body=[*written.body.body, line])
    return cut.spliced([written.with_changes(body=body)], [])


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
