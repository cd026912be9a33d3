"""Taking a collective out of a rank test, and leaving under it what belongs there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from ckptlint.analysis.values import Site
from ckptlint.fault import Fault, spelled
from ckptlint.finding import Confidence, Edit
from ckptlint.fixing.conditions import comments_of, operands, opposite, part_of, rank_parts
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.effects import hook_writes, may_run_everywhere
from ckptlint.fixing.helpers import guarded_helper
from ckptlint.fixing.needs import names_in
from ckptlint.fixing.plan import Guarded, Kept, Plan, guarded_in
from ckptlint.fixing.planner import Planner
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.purity import Purity
from ckptlint.fixing.render import Renderer, Written
from ckptlint.fixing.scopes import Uses, contains, leaves, read_elsewhere, touch, way_to
from ckptlint.knowledge import Knowledge
from ckptlint.project import Function, FunctionNode


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
        return Planner(self.purity, self.operations, guard, names_in(self.scope, self.purity))

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
        for function, _, verdict in self._helpers():
            if verdict is None:
                yield f"all of `{function.name}` now runs on every rank"
            elif not verdict:
                yield f"`{function.name}` now runs on every rank, its own effects on rank 0 only"
        hook = hook_writes(self.fault.place.module, self.knowledge)
        if hook is not None and self.fault.call.framework == "accelerate":
            yield f"the save hook `{hook}` runs on every rank, and writes there"

    def _helpers(self) -> Iterator[tuple[Function, list[ast.AST], bool | None]]:
        """Yield the functions on the way to the collectives, what every rank must reach in each,
        and whether the rest of it may run on every rank."""
        depth = self.fault.divergence.inner_depth
        for reached in self.fault.divergence.operations:
            calls = [scope.site.node for scope in reached.chain[depth + 1 :]]
            calls.append(reached.operation.site.node)
            for scope, call in zip(reached.chain[depth:], calls, strict=False):
                verdict = may_run_everywhere(scope.function, [call], self.knowledge)
                yield scope.function, [call], verdict

    def further_edits(self) -> tuple[Edit, ...]:
        """Return the edits that guard what the helpers on the way write. Raises RefusedError."""
        wanted: dict[int, tuple[Function, list[ast.AST]]] = {}
        for function, calls, verdict in self._helpers():
            if verdict is False:
                wanted.setdefault(id(function.node), (function, []))[1].extend(calls)
        return tuple(
            guarded_helper(self.fault, function, calls, self.knowledge)
            for function, calls in wanted.values()
        )


def guarded_if(site: Site) -> ast.If:
    """Return the ``if`` statement whose test this is. Raises RefusedError."""
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.If) and node.test is site.node:
            column = site.module.source.lines[node.lineno - 1].encode()[node.col_offset :]
            if column.startswith(b"elif"):
                raise RefusedError("the test is one of a chain")
            return node
    raise RefusedError("the test is not that of an if statement")


def split_guard(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield rewrites of a rank test around a collective, the likeliest first."""
    try:
        statement = guarded_if(fault.divergence.test.site)
        place = Place.of(fault, knowledge, statement)
        cut = Cut.of(fault.place.module.source, [statement])
    except RefusedError:
        return
    for ranked in rank_parts(statement.test, place.purity):
        try:
            yield _Split(place, statement, cut, ranked).proposal()
        except (RefusedError, cst.CSTValidationError):
            continue


