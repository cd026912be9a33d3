"""Fixes that call the runtime, where a project wants them: ``fix-style = "runtime"``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import libcst as cst

from ckptlint.analysis.ranks import FIRST
from ckptlint.fault import Fault, spelled
from ckptlint.finding import Applicability
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.guards import Rewrite, Ways, splits
from ckptlint.fixing.imports import imported
from ckptlint.fixing.needs import RUNTIME
from ckptlint.fixing.place import Place
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.scopes import contains
from ckptlint.fixing.shapes import Shape, guard_at, statement_at
from ckptlint.knowledge import Knowledge

_BESIDE = ("torch", "deepspeed", "accelerate", "lightning", "pytorch_lightning", "transformers")
_LOADS = f"what loads it must call `{RUNTIME}.load_checkpoint`"
# The saves of engines that the runtime makes itself, and the argument that is a folder's name
# inside of the path that the facts tell.
_ENGINES = {
    "deepspeed.DeepSpeedEngine.save_checkpoint": "tag",
    "accelerate.Accelerator.save_state": "",
    "lightning.pytorch.Trainer.save_checkpoint": "",
}


def runtime_calls(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield rewrites that call the runtime where it is the cure: a save of its own, a value that
    rank 0 makes for all, work of rank 0 for which the others wait."""
    try:
        site = fault.divergence.test.site
        statement = statement_at(site)
        place = Place.of(fault, knowledge, statement)
        shape = guard_at(site, statement)
        if shape is not None:
            yield from _rewrites(place, shape)
    except (RefusedError, cst.CSTValidationError):
        return


def _rewrites(place: Place, shape: Shape) -> Iterator[Proposal]:
    fault = place.fault
    operation = spelled(fault.place)
    if not fault.indirect:
        for saving in (_state(place, shape), _engine(place)):
            if saving is not None:
                at = replace(place, operations=saving.operations)
                ways = Ways(instead=saving.instead, shares=True)
                for rewrite in splits(at, shape, ways):
                    message = f"call {RUNTIME}.save_checkpoint on every rank"
                    yield _proposal(place, rewrite, message, _LOADS)
    for rewrite in splits(place, shape, Ways(shares=True)):
        if rewrite.shared:
            message = f"call {operation} on every rank, with what rank 0 makes for all"
            yield _proposal(place, rewrite, message, "whether JSON holds what rank 0 makes")
    yield from _work(place, shape)


def _proposal(place: Place, rewrite: Rewrite, message: str, doubt: str) -> Proposal:
    kept = "; keep the rest under the test" if rewrite.parted else ""
    edits = (*rewrite.edits, *imported(place.purity.module, RUNTIME, _BESIDE))
    return replace(told(message + kept, [*rewrite.doubts, doubt], edits), replaces=True)


@dataclass(frozen=True)
class _Saving:
    """Calls that are made on every rank, with what is written in their place."""

    operations: tuple[ast.AST, ...]
    instead: Mapping[ast.expr, str]


def _text(place: Place, node: ast.expr) -> str:
    return ast.get_source_segment(place.purity.module.source.text, node) or ast.unparse(node)


def _engine(place: Place) -> _Saving | None:
    """Save an engine, its folder and tag as one path."""
    record = place.fault.call
    tag = _ENGINES.get(record.name)
    [call, *more] = place.operations
    if tag is None or more or not isinstance(call, ast.Call) or not record.path:
        return None
    names = [name for name in (record.path, tag) if name]
    given: dict[str | None, ast.expr] = dict(zip(names, call.args, strict=False))
    given.update((keyword.arg, keyword.value) for keyword in call.keywords)
    if len(call.args) > len(names) or not isinstance(call.func, ast.Attribute):
        return None
    if given.keys() != set(names):
        return None  # what it is given besides has no place in the runtime's call
    owner = _text(place, call.func.value)
    path = _path(place, [given[name] for name in names])
    return _Saving((call,), {call: _saved(owner, path)})


def _saved(state: str, path: str) -> str:
    """Write the call; what always has the same name is replaced, as it was before."""
    constant = isinstance(ast.parse(path, mode="eval").body, ast.Constant)
    more = ", overwrite=True" if constant else ""
    return f"{RUNTIME}.save_checkpoint({state}, {path}{more})"


