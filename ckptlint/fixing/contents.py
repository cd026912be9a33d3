"""Cures for what ranks do to each other's files: let one rank do it, let the folder exist, wait."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ckptlint.file_fault import FileFault
from ckptlint.finding import Applicability, Edit, Span
from ckptlint.fixing.proposal import Proposal, told
from ckptlint.fixing.scopes import Uses, leaves, read_elsewhere
from ckptlint.fixing.spot import Spot
from ckptlint.knowledge import Knowledge
from ckptlint.project import Import, Module, last_name

_SHARDED = frozenset({"fsdp", "fsdp2", "zero3", "tp", "megatron"})


def let_it_exist(fault: FileFault) -> Iterator[Proposal]:
    """Yield the folder's creation with ``exist_ok=True``."""
    node = fault.item.site.node
    if fault.call.effect != "create" or not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    name = name or (node.func.id if isinstance(node.func, ast.Name) else "")
    given = {keyword.arg for keyword in node.keywords}
    if name not in ("makedirs", "mkdir") or fault.call.name == "os.mkdir" or "exist_ok" in given:
        return
    span = fault.item.site.module.source.span(node)
    end = Span(span.path, span.end_line, span.end_column - 1, span.end_line, span.end_column - 1)
    source = fault.item.site.module.source
    before = source.lines[span.end_line - 1][: span.end_column - 2].rstrip()
    comma = "" if before.endswith(("(", ",")) else ", "
    if before.endswith(","):
        comma = "" if source.lines[span.end_line - 1][: span.end_column - 1].endswith(" ") else " "
    edit = Edit(end, f"{comma}exist_ok=True")
    yield Proposal(Applicability.SAFE, "pass exist_ok=True", (edit,))


def guard_write(fault: FileFault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield the statement under a test for rank 0, in the words of a test that is in scope.

    Only for what is known to be local: what may be a collective must not be guarded.
    """
    place = Spot.of(fault.place)
    if place is None or not fault.local or not _may_stand_alone(place):
        return
    if _SHARDED & fault.backends and "state_dict" in ast.unparse(place.statement):
        return
    statement = place.statement
    margin, step, newline = place.margin(statement), place.step, place.newline
    doubts = ["whether other ranks wait for the file, or write something of their own"]
    for test in _tests(place, fault, knowledge):
        edits = [place.inserted(statement.lineno, f"{margin}if {test}:{newline}{step}")]
        last = statement.end_lineno or statement.lineno
        edits += [
            place.inserted(line, step)
            for line in range(statement.lineno + 1, last + 1)
            if place.line(line).strip()
        ]
        yield told(f"do it where `{test}`", doubts, tuple(edits))


def _may_stand_alone(place: Spot) -> bool:
    """Say whether nothing but the files changes when a statement is left out on other ranks."""
    statement = place.statement
    if not isinstance(statement, ast.Expr | ast.With):
        return False
    text = place.line(statement.lineno)
    if text[: statement.col_offset].strip() or leaves([statement]):
        return False  # something else stands on the line
    strings = (n for n in ast.walk(statement) if isinstance(n, ast.Constant | ast.JoinedStr))
    if any(string.lineno != string.end_lineno for string in strings):
        return False
    written = {path.partition(".")[0] for path in Uses.of(statement).stores}
    return not read_elsewhere(written, place.scope, [statement])


def _tests(place: Spot, fault: FileFault, knowledge: Knowledge) -> Iterator[str]:
    """Yield tests for rank 0: those of the same function, nearest first, then one made of the
    object that all ranks meet through."""
    line = place.statement.lineno
    ifs = [node for node in ast.walk(place.scope) if isinstance(node, ast.If)]
    ifs.sort(key=lambda node: abs(node.lineno - line))
    found: dict[str, None] = {}
    for node in ifs:
        parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        for part in parts:
            text = _for_first(part, place, knowledge)
            if text is not None and _bound_before(part, place):
                found[text] = None
    meeting, visit = fault.contention.meeting, fault.contention.visit
    if (
        meeting is not None
        and len(meeting.chain) == len(visit.chain)
        and set(meeting.conditions) <= set(visit.conditions)
    ):
        found.update(dict.fromkeys(_made_of(meeting.item.site.node, meeting.item.call, knowledge)))
    yield from found


def _for_first(test: ast.expr, place: Spot, knowledge: Knowledge) -> str | None:
    """Return a test that holds on rank 0 alone, made of this one or of its opposite."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _for_first(operand, place, knowledge)
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=0)]
        ) if _holds_rank(left, place, knowledge):
            return f"{ast.unparse(left)} == 0"
        case ast.Call(func=function, args=[], keywords=[]) if _says("first", function, knowledge):
            return ast.unparse(test)
        case ast.Name() | ast.Attribute() if _says("first", test, knowledge):
            return ast.unparse(test)
    return None