class _Split:
    """One way to rewrite one guard: ``ranked`` are the operands that the rank decides."""

    def __init__(self, place: Place, statement: ast.If, cut: Cut, ranked: frozenset[int]) -> None:
        self.place = place
        self.statement = statement
        self.cut = cut
        self.ranked = ranked
        self.written = cst.ensure_type(cut.statements[0], cst.If)
        parts = operands(statement.test)
        self.planner = place.planner([parts[index] for index in sorted(ranked)])
        self.in_body = contains(ast.Module(statement.body, []), place.operations)

    def proposal(self) -> Proposal:
        """Make the rewrite. Raises RefusedError."""
        self._check_test()
        inner = self.statement.body if self.in_body else self.statement.orelse
        if not all(contains(ast.Module(inner, []), [op]) for op in self.place.operations):
            raise RefusedError("the collectives do not stand in one arm of the test")
        plan = self.planner.plan(inner)
        groups = guarded_in(plan)
        others = self.statement.orelse if self.in_body else self.statement.body
        others = [s for s in others if not isinstance(s, ast.Pass)]
        self._check_groups(groups, others)
        result = self._written(plan, others)
        dropped = comments_of(self.written.test, self.ranked)
        edit = self.cut.spliced(result.statements, result.rest, dropped)
        doubts = self.place.doubts(self.planner, [self.statement])
        operation = spelled(self.place.fault.place)
        kept = "; keep the rest under the test" if groups or others else ""
        edits = (edit, *self.place.further_edits())
        return told(f"call {operation} on every rank{kept}", doubts, edits)

    # -- is it right? --------------------------------------------------------------------------

    def _check_test(self) -> None:
        test, purity = self.statement.test, self.place.purity
        if Uses.of(test).stores or contains(test, self.place.operations):
            raise RefusedError("the test binds a name or holds the collective")
        parts = operands(test)
        for index, part in enumerate(parts):
            if index in self.ranked:
                if not purity.repeatable(part):
                    raise RefusedError("the rank test may have effects")
                continue
            if index > min(self.ranked) and not purity.pure(part):
                raise RefusedError("the rest of the condition may have effects")
            doubt = purity.doubtful(part)
            if doubt is not None:
                self.planner.doubts.append(doubt)

    def _check_groups(self, groups: Sequence[Guarded], others: Sequence[ast.stmt]) -> None:
        everything = Uses.of(*self.statement.body, *self.statement.orelse)
        if groups and touch(Uses.of(*self.planner.guard).loads, everything.written):
            raise RefusedError("the guarded statements change the rank test")
        if not others:
            return
        uses = Uses.of(*others)
        if len(self.ranked) != len(operands(self.statement.test)):
            raise RefusedError("the other arm belongs to a condition of two parts")
        if self.place.fault.divergence.others or leaves(others):
            raise RefusedError("the other arm leaves or communicates")
        if touch(self.planner.bound, uses.loads | uses.written) or touch(
            self.planner.needed, uses.written
        ):
            raise RefusedError("the other arm shares names with the collective")

    # -- the text ------------------------------------------------------------------------------

    def _written(self, plan: Plan, others: Sequence[ast.stmt]) -> Written:
        node = self.written
        uniform = set(range(len(operands(self.statement.test)))) - self.ranked
        if uniform and self._only_condition(plan):
            return Written([_tested(node, part_of(node.test, uniform))], [])
        guard = part_of(node.test, self.ranked)
        body = node.body
        if not self.in_body:
            guard = opposite(guard)
            assert isinstance(node.orelse, cst.Else)
            body = node.orelse.body
        indent = node.body.indent if isinstance(node.body, cst.IndentedBlock) else None
        renderer = Renderer(self.cut, guard, indent)
        inner = self.statement.body if self.in_body else self.statement.orelse
        renderer.pair_block(inner, body)
        result = renderer.write(plan)
        if uniform:
            block = cst.IndentedBlock(body=result.statements, indent=indent, footer=result.rest)
            result = Written([_tested(node, part_of(node.test, uniform), block)], [])
        if others:
            self._attach(result, others)
        return self._with_header(result)

    def _only_condition(self, plan: Plan) -> bool:
        """Say whether every statement of the body stays as it is."""
        body = [item.statement for item in plan if isinstance(item, Kept)]
        return self.in_body and not self.statement.orelse and body == list(self.statement.body)

    def _attach(self, result: Written, others: Sequence[ast.stmt]) -> None:
        """Give the other arm its place: in front, where its ranks came by first."""
        node = self.written
        if not self.in_body:
            bare = node.with_changes(orelse=None, leading_lines=[])
            result.statements.insert(0, bare)
            return
        assert isinstance(node.orelse, cst.Else)
        for index, statement in enumerate(result.statements):
            if isinstance(statement, cst.If) and statement.test.deep_equals(node.test):
                result.statements[index] = statement.with_changes(
                    orelse=node.orelse.with_changes(leading_lines=[])
                )
                return
        arm = cst.If(test=opposite(node.test).deep_clone(), body=node.orelse.body, leading_lines=[])
        result.statements.append(arm)

    def _with_header(self, result: Written) -> Written:
        """Keep the comment behind the old test: behind a new one, or on a line of its own."""
        header = _header(self.written.body)
        if header is None or header.comment is None or not result.statements:
            return result
        code = cst.Module([]).code_for_node
        if any(code(header).strip() in code(statement) for statement in result.statements):
            return result
        for index, statement in enumerate(result.statements):
            if isinstance(statement, cst.If) and isinstance(statement.body, cst.IndentedBlock):
                body = statement.body.with_changes(header=header)
                result.statements[index] = statement.with_changes(body=body)
                return result
        line = cst.EmptyLine(comment=header.comment)
        first = result.statements[0]
        above = [*getattr(first, "leading_lines", ()), line]
        result.statements[0] = first.with_changes(leading_lines=above)
        return result


def _header(body: cst.BaseSuite) -> cst.TrailingWhitespace | None:
    return body.header if isinstance(body, cst.IndentedBlock) else None


def _tested(node: cst.If, test: cst.BaseExpression, body: cst.BaseSuite | None = None) -> cst.If:
    """Return the statement with another test, and another body if one is given."""
    before = node.whitespace_before_test
    if not test.lpar and not before.value:
        before = cst.SimpleWhitespace(" ")
    if body is not None and isinstance(node.body, cst.IndentedBlock):
        body = body.with_changes(header=node.body.header)
    return node.with_changes(
        test=test, body=body or node.body, whitespace_before_test=before, orelse=None
    )
