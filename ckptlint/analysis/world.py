"""What all rank classes share: the project, the knowledge, and which functions can matter.

A function matters when it may reach a collective and a rank predicate. That is decided from the
identifiers it mentions, before anything is executed: too many functions are let through, never
too few.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

from ckptlint.analysis.values import Keys
from ckptlint.knowledge import Knowledge
from ckptlint.project import Function, Module, Project

_RANK_SOURCES = frozenset({"environ", "getenv"})


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
        interesting = knowledge.interesting
        operations = knowledge.operations
        ranked = frozenset(knowledge.conventions) | _RANK_SOURCES | _last_names(
            knowledge.predicates, knowledge.guards
        ) | {name for _, name in knowledge.hooks}
        functions = [function for module in self.modules for function in module.functions]
        self._interesting_names = self._closed(functions, interesting | _RANK_SOURCES)
        self._acting_names = self._closed(functions, operations)
        self._ranked_names = self._closed(functions, ranked)

    def _closed(self, functions: list[Function], seeds: frozenset[str]) -> frozenset[str]:
        """Add the names of functions that mention a seed, until nothing is added."""
        mentions: dict[str, list[Function]] = defaultdict(list)
        for function in functions:
            for name in self.identifiers(function.node):
                mentions[name].append(function)
        found = set(seeds)
        queue = list(seeds)
        while queue:
            for function in mentions.get(queue.pop(), ()):
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

    def interesting(self, node: ast.AST) -> bool:
        """Say whether executing this may give anything but unknowns."""
        return not self._interesting_names.isdisjoint(self.identifiers(node))

    def acts(self, node: ast.AST) -> bool:
        """Say whether this may reach a collective."""
        return not self._acting_names.isdisjoint(self.identifiers(node))

    def matters(self, node: ast.AST) -> bool:
        """Say whether this may reach a collective and depend on the rank."""
        names = self.identifiers(node)
        return not (
            self._acting_names.isdisjoint(names) or self._ranked_names.isdisjoint(names)
        )


def _last_names(*tables: Iterable[str]) -> frozenset[str]:
    return frozenset(full.rpartition(".")[2] for table in tables for full in table)
