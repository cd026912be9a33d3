"""Giving every rank the path that rank 0 has made up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ckptlint.file_fault import FileFault
from ckptlint.finding import Edit
from ckptlint.fixing.imports import imported
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.spot import Spot
from ckptlint.knowledge import Knowledge

_LIST = "broadcast_object_list"
_TORCH = "torch.distributed"


def share_path(fault: FileFault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite that broadcasts the path of a collective from rank 0.

    Only where the clock, chance or the process makes it differ: a path that holds the rank would
    name one rank's place for all, and a temporary folder lies on one machine.
    """
    node = fault.item.site.node
    spot = Spot.of(fault.item.site)
    temporary = {d.reason for n, d in knowledge.divergent.items() if n.startswith("tempfile.")}
    reasons = {source.reason for source in knowledge.divergent.values()} - temporary
    if (
        spot is None
        or fault.place.key != fault.item.site.key
        or not fault.contention.origins <= reasons
        or not isinstance(node, ast.Call)
    ):
        return
    for path in _paths(node, fault) if spot.begins_its_line else ():
        try:
            for message, edits in _shared(spot, node, path, fault, knowledge):
                doubts = ["whether every rank gets here"]
                if isinstance(path, ast.Name):
                    doubts.append(f"what was done with `{path.id}` before")
                yield told(message, doubts, edits)
        except RefusedError:
            continue


def _paths(node: ast.Call, fault: FileFault) -> Iterator[ast.expr]:
    """Yield the arguments that name the file: the folder, and what it is put under there."""
    call = fault.call
    for name, position in ((call.path, call.path_position), (call.tag, call.tag_position)):
        if not name:
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == name]
        given = given or node.args[position : position + 1]
        if given and not isinstance(given[0], ast.Starred):
            yield given[0]


def _shared(
    spot: Spot, node: ast.Call, path: ast.expr, fault: FileFault, knowledge: Knowledge
) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Yield what shares the path, in the words of the object that saves, or of torch. Raises
    RefusedError."""
    text = spot.written(path)
    for broadcast in _of_the_object(node, fault, knowledge):
        message = f"broadcast the path with `{broadcast}`"
        yield message, _renewed(spot, path, f"{broadcast}({text})")
    if fault.call.framework == "accelerate":
        edits = imported(spot.module, "accelerate", ["accelerate"])
        new = f"accelerate.utils.{_LIST}([{text}])[0]"
        yield f"broadcast the path with `{_LIST}`", (*edits, *_renewed(spot, path, new))
        return
    base, edits = spot.torch_distributed, ()
    if not base:
        base, edits = _TORCH, imported(spot.module, "torch", ["torch", "deepspeed", "lightning"])
    name = spot.unused("agreed")
    margin, newline = spot.margin(spot.statement), spot.newline
    lines = [f"{name} = [{text}]", f"{base}.{_LIST}({name}, src=0)"]
    if isinstance(path, ast.Name):
        lines.append(f"{path.id} = {name}[0]")
    before = "".join(f"{margin}{line}{newline}" for line in lines)
    edits = (*edits, spot.inserted(spot.statement.lineno, before))
    if not isinstance(path, ast.Name):
        edits = (*edits, spot.replaced(path, f"{name}[0]"))
    yield f"broadcast the path with `{base}.{_LIST}`", edits


def _renewed(spot: Spot, path: ast.expr, new: str) -> tuple[Edit, ...]:
    """Return the edit that gives a variable another value before it is used, or that puts
    another expression in its place."""
    if not isinstance(path, ast.Name):
        return (spot.replaced(path, new),)
    margin, newline = spot.margin(spot.statement), spot.newline
    return (spot.inserted(spot.statement.lineno, f"{margin}{path.id} = {new}{newline}"),)


def _of_the_object(node: ast.Call, fault: FileFault, knowledge: Knowledge) -> Iterator[str]:
    """Yield the broadcast that the saving object, or what is known to be in it, offers."""
    owner = fault.call.name.rpartition(".")[0]
    if owner not in knowledge.classes or not isinstance(node.func, ast.Attribute):
        return
    base = ast.unparse(node.func.value)
    if knowledge.member(owner, "broadcast"):
        yield f"{base}.broadcast"
    strategy = knowledge.attribute(owner, "strategy")
    if strategy is not None and knowledge.member(strategy, "broadcast"):
        yield f"{base}.strategy.broadcast"
