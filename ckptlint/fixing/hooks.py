"""Taking a rank-zero decorator off a function that communicates, and guarding its own effects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from ckptlint.fault import Fault
from ckptlint.finding import Edit, Span
from ckptlint.fixing.bodies import Body, guarded_body
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.place import Place
from ckptlint.fixing.plan import Guarded, Item, Kept, Plan
from ckptlint.fixing.planner import Planner
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.scopes import Uses, contains, touch
from ckptlint.knowledge import Knowledge
from ckptlint.project import FunctionNode, Module, last_name

_ACCELERATE = {
    "on_main_process": "is_main_process",
    "on_local_main_process": "is_local_main_process",
    "on_last_process": "is_last_process",
}
_MODULE_BASES = ("LightningModule", "LightningDataModule")


def free_hook(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield a rewrite in which the decorated function runs on every rank."""
    if fault.divergence.kind != "decorator":
        return
    try:
        yield _Hook(fault, knowledge).proposal()
    except (RefusedError, cst.CSTValidationError):
        return


@dataclass(frozen=True)
class _Decorated:
    """A decorated function, the decorator in question and the class around, if any."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    decorator: ast.expr
    owner: ast.ClassDef | None


def _decorated(module: Module, decorator: ast.AST) -> _Decorated:
    for node in ast.walk(module.tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FunctionNode):
                for found in child.decorator_list:
                    if found is decorator:
                        owner = node if isinstance(node, ast.ClassDef) else None
                        return _Decorated(child, found, owner)
    raise RefusedError("the decorator is not one of a function")


class _Hook:
    def __init__(self, fault: Fault, knowledge: Knowledge) -> None:
        self.fault = fault
        self.knowledge = knowledge
        self.module = fault.divergence.test.site.module
        self.found = _decorated(self.module, fault.divergence.test.site.node)

    def proposal(self) -> Proposal:
        """Make the rewrite. Raises RefusedError."""
        function = self.found.function
        place = Place.of(self.fault, self.knowledge, function).inside(function)
        if not all(contains(function, [operation]) for operation in place.operations):
            raise RefusedError("the collective stands in another function")
        planner = place.planner([])
        planner.own = self._own()
        body = guarded_body(self.module, function, planner, self._predicate, unguarded)
        edit = body.cut.spliced([self._undecorated(body)], [])
        edits = [edit]
        predicate = self._predicate() if body.guarded else ""
        if isinstance(self.found.decorator, ast.Name) and self.found.decorator.id not in predicate:
            edits += unused_import(self.module, self.found.decorator)
        kept = "; guard what else it does" if body.guarded else ""
        name = ast.unparse(self.found.decorator)
        message = f"run {function.name} on every rank, without @{name}{kept}"
        return told(message, place.doubts(planner, function.body), (*edits, *place.further_edits()))

    def _own(self) -> frozenset[str]:
        """Return the parameters of a hook: each rank's caller gives it objects of its own."""
        function = self.found.function
        if self.found.owner is None or function.name not in {n for _, n in self.knowledge.hooks}:
            return frozenset()
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return frozenset(argument.arg for argument in named) - {"self"}

    def _undecorated(self, body: Body) -> cst.FunctionDef:
        written = body.with_body(body.written)
        index = self.found.function.decorator_list.index(self.found.decorator)
        decorators = list(written.decorators)
        above = decorators.pop(index).leading_lines
        if index == 0:
            return written.with_changes(decorators=decorators)
        lines = [*above, *written.lines_after_decorators]
        return written.with_changes(decorators=decorators, lines_after_decorators=lines)

    # -- the guard -----------------------------------------------------------------------------

    def _predicate(self) -> str:
        """Return the test that stands for the decorator, in the framework's words."""
        decorator = self.found.decorator
        if isinstance(decorator, ast.Call):
            raise RefusedError("the decorator has arguments")
        name = last_name(decorator)
        if isinstance(decorator, ast.Attribute) and name in _ACCELERATE:
            return f"{ast.unparse(decorator.value)}.{_ACCELERATE[name]}"
        if name != "rank_zero_only":
            raise RefusedError("no test is known that stands for the decorator")
        arguments = [a.arg for a in self.found.function.args.args]
        if "trainer" in arguments:
            return "trainer.is_global_zero"
        owner = self.found.owner
        if owner is not None and arguments[:1] == ["self"]:
            bases = [last_name(base) for base in owner.bases]
            if any(base in _MODULE_BASES for base in bases):
                return "self.trainer.is_global_zero"
        return f"{ast.unparse(decorator)}.rank == 0"


def unguarded(plan: Plan, planner: Planner) -> Plan:
    """Leave unguarded what only computes, or only puts values into a hook's own objects: a
    checkpoint must hold the same on all ranks.

    What reads a name that only some ranks bind stays guarded.
    """
    alone: set[str] = set()
    found: list[Item] = []
    for item in plan:
        if not isinstance(item, Guarded):
            found.append(item)
            continue
        for statement in item.statements:
            uses = Uses.of(statement)
            if planner.local(statement) and not touch(uses.loads, alone):
                planner.bound |= uses.stores
                found.append(Kept(statement))
            else:
                alone |= uses.written
                found.append(Guarded((statement,)))
    return planner.tidied(found)


def unused_import(module: Module, decorator: ast.Name) -> list[Edit]:
    """Return the edit that drops the import of a decorator that is used nowhere else."""
    name = decorator.id
    others = [
        source
        for source in module.project.sources.values()
        if source is not module.source
        and module.source.path.stem.encode() in source.data
        and name.encode() in source.data
    ]
    used = [
        node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node.id == name
    ]
    listed = any(isinstance(n, ast.Constant) and n.value == name for n in ast.walk(module.tree))
    if len(used) != 1 or listed or others or module.source.path.name == "__init__.py":
        return []
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom):
            bound = [alias.asname or alias.name for alias in statement.names]
            if name in bound:
                return _without(module, statement, bound.index(name))
    return []


def _without(module: Module, statement: ast.ImportFrom, index: int) -> list[Edit]:
    try:
        cut = Cut.of(module.source, [statement])
    except RefusedError:
        return []
    line = cut.statements[0]
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return []
    if len(statement.names) == 1:
        if line.trailing_whitespace.comment is not None:
            return []
        return [Edit(Span(module.source.display, cut.first, 1, cut.last + 1, 1), "")]
    written = cst.ensure_type(line.body[0], cst.ImportFrom)
    assert not isinstance(written.names, cst.ImportStar)
    names = [alias for place, alias in enumerate(written.names) if place != index]
    if index == len(names):
        names[-1] = names[-1].with_changes(comma=written.names[-1].comma)
    try:
        return [cut.spliced([line.with_changes(body=[written.with_changes(names=names)])], [])]
    except RefusedError:
        return []
