"""Letting every rank do what rank 0 alone does: taking statements out of its test."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ckptlint.file_fault import FileFault
from ckptlint.finding import Edit, Span
from ckptlint.fixing.proposal import Proposal, told
from ckptlint.fixing.scopes import Uses
from ckptlint.fixing.spot import Spot

_DOUBTS = ("whether every rank can read the file", "whether all of them have the memory for it")


def load_everywhere(fault: FileFault) -> Iterator[Proposal]:
    """Yield the load out of the test for rank 0, with the statements that make what it is given:
    in front of the test where they begin its block, behind it where they end it."""
    levels = fault.contention.visit.levels
    place = Spot.of(fault.item.site)
    if len(levels) != 1 or levels[0].test.kind != "test" or place is None:
        return
    test, block, index = place.way[-1]
    if not isinstance(test, ast.If) or test.orelse or block is not test.body:
        return
    if test.test is not levels[0].test.site.node or isinstance(test.test, ast.BoolOp):
        return
    first = _needed(block, index)
    moved, rest = block[first : index + 1], block[index + 1 :]
    if (first and rest) or not _may_move(test, block[:first], moved):
        return
    edits = _in_front(place, test, moved) if rest else _behind(place, test, moved)
    yield told("load on every rank", _DOUBTS, tuple(edits))


def _needed(block: Sequence[ast.stmt], index: int) -> int:
    """Return the first of the statements down to one that make what it uses."""
    first = index
    used = Uses.of(block[index]).loads_of_roots
    while first and used & _made(block[first - 1 : first]):
        first -= 1
        used |= Uses.of(block[first]).loads_of_roots
    return first


def _made(statements: Sequence[ast.stmt]) -> frozenset[str]:
    return frozenset(path.partition(".")[0] for path in Uses.of(*statements).stores)


def _may_move(test: ast.If, kept: Sequence[ast.stmt], moved: Sequence[ast.stmt]) -> bool:
    """Say whether statements need nothing of what stays, and are moved by their margins."""
    strings = (
        node
        for statement in moved
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant | ast.JoinedStr)
    )
    return (
        test.body[0].lineno > test.lineno
        and not _made(kept) & Uses.of(*moved).loads_of_roots
        and all(isinstance(each, ast.Assign | ast.Expr) for each in moved)
        and all(string.lineno == string.end_lineno for string in strings)
    )


def _behind(place: Spot, test: ast.If, moved: Sequence[ast.stmt]) -> Iterator[Edit]:
    """Take a level of indentation off the last statements of a test, and the test away where
    nothing else stands under it."""
    path = place.module.source.display
    outer, inner = place.margin(test), place.margin(moved[0])
    if moved[0] is test.body[0]:
        yield Edit(Span(path, test.lineno, 1, moved[0].lineno, 1), "")
    for line in range(moved[0].lineno, _last(moved) + 1):
        if place.line(line).startswith(inner):
            yield Edit(Span(path, line, len(outer) + 1, line, len(inner) + 1), "")


def _in_front(place: Spot, test: ast.If, moved: Sequence[ast.stmt]) -> Iterator[Edit]:
    """Put the first statements of a test before it."""
    path = place.module.source.display
    outer, inner = place.margin(test), place.margin(moved[0])
    lines = (place.line(number) for number in range(moved[0].lineno, _last(moved) + 1))
    text = "".join(f"{outer}{line.removeprefix(inner)}" for line in lines)
    yield place.inserted(test.lineno, text)
    yield Edit(Span(path, moved[0].lineno, 1, _last(moved) + 1, 1), "")


def _last(statements: Sequence[ast.stmt]) -> int:
    return statements[-1].end_lineno or statements[-1].lineno
