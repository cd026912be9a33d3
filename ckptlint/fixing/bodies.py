"""The body of a function that every rank comes to run: its own effects go under a rank test."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from ckptlint.fixing.cut import Cut
from ckptlint.fixing.lines import Written
from ckptlint.fixing.plan import Kept, Plan, guarded_in
from ckptlint.fixing.planner import Planner
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.render import Renderer
from ckptlint.fixing.scopes import Uses
from ckptlint.project import Module


@dataclass(frozen=True)
class Body:
    """A function cut out of its file, and its new body; ``guarded`` says that a test is in it."""

    cut: Cut
    written: cst.FunctionDef
    result: Written
    guarded: bool

    def with_body(self, function: cst.FunctionDef) -> cst.FunctionDef:
        """Return a function with this body. Raises RefusedError."""
        block = function.body
        if not isinstance(block, cst.IndentedBlock):
            raise RefusedError("the function stands on one line")
        block = block.with_changes(body=self.result.statements, footer=self.result.rest)
        return function.with_changes(body=block)


def guarded_body(
    module: Module,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    planner: Planner,
    predicate: Callable[[], str],
    refine: Callable[[Plan, Planner], Plan] = lambda plan, _: plan,
) -> Body:
    """Plan and write a function's body anew; ``predicate`` is asked for when a test is needed.

    ``refine`` may take more out of the test. Raises RefusedError.
    """
    body = list(function.body)
    end = _plain_return(body, planner)
    planner.may_return = True
    first = 1 if _documented(body) else 0
    planner.needed |= Uses.of(*end).loads
    plan = refine(planner.plan(body[first : len(body) - len(end)]), planner)
    plan = (*map(Kept, body[:first]), *plan, *map(Kept, end))
    guarded = bool(guarded_in(plan))
    cut = Cut.of(module.source, [function])
    written = cst.ensure_type(cut.statements[0], cst.FunctionDef)
    test = cst.parse_expression(predicate() if guarded else "None")
    renderer = Renderer(cut, test, None)
    renderer.pair_block(body, written.body)
    return Body(cut, written, renderer.write(plan), guarded)


def _documented(body: Sequence[ast.stmt]) -> bool:
    return isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def _plain_return(body: Sequence[ast.stmt], planner: Planner) -> list[ast.stmt]:
    """Return the last statement, where it only returns a value that is computed on every rank."""
    last = body[-1]
    if isinstance(last, ast.Return) and (last.value is None or planner.purity.pure(last.value)):
        return [last]
    return []
