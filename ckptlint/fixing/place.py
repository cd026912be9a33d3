"""Where a fault stands: its statement, the neighbours, and what must be reached on every rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ckptlint.fault import Fault
from ckptlint.finding import Confidence, Edit
from ckptlint.fixing.effects import hook_writes
from ckptlint.fixing.helpers import Helpers
from ckptlint.fixing.needs import names_in
from ckptlint.fixing.planner import Planner
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.purity import Purity
from ckptlint.fixing.scopes import read_elsewhere, way_to
from ckptlint.knowledge import Knowledge
from ckptlint.project import FunctionNode


@dataclass(frozen=True)
class Place:
    """Where a fault stands: the statement, its neighbours, its function, and the calls in it that
    every rank must reach."""

    fault: Fault
    knowledge: Knowledge
    parent: ast.AST
    block: Sequence[ast.stmt]
    index: int
    scope: ast.AST
    operations: tuple[ast.AST, ...]
    purity: Purity

    @classmethod
    def of(cls, fault: Fault, knowledge: Knowledge, statement: ast.stmt) -> Place:
        """Find the surroundings of a statement. Raises RefusedError when the collectives are not
        in its file."""
        module = fault.place.module
        way = way_to(module.tree, statement)
        sites = [fault.divergence.place(reached) for reached in fault.divergence.operations]
        if way is None or any(site.module is not module for site in sites):
            raise RefusedError("the test and the collective stand in different files")
        scope = next(
            (parent for parent, _, _ in reversed(way) if isinstance(parent, FunctionNode)),
            module.tree,
        )
        parent, block, index = way[-1]
        operations = tuple({id(site.node): site.node for site in sites}.values())
        purity = Purity(module, scope, knowledge)
        return cls(fault, knowledge, parent, block, index, scope, operations, purity)

    @property
    def statement(self) -> ast.stmt:
        return self.block[self.index]

    def inside(self, scope: ast.AST) -> Place:
        """Return the place seen from inside a function."""
        purity = Purity(self.purity.module, scope, self.knowledge)
        return replace(self, scope=scope, purity=purity)

    def planner(self, guard: Sequence[ast.expr]) -> Planner:
        """Return a planner for this place, where these tests are the rank's."""
        taken = names_in(self.scope, self.purity)
        return Planner(self.purity, self.operations, guard, taken, self._spread())

    def _spread(self) -> frozenset[str]:
        """Return the names of what the collectives bring to every rank from the one that has it."""
        found: set[str] = set()
        for reached in self.fault.divergence.operations:
            call = reached.operation.site.node
            for position in reached.operation.call.clears:
                if isinstance(call, ast.Call) and position < len(call.args):
                    found.add(getattr(call.args[position], "id", ""))
        return frozenset(found - {""})

    def doubts(self, planner: Planner, region: Sequence[ast.stmt]) -> list[str]:
        """Return why a rewrite should be read before it is applied. Raises RefusedError when it
        must not be made."""
        fault = self.fault
        found = [*planner.doubts, *planner.passed_on.values()]
        if fault.confidence is Confidence.POSSIBLE:
            found.append("the finding itself is not certain")
        if fault.call.effect == "save" and not fault.call.guards_writes:
            found.append(f"{fault.operation} may not choose its writers itself")
        for name in sorted(read_elsewhere(planner.bound, self.scope, region)):
            found.append(f"every rank now has its own `{name}`")
        found += self._others()
        return list(dict.fromkeys(found))

    def _others(self) -> Iterator[str]:
        """Name what else comes to run on every rank."""
        for helper, verdict in self.helpers.all:
            name = helper.function.name
            if verdict is None:
                yield f"all of `{name}` now runs on every rank"
            elif not verdict:
                yield f"`{name}` now runs on every rank, its own effects on rank 0 only"
        hook = hook_writes(self.fault.place.module, self.knowledge)
        if hook is not None and self.fault.call.framework == "accelerate":
            yield f"the save hook `{hook}` runs on every rank, and writes there"

    @cached_property
    def helpers(self) -> Helpers:
        """The functions on the way to the collectives."""
        return Helpers(self.fault, self.knowledge)

    def further_edits(self) -> tuple[Edit, ...]:
        """Return the edits that guard what the helpers on the way write. Raises RefusedError."""
        return self.helpers.edits()
