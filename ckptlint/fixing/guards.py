"""Taking a collective out of a rank test, and leaving under it what belongs there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from ckptlint.fault import Fault, spelled
from ckptlint.finding import Edit
from ckptlint.fixing.aliases import spelled_out, unused
from ckptlint.fixing.conditions import comments_of, operands, opposite, part_of, rank_parts
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.lines import Written
from ckptlint.fixing.place import Place
from ckptlint.fixing.plan import Guarded, Kept, Plan, Pulled, guarded_in
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.render import Renderer
from ckptlint.fixing.scopes import Uses, contains, leaves, touch
from ckptlint.fixing.shapes import Shape, guard_at, statement_at
from ckptlint.knowledge import Knowledge


def split_guard(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield rewrites of a rank test around a collective, the likeliest first."""
    site = fault.divergence.test.site
    try:
        statement = statement_at(site)
        place = Place.of(fault, knowledge, statement)
        shape = guard_at(site, statement)
        found = splits(place, shape) if shape is not None else iter([taken_out(place, site.node)])
    except (RefusedError, cst.CSTValidationError):
        return
    operation = spelled(fault.place)
    for plan in found:
        kept = "; keep the rest under the test" if plan.parted else ""
        yield told(f"call {operation} on every rank{kept}", plan.doubts, plan.edits)


@dataclass(frozen=True)
class Rewrite:
    """One way to rewrite a guard; ``parted`` says that something stays under the test, ``shared``
    that a value is made on rank 0 for all."""

    edits: tuple[Edit, ...]
    doubts: list[str]
    parted: bool
    shared: bool = False


@dataclass(frozen=True)
class Ways:
    """What a rewrite may do: let a plain ``return`` lead every rank to the same place, write
    something ``instead`` of some expressions, make a value on rank 0 and share it."""

    may_return: bool = False
    instead: Mapping[ast.expr, str] = field(default_factory=dict)
    shares: bool = False


def splits(place: Place, shape: Shape, ways: Ways = Ways()) -> Iterator[Rewrite]:
    """Yield the ways to take the collectives of a place out of a guard."""
    in_body = contains(ast.Module(shape.node.body, []), place.operations)
    longer = spelled_out(shape, place.block, place.index, place.purity)
    for each in (shape, longer) if longer is not None else (shape,):
        try:
            plain = each.plain(in_body)
        except RefusedError:
            continue
        for ranked in rank_parts(plain.node.test, place.purity):
            try:
                yield _Split(place, plain, ranked, ways).rewrite()
            except (RefusedError, cst.CSTValidationError):
                continue


def taken_out(place: Place, test: ast.AST) -> Rewrite:
    """Make collectives in front of a statement whose expression asks for the rank.

    Raises RefusedError.
    """
    statement = place.statement
    root = statement.test if isinstance(statement, ast.If) else getattr(statement, "value", None)
    if root is None or not isinstance(test, ast.expr) or not place.purity.repeatable(test):
        raise RefusedError("the collective cannot be taken out of its statement")
    cut = Cut.of(place.purity.module.source, [statement])
    planner = place.planner([test])
    planner.check_arguments(statement)
    plan = (*planner.pull(statement, root), Kept(statement))
    renderer = Renderer(cut, cst.Name("None"), None)
    renderer.pair([statement], cut.statements)
    result = renderer.write(plan)
    edit = cut.spliced(result.statements, result.rest)
    edits = (edit, *place.further_edits())
    return Rewrite(edits, place.doubts(planner, [statement]), True)


