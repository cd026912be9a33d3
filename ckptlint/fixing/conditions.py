"""Taking conditions apart: the rank's part and the rest, and the opposite of a test."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import libcst as cst

from ckptlint.fixing.purity import Purity

_OPPOSITE: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
}
_LOOSE = (cst.BooleanOperation, cst.IfExp, cst.Lambda, cst.NamedExpr)


def operands(test: ast.expr) -> Sequence[ast.expr]:
    """Return the parts that must all be true."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return test.values
    return [test]


def rank_parts(test: ast.expr, purity: Purity) -> Iterator[frozenset[int]]:
    """Yield which parts of a test may be those that the rank decides, likeliest first.

    Which they are is not always to be seen (a flag may hold the rank's test); the analysis of
    what comes out decides.
    """
    parts = operands(test)
    everything = frozenset(range(len(parts)))
    if len(parts) == 1:
        yield everything
        return
    likely = frozenset(i for i, part in enumerate(parts) if purity.ranked(part))
    candidates = [likely] if likely else []
    candidates += [frozenset({i}) for i in sorted(everything, key=lambda i: i not in likely)]
    if not likely:
        candidates.append(everything)
    yield from dict.fromkeys(candidates)


def spine(test: cst.BaseExpression) -> tuple[list[cst.BaseExpression], list[cst.And]]:
    """Return the operands of a chain of ``and`` and the operators between them."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        left = test.left
        inner = isinstance(left, cst.BooleanOperation) and isinstance(left.operator, cst.And)
        parts, operators = spine(left) if inner and not left.lpar else ([left], [])
        return [*parts, test.right], [*operators, test.operator]
    return [test], []


def part_of(test: cst.BaseExpression, wanted: Collection[int]) -> cst.BaseExpression:
    """Return the test that holds the wanted operands only, in order, with their layout."""
    parts, operators = spine(test)
    if len(wanted) == len(parts):
        return test
    kept = sorted(wanted)
    result = parts[kept[0]]
    for before, index in pairwise(kept):
        # What stands behind an operand belongs to it, what stands in front of the next to that.
        operator = operators[index - 1].with_changes(
            whitespace_before=operators[before].whitespace_before
        )
        result = cst.BooleanOperation(left=result, operator=operator, right=parts[index])
    end = _behind(test, operators[kept[-1]]) if kept[-1] < len(operators) else list(test.rpar)
    several = isinstance(result, cst.BooleanOperation)
    code = cst.Module([]).code_for_node(result)
    noted = bool(end) and _comments(end[0].whitespace_before)
    if test.lpar and (several or noted or ("\n" in code and not result.lpar)):
        return (
            result.with_changes(lpar=[*test.lpar, *result.lpar], rpar=[*result.rpar, *end])
            if not several
            else result.with_changes(lpar=test.lpar, rpar=end)
        )
    return result


def _behind(test: cst.BaseExpression, dropped: cst.And) -> list[cst.RightParen]:
    """Return the closing parentheses with the comment of the last operand that is kept."""
    end = list(test.rpar)
    inner = dropped.whitespace_before
    if end and isinstance(inner, cst.ParenthesizedWhitespace):
        outer = end[0].whitespace_before
        if isinstance(outer, cst.ParenthesizedWhitespace):
            end[0] = end[0].with_changes(
                whitespace_before=outer.with_changes(first_line=inner.first_line)
            )
    return end


def comments_of(test: cst.BaseExpression, operands_: Collection[int]) -> list[str]:
    """Return the comments that stand behind some of the operands."""
    _, operators = spine(test)
    found: list[str] = []
    for index in operands_:
        if index < len(operators):
            found += _comments(operators[index].whitespace_before)
        elif test.rpar:
            found += _comments(test.rpar[0].whitespace_before)
    return found


def _comments(space: cst.BaseParenthesizableWhitespace) -> list[str]:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return []
    lines = [space.first_line.comment, *(line.comment for line in space.empty_lines)]
    return [comment.value for comment in lines if comment is not None]


def opposite(test: cst.BaseExpression) -> cst.BaseExpression:
    """Return a test that is true where this one is false."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        other = _OPPOSITE.get(type(target.operator))
        if other is not None:
            changed = target.with_changes(operator=other())
            return test.with_changes(comparisons=[changed])
    if isinstance(test, _LOOSE) and not test.lpar:
        test = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.UnaryOperation(operator=cst.Not(), expression=test)
