"""Gathering a sharded state on every rank before one of them writes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ckptlint.analysis.values import Site
from ckptlint.file_fault import FileFault
from ckptlint.finding import Edit
from ckptlint.fixing.imports import imported_names
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.scopes import Uses
from ckptlint.fixing.spot import Spot

_PACKAGE = "torch.distributed.checkpoint.state_dict"
_NAMES = ("StateDictOptions", "get_model_state_dict")


def gather_first(fault: FileFault) -> Iterator[Proposal]:
    """Yield the write with the whole state, which every rank helps to gather: in front of the test
    for the rank, or where every rank takes its shards."""
    levels = fault.contention.visit.levels
    if len(levels) != 1 or levels[0].test.kind != "test":
        return
    write, guard = Spot.of(fault.item.site), Spot.of(levels[0].test.site)
    if write is None or guard is None or write.scope is not guard.scope:
        return
    test = guard.statement
    if not isinstance(test, ast.If) or isinstance(test.test, ast.BoolOp):
        return
    if not guard.begins_its_line:
        return
    states = list(_states(write))
    doubts = ["whether every rank gets here"]
    if len(states) > 1:
        doubts.append("what else is saved may be in shards as well")
    for call in states:
        try:
            names = imported_names(write.module, _PACKAGE, _NAMES, ["torch"])
            inside = any(node is call for node in ast.walk(test))
            edits = _before(guard, test, call) if inside else _in_place(write, call)
        except RefusedError:
            continue
        message = f"gather the state with `{_NAMES[1]}` on every rank"
        yield replace(told(message, doubts, (*names, *edits)), replaces=True)


def _states(write: Spot) -> Iterator[ast.Call]:
    """Yield the calls of ``state_dict`` of the function, down to the write."""
    last = write.statement.end_lineno or write.statement.lineno
    for node in ast.walk(write.scope):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "state_dict"
            and not node.args
            and not node.keywords
            and node.lineno <= last
        ):
            yield node


def _gathered(spot: Spot, call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    model = spot.written(call.func.value)
    return f"{_NAMES[1]}({model}, options={_NAMES[0]}(full_state_dict=True, cpu_offload=True))"


def _before(guard: Spot, test: ast.If, call: ast.Call) -> tuple[Edit, ...]:
    """Return the edits that take the state in front of a test. Raises RefusedError when the test's
    block makes the model."""
    assert isinstance(call.func, ast.Attribute)
    changed = {p.partition(".")[0] for s in test.body for p in Uses.of(s).stores}
    used = {node.id for node in ast.walk(call.func) if isinstance(node, ast.Name)}
    if used & changed:
        raise RefusedError("the model is made under the test")
    name = guard.unused("state")
    line = f"{guard.margin(test)}{name} = {_gathered(guard, call)}{guard.newline}"
    return (guard.inserted(test.lineno, line), guard.replaced(call, name))


def _in_place(write: Spot, call: ast.Call) -> tuple[Edit, ...]:
    """Return the edit that takes the whole state where every rank took its shards. Raises
    RefusedError where the statement is not one that every rank gets to."""
    spot = Spot.of(Site(write.module, call))
    if spot is None or spot.way[-1][0] is not write.scope:
        raise RefusedError("not every rank may get there")
    return (spot.replaced(call, _gathered(spot, call)),)