def _holds_rank(number: ast.expr, place: Spot, knowledge: Knowledge) -> bool:
    """Say whether a number is made of the rank, or of a variable that was."""
    if any(_says("rank", part, knowledge) for part in ast.walk(number)):
        return True
    names = {part.id for part in ast.walk(number) if isinstance(part, ast.Name)}
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(each, ast.Name) and each.id in names for each in node.targets)
        and any(_says("rank", part, knowledge) for part in ast.walk(node.value))
        for node in ast.walk(place.scope)
    )


def _says(meaning: str, node: ast.AST, knowledge: Knowledge) -> bool:
    """Say whether a name, an attribute or an environment variable has a meaning by its name."""
    if isinstance(node, ast.Constant):
        record = knowledge.environment.get(str(node.value))
        return record is not None and record.meaning == meaning
    name = last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    known = knowledge.conventions.get(name)
    if known is not None:
        return known.meaning == meaning
    return bool(name) and any(
        full.rpartition(".")[2] == name and record.meaning == meaning
        for full, record in knowledge.predicates.items()
    )


def _bound_before(test: ast.expr, place: Spot) -> bool:
    """Say whether every name of a test has its value where the statement stands."""
    read = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    stores: dict[str, int] = {}
    for node in ast.walk(place.scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in read:
            stores[node.id] = min(node.lineno, stores.get(node.id, node.lineno))
    return all(line < place.statement.lineno for line in stores.values())


def _made_of(node: ast.AST, call: object, knowledge: Knowledge) -> Iterator[str]:
    """Yield tests that the object of a collective offers: ``dist`` of ``dist.barrier()``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return
    base = ast.unparse(node.func.value)
    owner = str(getattr(call, "name", "")).rpartition(".")[0]
    for attribute, form in (
        ("is_main_process", "{}.is_main_process"),
        ("is_global_zero", "{}.is_global_zero"),
        ("get_rank", "{}.get_rank() == 0"),
    ):
        if knowledge.member(owner, attribute) or f"{owner}.{attribute}" in knowledge.predicates:
            yield form.format(base)


def add_barrier(fault: FileFault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a barrier between what one rank does to a file and what the others do."""
    first, second = Spot.of(fault.place), fault.other_place and Spot.of(fault.other_place)
    if first is None or not second or first.module is not second.module:
        return
    parting = next(
        (
            (block, one, two)
            for (_, block, one), (_, other, two) in zip(first.way, second.way, strict=False)
            if block is other and one != two
        ),
        None,
    )
    if parting is None:
        return
    block, one, two = parting
    after = (block[one].end_lineno or block[one].lineno) + 1
    line = block[two].lineno if fault.removed else after
    margin = first.margin(block[one])
    doubts = ["whether every rank gets here"]
    for barrier in _barriers(first, fault, knowledge):
        edit = first.inserted(line, f"{margin}{barrier}{first.newline}")
        yield told(f"wait in `{barrier}`", doubts, (edit,))


def _barriers(place: Spot, fault: FileFault, knowledge: Knowledge) -> Iterator[str]:
    """Yield barriers in the words of the function, of its rank test, or of its file."""
    names = {
        full.rpartition(".")[2]
        for full, records in knowledge.calls.items()
        if any(record.effect == "barrier" for record in records)
    }
    found: dict[str, None] = {}
    for node in ast.walk(place.scope):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[])):
                if name in names:
                    found[ast.unparse(node)] = None
    for level in (*fault.contention.visit.levels, *fault.other_levels):
        for part in ast.walk(level.test.site.node):
            if isinstance(part, ast.Attribute):
                base = ast.unparse(part.value)
                if part.attr == "get_rank" and _is_torch(place.module, base):
                    found[f"{base}.barrier()"] = None
                elif part.attr == "is_main_process" and "accelerator" in base:
                    found[f"{base}.wait_for_everyone()"] = None
    yield from found


def _is_torch(module: Module, name: str) -> bool:
    symbol = module.symbols.get(name)
    return isinstance(symbol, Import) and "distributed" in (
        symbol.module,
        symbol.name,
        *symbol.module.split("."),
    )