def _path(place: Place, parts: list[ast.expr]) -> str:
    """Join folder and tag to the text of one path."""
    texts = [_text(place, part) for part in parts]
    if len(texts) == 1:
        return texts[0]
    constant = all(isinstance(part, ast.Constant) for part in parts)
    inner = "/".join(
        str(part.value).replace("{", "{{").replace("}", "}}")
        if isinstance(part, ast.Constant)
        else _inside(text)
        for part, text in zip(parts, texts, strict=True)
    )
    if '"' in inner or "\\" in inner or (constant and "{" in inner):
        raise RefusedError("folder and tag cannot be written as one text")
    return f'"{inner}"' if constant else f'f"{inner}"'


def _inside(text: str) -> str:
    """Return what an expression is inside an f-string."""
    if text[:2] in ('f"', "f'") and text[1] == text[-1] and text[2] != text[1]:
        return text[2:-1]
    return f"{{{text}}}"


def _state(place: Place, shape: Shape) -> _Saving | None:
    """Save objects in place of what was gathered from them and given to ``torch.save``."""
    body = shape.node.body
    saves = [
        each.value
        for each in body
        if isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Call)
        and place.purity.canonical(each.value.func) == "torch.save"
        and len(each.value.args) == 2
        and not each.value.keywords
    ]
    if len(saves) != 1 or place.fault.call.effect != "gather":
        return None
    [save] = saves
    if not all(contains(save, [operation]) for operation in place.operations):
        return None
    try:
        state = _parts(place, save.args[0])
    except RefusedError:
        return None
    path = _text(place, save.args[1])
    return _Saving((save,), {save: _saved(state, path)})


def _parts(place: Place, state: ast.expr) -> str:
    """Return the text of what the runtime collects the same state from. Raises RefusedError."""
    if not isinstance(state, ast.Dict):
        return f'{{"model": {_object(place, state)}}}'
    items = []
    for key, value in zip(state.keys, state.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise RefusedError("the state has parts without a name")
        plain = place.purity.pure(value) and not contains(value, place.operations)
        made = isinstance(value, ast.Call) and ast.unparse(value.func).endswith("state_dict")
        items.append(
            f"{_text(place, key)}: "
            f"{_text(place, value) if plain and not made else _object(place, value)}"
        )
    return f"{{{', '.join(items)}}}"


def _object(place: Place, call: ast.expr) -> str:
    """Return the object whose state a call gives: ``model`` of ``model.state_dict()``."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        raise RefusedError("the state is made by something else")
    if call.func.attr == "state_dict" and not call.args and not call.keywords:
        return _text(place, call.func.value)
    if call.func.attr in ("optim_state_dict", "full_optim_state_dict") and len(call.args) == 2:
        return _text(place, call.args[1])
    raise RefusedError("the state is made by something else")


def _work(place: Place, shape: Shape) -> Iterator[Proposal]:
    """Run on rank 0, through the runtime, the one call for which the others wait at a barrier."""
    fault = place.fault
    if fault.call.effect != "barrier" or FIRST in fault.divergence.present or fault.indirect:
        return
    arms = [shape.node.body, shape.node.orelse]
    waiting = [arm for arm in arms if contains(ast.Module(arm, []), place.operations)]
    working = [arm for arm in arms if arm not in waiting]
    if shape.chain or shape.before or len(waiting) != 1 or len(waiting[0]) != 1:
        return
    [waits], [arm] = waiting[0], working
    if not isinstance(waits, ast.Expr) or waits.value not in place.operations or len(arm) != 1:
        return
    call = arm[0].value if isinstance(arm[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
        return
    given = ", ".join(
        ast.get_source_segment(place.purity.module.source.text, part) or ""
        for part in (call.func, *call.args, *call.keywords)
    )
    cut = Cut.of(place.purity.module.source, [shape.statement])
    line = cst.SimpleStatementLine(
        [cst.Expr(cst.parse_expression(f"{RUNTIME}.run_on_rank_zero({given})"))]
    )
    edits = (cut.spliced([line], []), *imported(place.purity.module, RUNTIME, _BESIDE))
    message = f"run {ast.unparse(call.func)} on rank 0 while all ranks wait for it"
    doubt = "whether JSON holds what it returns"
    found = Proposal(Applicability.UNSAFE, f"{message} (check first: {doubt})", edits)
    yield replace(found, replaces=True)
