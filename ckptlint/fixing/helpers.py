"""Guarding what a helper does besides its collective, once every rank calls it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ckptlint.analysis.ranks import FIRST
from ckptlint.fault import Fault
from ckptlint.finding import Edit
from ckptlint.fixing.bodies import guarded_body
from ckptlint.fixing.needs import names_in
from ckptlint.fixing.planner import Planner
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.purity import Purity
from ckptlint.fixing.scopes import Uses, path_of
from ckptlint.knowledge import Knowledge
from ckptlint.project import Function, Import


def guarded_helper(
    fault: Fault, function: Function, operations: Sequence[ast.AST], knowledge: Knowledge
) -> Edit:
    """Return the edit that puts a rank test around the effects of a helper.

    ``operations`` are the calls in it that every rank must make. Raises RefusedError where the
    test that the fault is about lets in other ranks than rank 0, or none is known for the helper.
    """
    node = function.node
    if isinstance(node, ast.Lambda) or fault.divergence.present != (FIRST,):
        raise RefusedError("the function that is called writes on every rank")
    purity = Purity(function.module, node, knowledge)
    planner = Planner(purity, operations, [], names_in(node, purity))
    body = guarded_body(
        function.module, node, planner, lambda: _predicate(fault, function, operations, purity)
    )
    return body.cut.spliced([body.with_body(body.written)], [])


def _predicate(
    fault: Fault, function: Function, operations: Sequence[ast.AST], purity: Purity
) -> str:
    """Return a test for rank 0 in terms of what the helper has: the object whose collective it
    calls or hands on under the same name, or an import of torch."""
    owner = fault.call.name.rpartition(".")[0]
    main = fault.main.operation.site.node
    func = main.func if isinstance(main, ast.Call) else None
    base = path_of(func.value) if isinstance(func, ast.Attribute) else None
    handed_on = {
        part.id
        for call in operations
        if isinstance(call, ast.Call)
        for part in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(part, ast.Name)
    }
    if base is not None and (main in operations or base in handed_on):
        for name, record in purity.knowledge.predicates.items():
            place, _, attribute = name.rpartition(".")
            if place != owner or record.kind != "attribute" or record.scope != "global":
                continue
            if record.meaning in ("first", "rank"):
                return f"{base}.{attribute}" + (" == 0" if record.meaning == "rank" else "")
    for local, symbol in function.module.symbols.items():
        if isinstance(symbol, Import) and local not in Uses.of(function.node).stores:
            full = ".".join(part for part in (symbol.module, symbol.name) if part)
            if full == "torch.distributed" and local != "torch":
                return f"{local}.get_rank() == 0"
    raise RefusedError("no test of the rank is known for the function that is called")
