"""Turning an early exit of some ranks into a test around what is theirs alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from ckptlint.fault import Fault
from ckptlint.fixing.conditions import opposite
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.guards import Place, guarded_if
from ckptlint.fixing.plan import guarded_in
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.render import Renderer
from ckptlint.fixing.scopes import Uses, leaves, touch
from ckptlint.knowledge import Knowledge
from ckptlint.project import FunctionNode


def keep_going(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite in which all ranks go on, where nothing but the exit stands under the test
    and the exit skips nothing but the rest of its block."""
    try:
        yield _proposal(fault, knowledge)
    except (RefusedError, cst.CSTValidationError):
        return


def _proposal(fault: Fault, knowledge: Knowledge) -> Proposal:
    statement = guarded_if(fault.divergence.test.site)
    place = Place.of(fault, knowledge, statement)
    rest = list(place.block[place.index + 1 :])
    _check(place, statement, rest)
    cut = Cut.of(fault.place.module.source, [statement, *rest])
    planner = place.planner([])
    plan = planner.plan(rest)
    groups = guarded_in(plan)
    if Uses.of(statement.test).stores or not place.purity.repeatable(statement.test):
        raise RefusedError("the rank test may have effects")
    if groups and touch(Uses.of(statement.test).loads, Uses.of(*rest).written):
        raise RefusedError("the rest changes the rank test")
    if groups and isinstance(statement.test, ast.BoolOp):
        raise RefusedError("the opposite of the test is hard to read")
    written = cst.ensure_type(cut.statements[0], cst.If)
    indent = written.body.indent if isinstance(written.body, cst.IndentedBlock) else None
    renderer = Renderer(cut, opposite(written.test), indent)
    renderer.pair(rest, cut.statements[1:])
    result = renderer.write(plan)
    edit = cut.spliced(result.statements, result.rest)
    doubts = place.doubts(planner, [statement, *rest])
    kept = "; keep the rest under the test" if groups else ""
    message = f"let every rank go on to {fault.operation}{kept}"
    return told(message, doubts, (edit, *place.further_edits()))


def _check(place: Place, statement: ast.If, rest: list[ast.stmt]) -> None:
    if statement.orelse or len(statement.body) != 1 or not rest:
        raise RefusedError("more than the exit stands under the test")
    exit_ = statement.body[0]
    if isinstance(exit_, ast.Return):
        value = exit_.value
        if not (value is None or (isinstance(value, ast.Constant) and value.value is None)):
            raise RefusedError("the exit returns a value")
        if not isinstance(place.parent, FunctionNode):
            raise RefusedError("the exit skips more than its block")
    elif isinstance(exit_, ast.Continue):
        if not isinstance(place.parent, ast.For | ast.AsyncFor | ast.While):
            raise RefusedError("the exit skips more than its block")
        if place.block is not place.parent.body:
            raise RefusedError("the exit skips more than its block")
    else:
        raise RefusedError("the exit is not a plain return or continue")
    if leaves(rest):
        raise RefusedError("the rest leaves its block as well")
