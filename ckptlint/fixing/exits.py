"""Turning an early exit of some ranks into a test around what is theirs alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

import libcst as cst

from ckptlint.fault import Fault
from ckptlint.fixing.guards import Ways, splits
from ckptlint.fixing.place import Place
from ckptlint.fixing.proposal import Proposal, RefusedError, told
from ckptlint.fixing.scopes import Uses, contains, leaves, touch, way_to
from ckptlint.fixing.shapes import exit_at
from ckptlint.knowledge import Knowledge
from ckptlint.project import FunctionNode


def keep_going(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield rewrites in which all ranks go on to the collective: the exit goes, where it skips
    nothing but the rest of its block, or it comes to stand behind the collective: the likelier
    where much follows that."""
    attempts = (_without_exit, _exit_behind)
    for attempt in reversed(attempts) if _much_follows(fault, knowledge) else attempts:
        try:
            yield from attempt(fault, knowledge)
        except (RefusedError, cst.CSTValidationError):
            continue


def _without_exit(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    statement, exit_, place = _exit_of(fault, knowledge)
    rest = list(place.block[place.index + 1 :])
    if not rest and not statement.orelse:
        raise RefusedError("the exit skips nothing in its block")
    if not _plain(exit_) or not _skips_its_block_only(place, exit_):
        raise RefusedError("the exit skips more than its block")
    may_return = isinstance(exit_, ast.Return) and all(map(_plain, _returns(rest)))
    if leaves(rest) and not may_return:
        raise RefusedError("the rest leaves its block as well")
    shape = exit_at(fault.divergence.test.site, rest, statement)
    turns = ["every rank now takes all turns of the loop"] if isinstance(exit_, ast.Break) else []
    for plan in splits(place, shape, Ways(may_return)):
        kept = "; keep the rest under the test" if plan.parted else ""
        message = f"let every rank go on to {fault.operation}{kept}"
        yield told(message, [*plan.doubts, *turns], plan.edits)


def _much_follows(fault: Fault, knowledge: Knowledge) -> bool:
    """Say whether the block goes on behind the last collective for long, or with other exits."""
    try:
        _, exit_, place = _exit_of(fault, knowledge)
    except RefusedError:
        return False
    rest = list(place.block[place.index + 1 :])
    reached = [i for i, each in enumerate(rest) if contains(each, place.operations)]
    after = rest[reached[-1] + 1 :] if reached else []
    return isinstance(exit_, ast.Return | ast.Continue) and (len(after) > 3 or leaves(after))


def _exit_behind(fault: Fault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Put the exit behind the last collective in its block, and what stood between under the
    opposite of its test."""
    statement, _, place = _exit_of(fault, knowledge)
    rest = list(place.block[place.index + 1 :])
    reached = [i for i, each in enumerate(rest) if contains(each, place.operations)]
    if not reached or statement.orelse or len(statement.body) != 1:
        raise RefusedError("the collective does not follow the exit in its block")
    between = rest[: reached[-1] + 1]
    if Uses.of(statement.test).written or touch(
        Uses.of(statement).loads, Uses.of(*between).written
    ):
        raise RefusedError("what the exit depends on is changed before the collective")
    if not place.purity.repeatable(statement.test):
        raise RefusedError("the rank test may have effects")
    shape = exit_at(fault.divergence.test.site, between, statement)
    moved = cst.ensure_type(shape.cut.statements[0], cst.If).with_changes(leading_lines=[])
    for plan in splits(place, replace(shape, behind=(moved,))):
        kept = "; keep what stands between under the test" if plan.parted else ""
        message = f"leave only behind {fault.operation}{kept}"
        yield told(message, plan.doubts, plan.edits)


def _exit_of(fault: Fault, knowledge: Knowledge) -> tuple[ast.If, ast.stmt, Place]:
    """Return the ``if`` that ends in the exit, the exit, and their place. Raises RefusedError."""
    test = fault.divergence.test.site
    statement = next(
        (n for n in ast.walk(test.module.tree) if isinstance(n, ast.If) and n.test is test.node),
        None,
    )
    if statement is None or leaves(statement.orelse) or leaves(statement.body[:-1]):
        raise RefusedError("more than the exit stands under the test")
    exit_ = statement.body[-1]
    if not isinstance(exit_, ast.Return | ast.Continue | ast.Break):
        raise RefusedError("the exit is not the end of what stands under the test")
    return statement, exit_, Place.of(fault, knowledge, statement)


def _plain(exit_: ast.stmt) -> bool:
    if isinstance(exit_, ast.Return):
        value = exit_.value
        return value is None or (isinstance(value, ast.Constant) and value.value is None)
    return isinstance(exit_, ast.Continue | ast.Break)


def _returns(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the ways out of some statements."""
    for node in (node for each in statements for node in ast.walk(each)):
        if isinstance(node, ast.Return | ast.Break | ast.Continue):
            yield node


def _skips_its_block_only(place: Place, exit_: ast.stmt) -> bool:
    """Say whether nothing follows the block of an exit up to the function or loop that it ends."""
    way = way_to(place.purity.module.tree, place.statement) or []
    loops = (ast.For, ast.AsyncFor, ast.While)
    inner = True
    for parent, block, index in reversed(way):
        if not inner and index != len(block) - 1:
            return False
        inner = False
        if isinstance(exit_, ast.Return) and isinstance(parent, FunctionNode):
            return True
        if isinstance(parent, loops):
            whole = isinstance(exit_, ast.Continue) or not parent.orelse
            return not isinstance(exit_, ast.Return) and block is parent.body and whole
        if not isinstance(parent, ast.If | ast.With):
            return False
    return False
