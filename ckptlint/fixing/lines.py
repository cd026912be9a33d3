"""Statements of LibCST, their lines and their blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst


@dataclass(frozen=True)
class Written:
    """Statements, and the comment lines that follow the last of them."""

    statements: list[cst.BaseStatement]
    rest: list[cst.EmptyLine]


@dataclass(frozen=True)
class Unit:
    """One statement of a block with the comment lines above it; several of a line are parted."""

    node: cst.BaseStatement
    above: tuple[cst.EmptyLine, ...]


def parted(statement: cst.BaseStatement) -> list[Unit]:
    """Give each small statement of a line a line of its own."""
    if not isinstance(statement, cst.SimpleStatementLine):
        lines = getattr(statement, "leading_lines", ())
        return [Unit(statement, tuple(lines))]
    if len(statement.body) == 1:
        return [Unit(statement, tuple(statement.leading_lines))]
    units = []
    for index, small in enumerate(statement.body):
        bare = small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        last = index == len(statement.body) - 1
        end = statement.trailing_whitespace if last else cst.TrailingWhitespace()
        above = tuple(statement.leading_lines) if index == 0 else ()
        units.append(Unit(cst.SimpleStatementLine([bare], trailing_whitespace=end), above))
    return units


def separate(statements: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Return statements with each small one on a line of its own."""
    units = [unit for statement in statements for unit in parted(statement)]
    return [with_lines(unit.node, unit.above) for unit in units]


def with_lines(node: cst.BaseStatement, lines: Sequence[cst.EmptyLine]) -> cst.BaseStatement:
    return node.with_changes(leading_lines=list(lines))


def blank_start(lines: Sequence[cst.EmptyLine]) -> tuple[cst.EmptyLine, ...]:
    count = 0
    while count < len(lines) and lines[count].comment is None:
        count += 1
    return tuple(lines[:count])


def without_blank_start(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    return list(lines[len(blank_start(lines)) :])


def block(old: cst.BaseSuite, new: Written) -> cst.BaseSuite:
    if not new.statements:
        return cst.IndentedBlock(body=[cst.SimpleStatementLine([cst.Pass()])], footer=new.rest)
    if isinstance(old, cst.IndentedBlock):
        return old.with_changes(body=new.statements, footer=new.rest)
    return cst.IndentedBlock(body=new.statements, footer=new.rest)


def otherwise(old: cst.Else, new: Written) -> cst.If | cst.Else | None:
    """Return an arm with other statements; a lone ``if`` in it becomes an ``elif``."""
    if not new.statements:
        return None
    only = new.statements[0]
    header = old.body.header if isinstance(old.body, cst.IndentedBlock) else None
    if (
        len(new.statements) == 1
        and isinstance(only, cst.If)
        and not new.rest
        and (header is None or header.comment is None)
    ):
        return only.with_changes(leading_lines=[*old.leading_lines, *only.leading_lines])
    return old.with_changes(body=block(old.body, new))


def replaced(
    statement: cst.BaseStatement, others: Mapping[cst.BaseExpression, cst.BaseExpression]
) -> cst.BaseStatement:
    """Return a statement with other expressions in place of some of its own."""
    result = statement.visit(_Replacer(others))
    assert isinstance(result, cst.BaseStatement)
    return result


class _Replacer(cst.CSTTransformer):
    def __init__(self, others: Mapping[cst.BaseExpression, cst.BaseExpression]) -> None:
        super().__init__()
        self.others = others

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Any:
        if isinstance(original_node, cst.BaseExpression) and original_node in self.others:
            return self.others[original_node]
        return updated_node
