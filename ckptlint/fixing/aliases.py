"""A flag that holds more than the rank, read as the condition that it was set to."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from ckptlint.finding import Edit, Span
from ckptlint.fixing.conditions import operands
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.purity import Purity
from ckptlint.fixing.scopes import Uses, touch
from ckptlint.fixing.shapes import Shape


def spelled_out(
    shape: Shape, block: Sequence[ast.stmt], index: int, purity: Purity
) -> Shape | None:
    """Return a guard whose test is a flag with the condition in its place, or None.

    The flag must have been set in the same block, to parts that must all be true, and nothing in
    between may change what it was made of.
    """
    test = shape.node.test
    if not isinstance(test, ast.Name) or shape.chain:
        return None
    between: list[ast.stmt] = []
    for statement in reversed(block[:index]):
        if test.id in Uses.of(statement).stores:
            break
        between.append(statement)
    else:
        return None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    value = statement.value
    if not isinstance(statement.targets[0], ast.Name) or len(operands(value)) < 2:
        return None
    if not all(map(purity.repeatable, operands(value))):
        return None
    if touch(Uses.of(value).loads, Uses.of(*between).written):
        return None
    text = ast.get_source_segment(purity.module.source.text, value) or ""
    if "\n" in text:
        return None
    node = ast.If(value, shape.node.body, shape.node.orelse)
    written = shape.written.with_changes(test=cst.parse_expression(text))
    return replace(shape, node=node, written=written, flag=statement)


def unused(shape: Shape, scope: ast.AST, purity: Purity) -> tuple[Edit, ...]:
    """Return the edit that takes away a flag of which the rewritten test was the only reader."""
    flag = shape.flag
    if flag is None or isinstance(scope, ast.Module):
        return ()
    name = Uses.of(*flag.targets).stores
    readers = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id in name and isinstance(node.ctx, ast.Load)
    ]
    cut = Cut.of(purity.module.source, [flag])
    line = cut.statements[0]
    if len(readers) != 1 or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return ()
    if line.trailing_whitespace.comment is not None:
        return ()
    return (Edit(Span(purity.module.source.display, cut.first, 1, cut.last + 1, 1), ""),)
