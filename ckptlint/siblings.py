"""A neighbour that does otherwise: the same call, made on every rank, one function or file further.

Repairs are partial. One of several call sites is mended, or one of several scripts that were copied
from each other, so what a neighbour does with the same callee tells what was meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ckptlint.analysis.world import World
from ckptlint.fault import Fault
from ckptlint.finding import Confidence, Finding
from ckptlint.project import Function, FunctionNode, Module, last_name, walk

_LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Raise)
# What a script calls anywhere, for one reason or another.
_COMMON = frozenset(("barrier", "collective", "setup"))


class Siblings:
    """Finds neighbours in one project."""

    def __init__(self, world: World) -> None:
        self._world = world

    def told(self, fault: Fault, finding: Finding) -> Finding:
        """Say in a finding where a neighbour makes the same call on every rank."""
        if finding.confidence is Confidence.POSSIBLE or fault.divergence.kind == "divergent":
            return finding
        call = fault.place.node
        if not isinstance(call, ast.Call) or not (fault.indirect or _is_special(fault, call)):
            return finding
        sibling = next(self._free(fault.place.module, fault.function, call), None)
        if sibling is None:
            return finding
        # No line, which would move; and no place of the fault: a comment there silences nothing.
        path = sibling.module.source.display
        where = path.rpartition("/")[2] if path != finding.span.path else f"{sibling.qualname}()"
        return replace(finding, message=f"{finding.message}; {where} calls it on every rank")

    def _free(self, module: Module, function: str, call: ast.Call) -> Iterator[Function]:
        """Yield the functions of the same name that make a call of the same name on every rank."""
        name, own = last_name(call), function.rpartition(".")[2]
        folder = module.source.path.parent
        near = [
            source
            for source in self._world.project.lexicon.mentioning({name})
            if source.path.parent == folder and source is not module.source
        ]
        for source in (module.source, *near):
            neighbour = self._world.project.parsed(source)
            for each in neighbour.functions if neighbour is not None else ():
                if each.name == own and (neighbour is not module or each.qualname != function):
                    yield from self._in(each, name, type(call.func))

    def _in(self, function: Function, name: str, form: type[ast.expr]) -> Iterator[Function]:
        for node in walk(function.node):
            if not (isinstance(node, ast.Call) and isinstance(node.func, form)):
                continue
            if last_name(node) == name and self._is_free(function, node):
                yield function

    def _is_free(self, function: Function, call: ast.Call) -> bool:
        """Say whether no test of the rank stands around a call, or takes ranks past it."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return False
        if any(self._world.tests(function.module, each) for each in node.decorator_list):
            return False
        return self._reached(function.module, node.body, call)

    def _reached(self, module: Module, body: list[ast.stmt], call: ast.Call) -> bool:
        def tests(node: ast.AST) -> bool:
            return self._world.tests(module, node)

        for statement in body:
            within = any(node is call for node in walk(statement))
            blocks = _blocks(statement)
            if not within:
                leaves = any(isinstance(node, _LEAVES) for node in walk(statement))
                if blocks and leaves and tests(statement):
                    return False
                continue
            inner = next((b for b in blocks if any(n is call for s in b for n in walk(s))), None)
            if inner is None:
                return not tests(statement) or not blocks
            if isinstance(statement, FunctionNode | ast.ClassDef) or any(
                tests(header) for header in _headers(statement)
            ):
                return False
            return self._reached(module, inner, call)
        return False


def _is_special(fault: Fault, call: ast.Call) -> bool:
    """Say whether a collective is a method that is called for one purpose only."""
    return isinstance(call.func, ast.Attribute) and fault.call.effect not in _COMMON


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(statement, "handlers", ())]
    blocks += [case.body for case in getattr(statement, "cases", ())]
    return [block for block in blocks if block]


def _headers(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield what decides whether, and how, the blocks of a statement run."""
    match statement:
        case ast.If() | ast.While():
            yield statement.test
        case ast.For() | ast.AsyncFor():
            yield statement.iter
        case ast.With() | ast.AsyncWith():
            yield from statement.items
        case ast.Match():
            yield statement.subject
