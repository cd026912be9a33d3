"""What the statements need that come to run on every rank, and why a reader should look twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ckptlint.fixing.effects import writes
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.purity import Purity
from ckptlint.fixing.scopes import Uses, contains, path_of

RUNTIME = "ckptlint_runtime"
# Names that conventionally hold a number or a text, which nobody can change in place.
_PLAIN_VALUE = re.compile(
    r"(?i)(path|dir|directory|folder|file|filename|name|tag|step|epoch|steps)$"
)


@dataclass
class Needs:
    """What is known of the collectives of one guarded block.

    ``operations`` are the calls that every rank must reach, as they stand in this function.
    ``needed`` holds the paths that those read; ``bound`` the names that every rank binds
    afterwards; ``doubts`` why the result has to be read before it is applied; ``passed_on`` the
    same for objects that others are given; ``instead`` holds what is written in place of some
    expressions, and with ``shares`` a value that rank 0 alone can make is shared with all;
    ``taken`` the names in use. ``guard`` are the parts of
    the test that the rank decides; ``spread`` are objects whose content the collective brings to
    every rank from the one that has it; ``own`` objects that each rank has for itself, to be
    changed.
    """

    purity: Purity
    operations: Sequence[ast.AST]
    guard: Sequence[ast.expr]
    taken: set[str]
    spread: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    needed: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)
    passed_on: dict[str, str] = field(default_factory=dict)
    instead: dict[ast.expr, str] = field(default_factory=dict)
    shares: bool = False

    @cached_property
    def _arguments(self) -> set[str]:
        """Names of objects that are handed to the collectives as they are."""
        return {
            node.id
            for call in self.operations
            if isinstance(call, ast.Call)
            for node in (*call.args, *(keyword.value for keyword in call.keywords))
            if isinstance(node, ast.Name) and not _PLAIN_VALUE.search(node.id)
        }

    def check_arguments(self, *nodes: ast.AST) -> None:
        """Doubt the rewrite when the arguments of a collective are made by calls that may have
        effects: every rank makes those calls now. Raises RefusedError when they give each rank
        a value of its own."""
        for operation in self.operations:
            if operation in self.instead:
                continue
            if isinstance(operation, ast.Call) and any(contains(n, [operation]) for n in nodes):
                for part in (*operation.args, *operation.keywords):
                    if self.purity.differs(part):
                        raise RefusedError("each rank would give the collective its own value")
                    for call in ast.walk(part):
                        if (
                            isinstance(call, ast.Call)
                            and not any(call is each for each in self.operations)
                            and not self.purity.pure_call(call)
                        ):
                            name = ast.unparse(call.func)
                            self.doubts.append(f"`{name}` is called on every rank")

    def free(self, statement: ast.stmt) -> bool:
        """Say whether a statement only computes values without any effect."""
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return True
        if isinstance(statement, ast.Assign):
            return _plain_targets(statement) and self.purity.pure(statement.value)
        if isinstance(statement, ast.AugAssign):
            return isinstance(statement.target, ast.Name) and self.purity.pure(statement.value)
        if isinstance(statement, ast.AnnAssign):
            return isinstance(statement.target, ast.Name) and (
                statement.value is not None and self.purity.pure(statement.value)
            )
        if isinstance(statement, ast.If):
            return (
                self.purity.pure(statement.test)
                and not self.purity.ranked(statement.test)
                and all(map(self.free, [*statement.body, *statement.orelse]))
            )
        return False

    def share(self, statement: ast.stmt) -> None:
        """Let rank 0 make a value and all ranks have it. Raises RefusedError."""
        if not isinstance(statement, ast.Assign) or not _plain_targets(statement):
            raise RefusedError("the collective needs a value that only some ranks have")
        text = self.purity.module.source.text
        value = statement.value
        if any(isinstance(node, ast.Await | ast.NamedExpr) for node in ast.walk(value)):
            raise RefusedError("the collective needs a value that only some ranks have")
        if isinstance(value, ast.Call) and not any(
            isinstance(each, ast.Starred) or not self.purity.pure(each)
            for each in (*value.args, *value.keywords)
        ):
            parts = [value.func, *value.args, *value.keywords]
            given = ", ".join(ast.get_source_segment(text, part) or "" for part in parts)
        else:
            given = f"lambda: {ast.get_source_segment(text, value)}"
        self.instead[value] = f"{RUNTIME}.run_on_rank_zero({given})"

    def check_made(self, statement: ast.stmt) -> None:
        """Doubt the rewrite when what makes a value that the collective needs may have effects or
        give each rank its own. Raises RefusedError when it is known to."""
        if not isinstance(statement, ast.Assign) or not _plain_targets(statement):
            raise RefusedError("the collective needs a value that only some ranks have")
        if isinstance(statement.value, ast.Await) or not self.purity.pure(
            statement.value, (n for n in ast.walk(statement.value) if isinstance(n, ast.Call))
        ):
            raise RefusedError("the collective needs a value that only some ranks have")
        for call in ast.walk(statement.value):
            if isinstance(call, ast.Call) and not self.purity.pure_call(call):
                if writes(call, self.purity) or self.purity.communicates(call):
                    raise RefusedError("the collective needs what a call with effects gives")
                name = ast.unparse(call.func)
                if name in self.purity.bound - self.purity.module.symbols.keys():
                    raise RefusedError("the collective needs what an unknown call gives")
                self.doubts.append(f"`{name}` is called on every rank and must give the same")

    def changes(self, uses: Uses) -> frozenset[str]:
        """Return the objects that code changes; ``os.remove`` does not change ``os``."""
        imported = self.purity.imported
        return frozenset(p for p in uses.changes if p.partition(".")[0] not in imported)

    def own_targets(self, statement: ast.Assign | ast.AnnAssign) -> bool:
        """Say whether only local names, and items of a rank's own objects, are assigned."""
        return all(
            isinstance(target, ast.Name)
            or (
                isinstance(target, ast.Subscript)
                and path_of(target) in self.own
                and self.purity.pure(target)
            )
            for target in _targets(statement)
        )

    def local(self, statement: ast.stmt) -> bool:
        """Say whether a statement does nothing that another rank could notice."""
        if isinstance(statement, ast.Assign) and self.own_targets(statement):
            return self.purity.pure(statement.value)
        return self.free(statement)

    def give_away(self, statement: ast.stmt) -> None:
        """Doubt the rewrite when an object that the collective reads is given to a stranger."""
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call) or self.purity.harmless(node):
                continue
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                name = getattr(argument, "id", "")
                if name in self._arguments:
                    self.passed_on[name] = f"`{ast.unparse(node.func)}` may change `{name}`"


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    """Return the single targets of an assignment."""
    if isinstance(statement, ast.AnnAssign):
        return [statement.target]
    return [
        name
        for target in statement.targets
        for name in (target.elts if isinstance(target, ast.Tuple | ast.List) else [target])
    ]


def _plain_targets(statement: ast.Assign) -> bool:
    return all(isinstance(target, ast.Name) for target in _targets(statement))


def names_in(scope: ast.AST, purity: Purity) -> set[str]:
    """Return the names that are in use in a function and around it."""
    named = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name)}
    return named | purity.bound | purity.imported.keys()
