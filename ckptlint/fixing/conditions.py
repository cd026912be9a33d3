"""Taking conditions apart: the rank's part and the rest, and the opposite of a test."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
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
_OF_NUMBERS: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.GreaterThan: cst.LessThanEqual,
    cst.GreaterThanEqual: cst.LessThan,
    cst.LessThan: cst.GreaterThanEqual,
    cst.LessThanEqual: cst.GreaterThan,
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


def spine(
    test: cst.BaseExpression, kind: type[cst.BaseBooleanOp] = cst.And
) -> tuple[list[cst.BaseExpression], list[cst.BaseBooleanOp]]:
    """Return the operands of a chain of ``and`` (or ``or``) and the operators between them."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, kind):
        left = test.left
        inner = isinstance(left, cst.BooleanOperation) and isinstance(left.operator, kind)
        parts, operators = spine(left, kind) if inner and not left.lpar else ([left], [])
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
            whitespace_before=_space_before(operators[before])
        )
        result = cst.BooleanOperation(left=result, operator=operator, right=parts[index])
    end = _behind(test, operators[kept[-1]]) if kept[-1] < len(operators) else list(test.rpar)
    several = len(kept) > 1
    code = cst.Module([]).code_for_node(result)
    if not several and len(result.lpar) == 1 and "\n" not in code and not test.lpar:
        return result.with_changes(lpar=[], rpar=[])
    noted = bool(end) and _comments(end[0].whitespace_before)
    if test.lpar and (several or noted or ("\n" in code and not result.lpar)):
        return (
            result.with_changes(lpar=[*test.lpar, *result.lpar], rpar=[*result.rpar, *end])
            if not several
            else result.with_changes(lpar=test.lpar, rpar=end)
        )
    return result


def _behind(test: cst.BaseExpression, dropped: cst.BaseBooleanOp) -> list[cst.RightParen]:
    """Return the closing parentheses with the comment of the last operand that is kept."""
    end = list(test.rpar)
    inner = _space_before(dropped)
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
            found += _comments(_space_before(operators[index]))
        elif test.rpar:
            found += _comments(test.rpar[0].whitespace_before)
    return found


def _space_before(operator: cst.BaseBooleanOp) -> cst.BaseParenthesizableWhitespace:
    assert isinstance(operator, cst.And | cst.Or)
    return operator.whitespace_before


def _comments(space: cst.BaseParenthesizableWhitespace) -> list[str]:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return []
    lines = [space.first_line.comment, *(line.comment for line in space.empty_lines)]
    return [comment.value for comment in lines if comment is not None]


@dataclass(frozen=True)
class Test:
    """A test in other words, in both trees. ``flipped`` says that it is true where the old one is
    false; ``before`` are assignments that the old one made."""

    node: ast.expr
    written: cst.BaseExpression
    flipped: bool = False
    before: tuple[cst.BaseStatement, ...] = ()


def read_test(node: ast.expr, written: cst.BaseExpression, in_body: bool) -> Test:
    """Read a test as parts that must all be true where the collective stands: in the ``if`` block
    or in the other arm."""
    before: tuple[cst.BaseStatement, ...] = ()
    named = _first_evaluated(node)
    if isinstance(named, ast.NamedExpr):
        old = _first_written(written)
        if isinstance(old, cst.NamedExpr) and isinstance(old.target, cst.Name):
            target = cst.AssignTarget(old.target)
            before = (cst.SimpleStatementLine([cst.Assign([target], old.value)]),)
            node = _renamed(node, named)
            replaced = written.deep_replace(old, old.target)
            assert isinstance(replaced, cst.BaseExpression)
            written = replaced
    match node, written:
        case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(op=ast.Or() | ast.And()) as inner), (
            cst.UnaryOperation(expression=cst.BooleanOperation() as chain)
        ) if isinstance(inner.op, ast.Or) is in_body:
            if not in_body:
                return Test(inner, _bare(chain), True, before)
            return Test(*_all_false(inner, _bare(chain)), False, before)
        case ast.BoolOp(op=ast.Or()), cst.BooleanOperation() if not in_body:
            return Test(*_all_false(node, written), True, before)
    return Test(node, written, False, before)


def _bare(test: cst.BooleanOperation) -> cst.BaseExpression:
    """Return a condition without the parentheses that only ``not`` asked for."""
    if len(test.lpar) != 1 or "\n" in cst.Module([]).code_for_node(test):
        return test
    return test.with_changes(lpar=[], rpar=[])


def _all_false(
    node: ast.BoolOp, written: cst.BaseExpression
) -> tuple[ast.expr, cst.BaseExpression]:
    """Return the test that all parts of a chain of ``or`` are false."""
    parts, operators = spine(written, cst.Or)
    result = opposite(parts[0])
    for operator, part in zip(operators, parts[1:], strict=True):
        assert isinstance(operator, cst.Or)
        both = cst.And(operator.whitespace_before, operator.whitespace_after)
        result = cst.BooleanOperation(left=result, operator=both, right=opposite(part))
    result = result.with_changes(lpar=written.lpar, rpar=written.rpar)
    return ast.BoolOp(ast.And(), [_negated(value) for value in node.values]), result


def _negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


def _first_evaluated(node: ast.expr) -> ast.expr:
    """Return what is evaluated first in a test, whatever comes of the rest."""
    match node:
        case ast.BoolOp(values=[first, *_]) | ast.Compare(left=first):
            return _first_evaluated(first)
        case ast.UnaryOp(operand=inner):
            return _first_evaluated(inner)
    return node


def _first_written(node: cst.BaseExpression) -> cst.BaseExpression:
    match node:
        case cst.BooleanOperation(left=first) | cst.Comparison(left=first):
            return _first_written(first)
        case cst.UnaryOperation(expression=inner):
            return _first_written(inner)
    return node


def _renamed(node: ast.expr, named: ast.NamedExpr) -> ast.expr:
    """Return a test with a name in place of the assignment that is evaluated first."""
    match node:
        case ast.NamedExpr():
            return ast.Name(named.target.id, ast.Load())
        case ast.BoolOp(values=[first, *rest]):
            return ast.BoolOp(node.op, [_renamed(first, named), *rest])
        case ast.Compare(left=first):
            return ast.Compare(_renamed(first, named), node.ops, node.comparators)
        case ast.UnaryOp(operand=inner):
            return ast.UnaryOp(node.op, _renamed(inner, named))
    return node


def opposite(test: cst.BaseExpression, of_rank: bool = False) -> cst.BaseExpression:
    """Return a test that is true where this one is false.

    Ranks are whole numbers, so that of two of them one that is not greater is less or equal.
    """
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        other = _OPPOSITE.get(type(target.operator))
        if other is None and of_rank:
            other = _OF_NUMBERS.get(type(target.operator))
        if other is not None:
            changed = target.with_changes(operator=other())
            return test.with_changes(comparisons=[changed])
    if isinstance(test, _LOOSE) and not test.lpar:
        test = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.UnaryOperation(operator=cst.Not(), expression=test)
