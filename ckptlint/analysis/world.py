"""What all rank classes share: the project, the knowledge, and which functions can matter.

A function matters when it may reach a collective and a rank predicate. That is decided from the
identifiers it mentions, before anything is executed: too many functions are let through, never
too few.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ckptlint.analysis.values import Keys
from ckptlint.knowledge import Knowledge
from ckptlint.project import Function, Module, Project, dotted

_RANK_SOURCES = frozenset({"environ", "getenv"})
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BINDS = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete)


@dataclass(frozen=True)
class Digest:
    """What a statement can do, from its syntax alone.

    ``dull`` statements only compute unknowns from unknowns: when every name in ``loads`` holds an
    unknown, executing one comes to giving each of ``stores`` a new unknown.
    """

    dull: bool
    loads: frozenset[str]
    stores: frozenset[str]


_EXECUTED = Digest(False, frozenset(), frozenset())


class World:
    """One project under analysis."""

    def __init__(
        self, project: Project, knowledge: Knowledge, modules: Iterable[Module]
    ) -> None:
        self.project = project
        self.knowledge = knowledge
        self.keys = Keys()
        self.modules = tuple(modules)
        self._identifiers: dict[ast.AST, frozenset[str]] = {}
        self._digests: dict[ast.stmt, Digest] = {}
        self._renamed: dict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            for name, other in module.renames():
                self._renamed[name].add(other)
        interesting = knowledge.interesting
        operations = knowledge.operations
        ranked = frozenset(knowledge.conventions) | _RANK_SOURCES | _last_names(
            knowledge.predicates, knowledge.guards
        ) | {name for _, name in knowledge.hooks}
        functions = [function for module in self.modules for function in module.functions]
        self._interesting_names = self._closed(functions, interesting | _RANK_SOURCES)
        self._acting_names = self._closed(functions, operations)
        self._ranked_names = self._closed(functions, ranked)
        self._giving_names = self._closed(functions, knowledge.givers)

    def _closed(self, functions: list[Function], seeds: frozenset[str]) -> frozenset[str]:
        """Add the names of functions that mention a seed, until nothing is added."""
        mentions: dict[str, list[Function]] = defaultdict(list)
        for function in functions:
            for name in self.identifiers(function.node):
                mentions[name].append(function)
        found = set(seeds)
        queue = list(seeds)
        while queue:
            current = queue.pop()
            for name in self._renamed.get(current, ()):
                if name not in found:
                    found.add(name)
                    queue.append(name)
            for function in mentions.get(current, ()):
                names = {function.name}
                if function.owner is not None and function.name in ("__init__", "__call__"):
                    names.add(function.owner.qualname.rpartition(".")[2])
                for name in names - found:
                    found.add(name)
                    queue.append(name)
        return frozenset(found)

    def identifiers(self, node: ast.AST) -> frozenset[str]:
        """Return every name and attribute that a piece of syntax mentions."""
        known = self._identifiers.get(node)
        if known is None:
            names: set[str] = set()
            for child in ast.walk(node):
                if isinstance(child, ast.Name):
                    names.add(child.id)
                elif isinstance(child, ast.Attribute):
                    names.add(child.attr)
            known = self._identifiers[node] = frozenset(names)
        return known

    def digest(self, statement: ast.stmt) -> Digest:
        """Summarise a statement once."""
        known = self._digests.get(statement)
        if known is None:
            known = self._digests[statement] = self._digest(statement)
        return known

    def _digest(self, statement: ast.stmt) -> Digest:
        names = self._interesting_names
        loads: set[str] = set()
        stores: set[str] = set()
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise) and not _only_refuses(statement, node):
                return _EXECUTED
            if isinstance(node, ast.Name):
                if node.id in names:
                    return _EXECUTED
                (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
            elif isinstance(node, ast.Attribute):
                if node.attr in names:
                    return _EXECUTED
                path = dotted(node)
                if path is not None:
                    (loads if isinstance(node.ctx, ast.Load) else stores).add(path)
            elif isinstance(node, (*_LEAVES, *_DEFINES, *_BINDS)):
                return _EXECUTED
        return Digest(True, frozenset(loads), frozenset(stores))

    def interesting(self, node: ast.AST) -> bool:
        """Say whether executing this may give anything but unknowns."""
        return not self._interesting_names.isdisjoint(self.identifiers(node))

    def acts(self, node: ast.AST) -> bool:
        """Say whether this may reach a collective."""
        return not self._acting_names.isdisjoint(self.identifiers(node))

    def matters(self, node: ast.AST, owner: ast.AST | None = None) -> bool:
        """Say whether a function may, by itself, reach a collective and depend on the rank.

        ``owner`` is the class of a method: what ``self`` holds comes from any of its methods.
        """
        names = self.identifiers(node)
        if self._acting_names.isdisjoint(names):
            return False
        around = names if owner is None else self.identifiers(owner)
        return not (
            self._ranked_names.isdisjoint(around) or self._giving_names.isdisjoint(around)
        )


def _only_refuses(statement: ast.stmt, node: ast.Raise) -> bool:
    """Say whether an exception only ends ``if`` blocks without ``else``: the usual check."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and any(
            child is node or (isinstance(child, ast.If) and _only_refuses(child, node))
            for child in statement.body
        )
    )


def _last_names(*tables: Iterable[str]) -> frozenset[str]:
    return frozenset(full.rpartition(".")[2] for table in tables for full in table)
