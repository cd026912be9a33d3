"""Whether ranks may part in a function in a way that matters, from its syntax alone.

They can only where a test of something that differs between ranks stands around a call that may
communicate, or around a way out. Most functions that mention the rank log, or write a file; those
are not worth executing.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from ckptlint.analysis.holders import Holders
from ckptlint.analysis.reach import Reach, Views
from ckptlint.knowledge import Knowledge
from ckptlint.project import (
    FunctionNode,
    Module,
    Project,
    every_statement,
    last_name,
    stored_names,
    walk,
)

_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom)
_ENCLOSES = (ast.If, ast.For, ast.While, ast.With, ast.Match, ast.Try)


class Partings:
    """Finds the functions of one project in which ranks may part."""

    def __init__(
        self,
        project: Project,
        views: Views,
        holders: Holders,
        acting: Reach,
        knowledge: Knowledge,
    ) -> None:
        self._lexicon = project.lexicon
        self._views = views
        self._holders = holders
        self._settings = knowledge.acting_settings
        self._exits = frozenset(name.rpartition(".")[2] for name in knowledge.exits)
        self._collecting = knowledge.collecting
        self._acting = acting

    def may_part(self, module: Module, node: FunctionNode) -> bool:
        """Say whether a test in a function may let ranks do different things that matter."""
        if any(self._differs(module, [each]) for each in node.decorator_list):
            return True
        statements = list(every_statement(node.body))
        held = self._held(module, statements)
        return any(
            self._acts(module, statement) or self._leaves(statement)
            for statement in statements
            if self._differs(module, _header(statement), held)
        )

    def calls_received(self, module: Module, node: FunctionNode | ast.Lambda) -> bool:
        """Say whether a function calls a parameter, which may be a wrapped module."""
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        received = {each.arg for each in every}
        return any(
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Name)
            and part.func.id in received
            for part in walk(node)
        )

    def _held(self, module: Module, statements: list[ast.stmt]) -> frozenset[str]:
        """Return the variables that receive anything computed from what differs."""
        held = frozenset(self._given(statements))
        while True:
            more = {
                name
                for statement in statements
                if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
                and self._differs(module, [statement], held)
                for name in stored_names(statement)
            }
            more |= {
                name
                for statement in statements
                if isinstance(statement, ast.If) and self._differs(module, [statement.test], held)
                for name in stored_names(statement)
            }
            if more <= held:
                return held
            held |= more

    def _given(self, statements: list[ast.stmt]) -> Iterator[str]:
        """Yield the names of what is given to a collective because ranks may have none of it."""
        for statement in statements:
            if not self._views.mentions(statement).any_of(self._collecting):
                continue
            for part in walk(statement):
                if isinstance(part, ast.Call) and last_name(part.func) in self._collecting:
                    yield from filter(None, map(last_name, part.args))

    def _differs(
        self, module: Module, nodes: list[ast.AST], held: frozenset[str] = frozenset()
    ) -> bool:
        return any(
            self._holders.mentioned(module, said)
            or not held.isdisjoint(said.names)
            or not held.isdisjoint(said.attributes)
            for said in map(self._views.mentions, nodes)
        )

    def _acts(self, module: Module, node: ast.AST) -> bool:
        said = self._views.mentions(node)
        if not self._settings.isdisjoint(said.strings):
            return True
        if self._acting.mentioned(module, node):
            return True
        return any(
            self._may_be_any(module, part.func) for part in walk(node) if isinstance(part, ast.Call)
        )

    def _may_be_any(self, module: Module, callee: ast.expr) -> bool:
        """Say whether a variable is called, which may hold a function or a wrapped module."""
        match callee:
            case ast.Name(name):
                return name not in module.symbols and not hasattr(builtins, name)
            case ast.Attribute(ast.Name("self"), name):
                return not self._lexicon.defining(name)
            case ast.Attribute():
                return False
        return True

    def _leaves(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            # A helper that tests the rank may end in an exception there.
            return any(map(self._lexicon.defining, _called(statement.value)))
        if not isinstance(statement, _ENCLOSES):
            return False
        return any(
            isinstance(part, _LEAVES)
            or (isinstance(part, ast.Call) and not self._exits.isdisjoint(_called(part)))
            for part in walk(statement)
        )


def _called(call: ast.Call) -> Iterator[str]:
    if isinstance(call.func, ast.Attribute):
        yield call.func.attr
    elif isinstance(call.func, ast.Name):
        yield call.func.id


def _header(statement: ast.stmt) -> list[ast.AST]:
    """Return what a statement evaluates itself, the statements inside it left out."""
    match statement:
        case ast.If() | ast.While():
            return [statement.test]
        case ast.For() | ast.AsyncFor():
            return [statement.iter]
        case ast.With() | ast.AsyncWith():
            return list(statement.items)
        case ast.Match():
            guards = [case.guard for case in statement.cases if case.guard is not None]
            return [statement.subject, *guards]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return list(statement.decorator_list)
        case ast.Try():
            return [handler.type for handler in statement.handlers if handler.type is not None]
    # What remains with statements inside it is a try of groups, which tests nothing.
    return [] if hasattr(statement, "body") else [statement]
