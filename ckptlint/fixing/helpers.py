"""The functions on the way to a collective, once every rank runs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ckptlint.analysis.ranks import FIRST
from ckptlint.fault import Fault
from ckptlint.finding import Edit
from ckptlint.fixing.bodies import guarded_body
from ckptlint.fixing.effects import may_run_everywhere
from ckptlint.fixing.needs import names_in
from ckptlint.fixing.planner import Planner
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.purity import Purity
from ckptlint.fixing.scopes import Uses
from ckptlint.knowledge import Knowledge
from ckptlint.project import ClassDefinition, Function, Import, dotted


@dataclass
class Helper:
    """A function through which a collective is reached.

    ``operations`` are the calls in it that every rank must make; ``owner`` is the path by which
    it has the object whose collective that is, if it has it.
    """

    function: Function
    owner: str | None
    operations: list[ast.AST] = field(default_factory=list)


@dataclass(frozen=True)
class Helpers:
    """Finds and rewrites the functions on the way to the collectives of a fault."""

    fault: Fault
    knowledge: Knowledge

    @cached_property
    def all(self) -> tuple[tuple[Helper, bool | None], ...]:
        """The functions, each with whether the rest of it may run on every rank."""
        found: dict[ast.AST, Helper] = {}
        depth = self.fault.divergence.inner_depth
        for reached in self.fault.divergence.operations:
            sites = [*(scope.site.node for scope in reached.chain), reached.operation.site.node]
            owner = _owner_of(sites[-1])
            steps: list[tuple[Function, ast.AST, str | None]] = []
            for index in range(len(reached.chain) - 1, depth - 1, -1):
                function = reached.chain[index].function
                steps.insert(0, (function, sites[index + 1], owner))
                owner = _outside(function, sites[index], owner)
            for step in steps:
                self._note(found, *step)
        for helper in list(found.values()):
            for other, call, owner in self._further(helper.function, helper.owner, set()):
                self._note(found, other, call, owner)
        return tuple((helper, self._verdict(helper)) for helper in found.values())

    def edits(self) -> tuple[Edit, ...]:
        """Return the edits that put under a test what those functions write.

        Raises RefusedError where the test that the fault is about lets in other ranks than rank
        0, or none is known for a function.
        """
        return tuple(self._guarded(helper) for helper, verdict in self.all if verdict is False)

    def _note(
        self, found: dict[ast.AST, Helper], function: Function, call: ast.AST, owner: str | None
    ) -> None:
        helper = found.setdefault(function.node, Helper(function, owner))
        if not any(call is each for each in helper.operations):
            helper.operations.append(call)

    def _verdict(self, helper: Helper) -> bool | None:
        return may_run_everywhere(helper.function, helper.operations, self.knowledge)

    def _further(
        self, function: Function, owner: str | None, seen: set[ast.AST]
    ) -> Iterator[tuple[Function, ast.Call, str]]:
        """Yield the calls by which a function reaches other collectives of the same object: under
        the condition at hand it made one of them, under another it makes those."""
        if owner is None or function.node in seen:
            return
        seen.add(function.node)
        purity = Purity(function.module, function.node, self.knowledge)
        kind = self.fault.call.name.rpartition(".")[0]
        for call in (node for node in ast.walk(function.node) if isinstance(node, ast.Call)):
            func = call.func
            if isinstance(func, ast.Attribute) and _path(func.value) == owner:
                if f"{kind}.{func.attr}" in self.knowledge.communicating:
                    yield function, call, owner
                continue
            inner = purity.own_function(func) or _method(function, func)
            name = _inside(inner, call, owner) if inner is not None else None
            if inner is not None and name is not None:
                below = list(self._further(inner, name, seen))
                if below:
                    yield function, call, owner
                    yield from below

    def _guarded(self, helper: Helper) -> Edit:
        function = helper.function
        node = function.node
        if isinstance(node, ast.Lambda) or self.fault.divergence.present != (FIRST,):
            raise RefusedError("the function that is called writes on every rank")
        purity = Purity(function.module, node, self.knowledge)
        planner = Planner(purity, helper.operations, [], names_in(node, purity))
        body = guarded_body(function.module, node, planner, lambda: self._predicate(helper))
        return body.cut.spliced([body.with_body(body.written)], [])

    def _predicate(self, helper: Helper) -> str:
        """Return a test for rank 0 in terms of what a function has: the object whose collective it
        reaches, or an import of torch."""
        kind = self.fault.call.name.rpartition(".")[0]
        for name, record in self.knowledge.predicates.items():
            place, _, attribute = name.rpartition(".")
            if helper.owner is None or place != kind or record.kind != "attribute":
                continue
            if record.scope == "global" and record.meaning in ("first", "rank"):
                test = f"{helper.owner}.{attribute}"
                return test if record.meaning == "first" else f"{test} == 0"
        stores = Uses.of(helper.function.node).stores
        for local, symbol in helper.function.module.symbols.items():
            if isinstance(symbol, Import) and local not in stores:
                full = ".".join(part for part in (symbol.module, symbol.name) if part)
                if full == "torch.distributed" and local != "torch":
                    return f"{local}.get_rank() == 0"
        raise RefusedError("no test of the rank is known for the function that is called")


def _path(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else dotted(node)


def _owner_of(call: ast.AST) -> str | None:
    """Return the path of the object whose method is called."""
    func = call.func if isinstance(call, ast.Call) else None
    return _path(func.value) if isinstance(func, ast.Attribute) else None


def _parameters(function: Function) -> list[str]:
    arguments = function.node.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args)]


def _is_bound(function: Function, call: ast.Call) -> bool:
    """Say whether a call gives the first parameter by the object in front of the dot."""
    static = function.decorated_by("staticmethod")
    return (
        isinstance(function.owner, ClassDefinition)
        and not static
        and isinstance(call.func, ast.Attribute)
    )


def _given(function: Function, call: ast.Call) -> dict[str, str]:
    """Return the paths of what a call gives for the parameters of a function."""
    names = _parameters(function)
    found: dict[str, str] = {}
    if _is_bound(function, call) and names:
        assert isinstance(call.func, ast.Attribute)
        found[names.pop(0)] = _path(call.func.value) or ""
    pairs: list[tuple[str | None, ast.expr]] = list(zip(names, call.args, strict=False))
    pairs += [(keyword.arg, keyword.value) for keyword in call.keywords]
    for name, value in pairs:
        if name is not None and not isinstance(value, ast.Starred):
            found[name] = _path(value) or ""
    return found


def _outside(function: Function, call: ast.AST, owner: str | None) -> str | None:
    """Return the path that an object has where a function is called that has it by ``owner``."""
    if owner is None or not isinstance(call, ast.Call):
        return None
    root, dot, rest = owner.partition(".")
    given = _given(function, call)
    if root in given:
        return f"{given[root]}{dot}{rest}" if given[root] else None
    local = root in Uses.of(function.node).stores or root in _parameters(function)
    return None if local else owner  # a name from around both


def _inside(function: Function, call: ast.Call, owner: str) -> str | None:
    """Return the path by which a function that is called has an object."""
    for name, path in _given(function, call).items():
        if path and (owner == path or owner.startswith(f"{path}.")):
            return name + owner.removeprefix(path)
    return None


def _method(function: Function, func: ast.expr) -> Function | None:
    """Return the method of the same class that is called on ``self``."""
    names = _parameters(function)
    if function.owner is None or not names or not isinstance(func, ast.Attribute):
        return None
    if not isinstance(func.value, ast.Name) or func.value.id != names[0]:
        return None
    return function.owner.methods.get(func.attr)