class _Split:
    """One way to rewrite one guard: ``ranked`` are the operands that the rank decides."""

    def __init__(self, place: Place, shape: Shape, ranked: frozenset[int], ways: Ways) -> None:
        self.place = place
        self.shape = shape
        self.node = shape.node
        self.written = shape.written
        self.ranked = ranked
        parts = operands(self.node.test)
        self.uniform = set(range(len(parts))) - ranked
        self.planner = place.planner([parts[index] for index in sorted(ranked)])
        self.planner.may_return = ways.may_return
        self.planner.instead = dict(ways.instead)
        self.planner.shares = ways.shares
        self.given = len(ways.instead)
        self.in_body = contains(ast.Module(self.node.body, []), place.operations)

    def rewrite(self) -> Rewrite:
        """Make the rewrite. Raises RefusedError."""
        self._check_test()
        inner = self.node.body if self.in_body else self.node.orelse
        if not all(contains(ast.Module(inner, []), [op]) for op in self.place.operations):
            raise RefusedError("the collectives do not stand in one arm of the test")
        plan = self.planner.plan(inner)
        groups = guarded_in(plan)
        others = self.node.orelse if self.in_body else self.node.body
        others = [s for s in others if not isinstance(s, ast.Pass)]
        self._check_groups(groups, others)
        result = self.shape.put_back(self._result(plan, others))
        dropped = comments_of(self.written.test, self.ranked)
        edit = self.shape.cut.spliced(result.statements, result.rest, dropped)
        doubts = self.place.doubts(self.planner, self.shape.region)
        useless = unused(self.shape, self.place.scope, self.place.purity)
        edits = (edit, *useless, *self.place.further_edits())
        shared = len(self.planner.instead) > self.given
        return Rewrite(edits, doubts, bool(groups or others), shared)

    # -- is it right? --------------------------------------------------------------------------

    def _check_test(self) -> None:
        test, purity = self.node.test, self.place.purity
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
        everything = Uses.of(*self.node.body, *self.node.orelse)
        if groups and touch(Uses.of(*self.planner.guard).loads, everything.written):
            raise RefusedError("the guarded statements change the rank test")
        if not others:
            return
        uses = Uses.of(*others)
        if self.uniform:
            purity = self.place.purity
            if not all(map(purity.repeatable, operands(self.node.test))):
                raise RefusedError("the condition cannot be asked twice")
            if touch(Uses.of(self.node.test).loads, everything.written):
                raise RefusedError("the arms change the condition")
        if self.place.fault.divergence.others or leaves(others):
            raise RefusedError("the other arm leaves or communicates")
        if touch(self.planner.bound, uses.loads | uses.written) or touch(
            self.planner.needed, uses.written
        ):
            raise RefusedError("the other arm shares names with the collective")

    # -- the text ------------------------------------------------------------------------------

    def _result(self, plan: Plan, others: Sequence[ast.stmt]) -> Written:
        node = self.written
        if self.uniform and not others and self._only_condition(plan):
            return Written([_tested(node, part_of(node.test, self.uniform))], [])
        guard = part_of(node.test, self.ranked)
        if not self.in_body:
            guard = opposite(guard, of_rank=True)
        renderer = Renderer(self.shape.cut, guard, self.shape.indent, self.planner.instead)
        if self.in_body:
            renderer.pair_block(self.node.body, node.body)
        else:
            renderer.pair_block(self.node.orelse, _arm(node))
        if self.uniform and others:
            return self._with_header(self._parted(plan, renderer))
        result = renderer.write(plan)
        if self.uniform:
            result = self._under_uniform(result)
        if others:
            self._attach(result, guard)
        return self._with_header(result)

    def _under_uniform(self, result: Written) -> Written:
        test = part_of(self.written.test, self.uniform)
        block = cst.IndentedBlock(
            body=result.statements, indent=self.shape.indent, footer=result.rest
        )
        return Written([_tested(self.written, test, block)], [])

    def _only_condition(self, plan: Plan) -> bool:
        """Say whether every statement of the body stays as it is."""
        body = [item.statement for item in plan if isinstance(item, Kept)]
        return (
            not self.planner.instead
            and self.in_body
            and not self.node.orelse
            and body == list(self.node.body)
        )

    def _parted(self, plan: Plan, renderer: Renderer) -> Written:
        """Put the collective under what is the same on every rank, in front of the old statement
        or behind it, which keeps its condition and the rest of its arms."""
        if not self.in_body:
            raise RefusedError("the other arm belongs to a condition of two parts")
        groups = [item for item in plan if isinstance(item, Guarded)]
        if len(groups) > 1 or (groups and groups[0] not in (plan[0], plan[-1])):
            raise RefusedError("the other arm belongs to a condition of two parts")
        free = renderer.write(tuple(item for item in plan if not isinstance(item, Guarded)))
        if any(isinstance(item, Pulled) for item in plan) or free.rest:
            raise RefusedError("the other arm belongs to a condition of two parts")
        first = self._under_uniform(free).statements
        if not groups:
            assert self.written.orelse is not None
            contrary = self.shape.contrary or opposite(self.written.test)
            arm = cst.If(test=contrary.deep_clone(), body=_arm(self.written))
            return Written([*first, arm], [])
        kept = renderer.plainly(groups[0])
        if not isinstance(self.written.body, cst.IndentedBlock):
            raise RefusedError("the other arm belongs to a test on one line")
        body = self.written.body.with_changes(body=kept.statements, footer=kept.rest)
        old = self.written.with_changes(body=body)
        return Written([old, *first] if groups[0] is plan[0] else [*first, old], [])

    def _attach(self, result: Written, guard: cst.BaseExpression) -> None:
        """Give the other arm its place: in front, where its ranks came by first."""
        node = self.written
        first = result.statements[0] if result.statements else None
        if not self.in_body:
            bare = node.with_changes(orelse=None)
            if isinstance(first, cst.If) and first.test.deep_equals(guard):
                bare = node.with_changes(orelse=cst.Else(body=first.body))
                result.statements.pop(0)
            result.statements.insert(0, bare)
            return
        assert node.orelse is not None
        for index, statement in enumerate(result.statements):
            if isinstance(statement, cst.If) and statement.test.deep_equals(node.test):
                orelse = node.orelse.with_changes(leading_lines=[])
                result.statements[index] = statement.with_changes(orelse=orelse)
                return
        result.statements.append(
            cst.If(test=opposite(guard, of_rank=True).deep_clone(), body=_arm(node))
        )

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


def _arm(node: cst.If) -> cst.BaseSuite:
    """Return the other arm of an ``if`` as a block."""
    if isinstance(node.orelse, cst.Else):
        return node.orelse.body
    assert node.orelse is not None
    indent = node.body.indent if isinstance(node.body, cst.IndentedBlock) else None
    return cst.IndentedBlock(body=[node.orelse], indent=indent)


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
