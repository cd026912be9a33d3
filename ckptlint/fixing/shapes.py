"""A rank test in any spelling, read as an ``if`` statement in both trees.

``main and save()`` is ``if main: save()``; an ``elif`` is an ``if`` in an ``else``; what follows an
early exit is the other arm of its test. Leaves are those of the file, so that calls are found.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from ckptlint.analysis.values import Site
from ckptlint.fixing.conditions import opposite, read_test, spine
from ckptlint.fixing.cut import Cut
from ckptlint.fixing.lines import Written, otherwise, separate
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.scopes import way_to
from ckptlint.project import Module


@dataclass(frozen=True)
class Shape:
    """One guard: ``node`` and ``written`` are the ``if`` statement in both trees.

    ``region`` are the statements of the file that it stands for, ``cut`` is their text; ``before``
    stay in front of it, ``behind`` come after it, ``above`` are the comments over it. ``chain``
    are the statements of which it is an ``elif``, outermost first. ``indent`` is one step of
    indentation. ``contrary`` is the opposite of the test, where that is how it stood in the
    file; ``flag`` the assignment of the name in whose place the test stands.
    """

    node: ast.If
    written: cst.If
    region: tuple[ast.stmt, ...]
    cut: Cut
    indent: str | None
    contrary: cst.BaseExpression | None = None
    flag: ast.Assign | None = None
    before: tuple[cst.BaseStatement, ...] = ()
    behind: tuple[cst.BaseStatement, ...] = ()
    above: tuple[cst.EmptyLine, ...] = ()
    chain: tuple[cst.If, ...] = ()

    @property
    def statement(self) -> ast.stmt:
        """The statement that holds the test."""
        return self.region[0]

    def plain(self, in_body: bool) -> Shape:
        """Return the shape with a test of parts that must all be true where the collective stands,
        which may make the arms change places."""
        node, written, contrary = self.node, self.written, None
        test = read_test(node.test, written.test, in_body)
        if test.written is written.test:
            return self
        if test.flipped:
            if not isinstance(written.orelse, cst.Else):
                raise RefusedError("the other arm is one of a chain")
            node = ast.If(test.node, node.orelse, node.body)
            other = cst.Else(body=written.body)
            contrary = written.test
            written = written.with_changes(body=written.orelse.body, orelse=other)
        else:
            node = ast.If(test.node, node.body, node.orelse)
        space = cst.SimpleWhitespace(" ")
        written = written.with_changes(test=test.written, whitespace_before_test=space)
        return replace(self, node=node, written=written, contrary=contrary, before=test.before)

    def flipped(self) -> Shape:
        """Return the shape with its arms in the other order."""
        node, written = self.node, self.written
        if not isinstance(written.orelse, cst.Else):
            raise RefusedError("the other arm is one of a chain")
        test = ast.UnaryOp(ast.Not(), node.test)
        other = cst.Else(body=written.body)
        written = written.with_changes(
            test=opposite(written.test, of_rank=True), body=written.orelse.body, orelse=other
        )
        return replace(self, node=ast.If(test, node.orelse, node.body), written=written)

    def put_back(self, result: Written) -> Written:
        """Give what comes of the statement its place in the file."""
        statements = [*self.before, *result.statements, *self.behind]
        result = Written(statements, result.rest)
        for outer in reversed(self.chain):
            block = outer.body
            indent = block.indent if isinstance(block, cst.IndentedBlock) else None
            empty = cst.IndentedBlock(body=[], indent=indent)
            arm = otherwise(cst.Else(body=empty, leading_lines=list(self.above)), result)
            result = Written([outer.with_changes(orelse=arm)], [])
        return result


def guard_at(site: Site, statement: ast.stmt) -> Shape | None:
    """Read a statement as the guard that a test in it makes, or return None where the test is
    part of an expression whose value is used. Raises RefusedError."""
    if isinstance(statement, ast.If) and statement.test is site.node:
        return _if(site.module, statement)
    if isinstance(statement, ast.Expr):
        return _expression(site.module, statement, site.node)
    return None


def statement_at(site: Site) -> ast.stmt:
    """Return the innermost statement around an expression. Raises RefusedError."""
    found: ast.stmt | None = None
    stack: list[tuple[ast.AST, ast.stmt | None]] = [(site.module.tree, None)]
    while stack:
        current, around = stack.pop()
        if current is site.node:
            found = around
            break
        if isinstance(current, ast.stmt):
            around = current
        stack += [(child, around) for child in ast.iter_child_nodes(current)]
    if found is None:
        raise RefusedError("the test does not stand in a statement")
    return found


def _if(module: Module, statement: ast.If) -> Shape:
    """Read an ``if``, or an ``elif`` with those above it."""
    outer = [statement]
    while (above := _chained(module, outer[0])) is not None:
        outer.insert(0, above)
    cut = Cut.of(module.source, outer[:1])
    written = [cst.ensure_type(cut.statements[0], cst.If)]
    for _ in outer[1:]:
        written.append(cst.ensure_type(written[-1].orelse, cst.If))
    last = written.pop()
    indent = last.body.indent if isinstance(last.body, cst.IndentedBlock) else None
    above_: tuple[cst.EmptyLine, ...] = tuple(last.leading_lines)
    last = last.with_changes(leading_lines=[])
    region = (statement,)
    return Shape(statement, last, region, cut, indent, above=above_, chain=tuple(written))


def _chained(module: Module, statement: ast.If) -> ast.If | None:
    """Return the ``if`` of which a statement is an ``elif``."""
    line = module.source.lines[statement.lineno - 1].encode()[statement.col_offset :]
    if not line.startswith(b"elif"):
        return None
    way = way_to(module.tree, statement)
    parent = way[-1][0] if way else None
    if not isinstance(parent, ast.If):
        raise RefusedError("the test is one of a chain")
    return parent


def _expression(module: Module, statement: ast.Expr, test: ast.AST) -> Shape | None:
    """Read ``main and save()``, ``other or save()`` and ``save() if main else wait()``."""
    cut = Cut.of(module.source, [statement])
    line = cut.statements[0]
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        raise RefusedError("the statement shares its line with another one")
    value = cst.ensure_type(line.body[0], cst.Expr).value
    node: ast.If
    match statement.value, value:
        case ast.IfExp() as choice, cst.IfExp(test=decides, body=yes, orelse=no) if (
            choice.test is test
        ):
            other = [] if isinstance(choice.orelse, ast.Constant) else [ast.Expr(choice.orelse)]
            node = ast.If(choice.test, [ast.Expr(choice.body)], list(other))
            arm = cst.Else(body=_block(no)) if other else None
            written = cst.If(test=decides, body=_block(yes, line), orelse=arm)
        case ast.BoolOp(op=ast.And(), values=values), cst.BooleanOperation():
            if not any(each is test for each in values[:-1]):
                return None
            parts, operators = spine(value)
            decides = parts[0]
            for operator, part in zip(operators[:-1], parts[1:-1], strict=True):
                decides = cst.BooleanOperation(left=decides, operator=operator, right=part)
            several = values[:-1]
            whole = several[0] if len(several) == 1 else ast.BoolOp(ast.And(), several)
            node = ast.If(whole, [ast.Expr(values[-1])], [])
            written = cst.If(test=decides, body=_block(parts[-1], line))
        case ast.BoolOp(op=ast.Or(), values=[first, last]), cst.BooleanOperation(left=left) if (
            first is test
        ):
            node = ast.If(ast.UnaryOp(ast.Not(), first), [ast.Expr(last)], [])
            written = cst.If(test=opposite(left), body=_block(value.right, line))
        case _:
            return None
    return Shape(node, written, (statement,), cut, _step(module, statement))


def _block(
    value: cst.BaseExpression, line: cst.SimpleStatementLine | None = None
) -> cst.IndentedBlock:
    """Make a block of one expression, with the comment that stood behind the old line."""
    inner = cst.SimpleStatementLine([cst.Expr(value)])
    if line is not None:
        inner = inner.with_changes(trailing_whitespace=line.trailing_whitespace)
    return cst.IndentedBlock(body=[inner])


def _step(module: Module, statement: ast.stmt) -> str:
    """Return one step of indentation, as it is where a statement stands."""
    lines = module.source.lines
    width = statement.col_offset
    own = lines[statement.lineno - 1][:width]
    for number in range(statement.lineno - 2, -1, -1):
        line = lines[number]
        bare = line.lstrip(" \t\f")
        outer = line[: len(line) - len(bare)]
        if bare.strip() and len(outer) < width and own.startswith(outer):
            return own[len(outer) :]
    return "    "


def exit_at(site: Site, rest: Sequence[ast.stmt], statement: ast.If) -> Shape:
    """Read an early exit as an ``if`` whose other arm is what the exit skips.

    The exit itself is left out. Raises RefusedError.
    """
    module = site.module
    if _chained(module, statement) is not None:
        raise RefusedError("the test is one of a chain")
    cut = Cut.of(module.source, [statement, *rest])
    written = cst.ensure_type(cut.statements[0], cst.If)
    block = written.body
    if not isinstance(block, cst.IndentedBlock) and len(statement.body) > 1:
        raise RefusedError("the statement stands on one line")
    indent = block.indent if isinstance(block, cst.IndentedBlock) else None
    if len(statement.body) == 1:
        body = cst.IndentedBlock(body=[cst.SimpleStatementLine([cst.Pass()])], indent=indent)
        kept: list[ast.stmt] = [ast.Pass()]
    else:
        assert isinstance(block, cst.IndentedBlock)
        inside = [s for s in block.body if isinstance(s, cst.BaseStatement)]
        body = block.with_changes(body=separate(inside)[:-1])
        kept = statement.body[:-1]
    after: list[cst.BaseStatement] = list(cut.statements[1:])
    skipped = list(rest)
    if statement.orelse:
        other = written.orelse
        if not isinstance(other, cst.Else) or not isinstance(other.body, cst.IndentedBlock):
            raise RefusedError("the exit stands in a chain")
        inner = [s for s in other.body.body if isinstance(s, cst.BaseStatement)]
        after = [*inner, *after]
        skipped = [*statement.orelse, *skipped]
    node = ast.If(statement.test, kept, skipped)
    arm = cst.Else(body=cst.IndentedBlock(body=after, indent=indent))
    written = written.with_changes(body=body, orelse=arm)
    return Shape(node, written, (statement, *rest), cut, indent)
