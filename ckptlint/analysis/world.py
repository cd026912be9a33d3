"""What all rank classes share: the project, the knowledge, and which functions can matter.

A function matters when it may reach a collective and a rank predicate. That is decided from the
identifiers it mentions, before anything is executed: too many functions are let through, never
too few.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.reach import Mentions, Reach, View
from ckptlint.knowledge import Knowledge
from ckptlint.project import ClassDefinition, Module, Project, dotted

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
    """One project under analysis.

    With ``failures``, an exception under a rank test is a way out of the function like any other,
    instead of a path that is none.
    """

    def __init__(
        self,
        project: Project,
        knowledge: Knowledge,
        modules: Iterable[Module],
        failures: bool = False,
    ) -> None:
        self.failures = failures
        self.project = project
        self.knowledge = knowledge
        self.keys = Keys()
        self.modules = tuple(modules)
        self._mentions: dict[ast.AST, Mentions] = {}
        self._digests: dict[ast.stmt, Digest] = {}
        self._holding: dict[ClassDefinition, frozenset[str]] = {}
        self._exits = _last_names(knowledge.exits)
        ranked = frozenset(knowledge.conventions) | _RANK_SOURCES
        ranked |= _last_names(knowledge.predicates, knowledge.guards)
        ranked |= {name for _, name in knowledge.hooks}
        # What is unlikely to differ is noticed where it is met; it is no reason to look further.
        ranked |= _last_names(name for name, each in knowledge.divergent.items() if each.likely)
        views = {module: View(module) for module in self.modules}
        mentions = {
            function: self.mentions(function.node)
            for module in self.modules
            for function in module.functions
        }
        self._telling = Reach(views, mentions, knowledge.interesting | _RANK_SOURCES)
        self._giving = Reach(views, mentions, knowledge.givers)
        self._ranked = Reach(views, mentions, ranked)

    def mentions(self, node: ast.AST) -> Mentions:
        """Return the identifiers of a piece of syntax."""
        known = self._mentions.get(node)
        if known is None:
            known = self._mentions[node] = Mentions(node)
        return known

    def digest(self, module: Module, statement: ast.stmt) -> Digest:
        """Summarise a statement once."""
        known = self._digests.get(statement)
        if known is None:
            known = self._digests[statement] = self._digest(module, statement)
        return known

    def _digest(self, module: Module, statement: ast.stmt) -> Digest:
        names = self._telling.names(module) | self._ranked.names(module)
        loads: set[str] = set()
        stores: set[str] = set()
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise) and (
                self.failures or not _only_refuses(statement, node)
            ):
                return _EXECUTED
            if isinstance(node, ast.Call) and self._ends(node.func):
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

    def _ends(self, callee: ast.expr) -> bool:
        """Say whether a call may be one that never returns."""
        name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
        return name in self._exits

    def interesting(self, module: Module, node: ast.AST) -> bool:
        """Say whether executing this may give anything but unknowns."""
        return self._mentioned(self._telling, module, node)

    def differs(self, module: Module, node: ast.AST) -> bool:
        """Say whether what this gives may depend on the rank, or differ without it."""
        return self._mentioned(self._ranked, module, node)

    def holding(self, definition: ClassDefinition) -> frozenset[str]:
        """Return the attributes into which a class's own statements may put something known."""
        known = self._holding.get(definition)
        if known is None:
            known = self._holding[definition] = frozenset(
                child.attr
                for node in ast.walk(definition.node)
                if isinstance(node, ast.Assign | ast.AnnAssign)
                and self.interesting(definition.module, node)
                for child in ast.walk(node)
                if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store)
            )
        return known

    def mentioned(self, names: Iterable[str]) -> bool:
        """Say whether any module calls one of these functions, going by their last names."""
        wanted = _last_names(names)
        return any(
            not wanted.isdisjoint(said.names | said.attributes)
            for said in (self.mentions(module.tree) for module in self.modules)
        )

    def gives(self, module: Module, node: ast.AST) -> bool:
        """Say whether something that communicates may enter here.

        A collective is found only on a resolved owner, so what does not mention one, nor calls
        what does, cannot reach any by itself.
        """
        return self._mentioned(self._giving, module, node)

    def matters(self, module: Module, node: ast.AST, owner: ast.AST | None = None) -> bool:
        """Say whether a function may, by itself, reach a collective and depend on the rank.

        ``owner`` is the class of a method: what ``self`` holds comes from any of its methods.
        """
        around = node if owner is None else owner
        return self.gives(module, around) and self._mentioned(self._ranked, module, around)

    def _mentioned(self, reach: Reach, module: Module, node: ast.AST) -> bool:
        names = reach.names(module)
        said = self.mentions(node)
        return not (names.isdisjoint(said.names) and names.isdisjoint(said.attributes))


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
