"""From a plan to LibCST statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from ckptlint.fixing.cut import Cut
from ckptlint.fixing.lines import (
    Unit,
    Written,
    blank_start,
    block,
    otherwise,
    parted,
    replaced,
    with_lines,
    without_blank_start,
)
from ckptlint.fixing.plan import Guarded, Kept, Opened, Plan, Pulled
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.scopes import contains

_BLOCKS = (cst.If, cst.With, cst.For, cst.While, cst.Try)


class Renderer:
    """Writes the plan for statements of one cut.

    ``guard`` is the test under which guarded groups go; ``indent`` the indentation of the block
    that the guard had; ``instead`` what is written in place of some expressions.
    """

    def __init__(
        self,
        cut: Cut,
        guard: cst.BaseExpression,
        indent: str | None,
        instead: Mapping[ast.expr, str] = MappingProxyType({}),
    ) -> None:
        self.cut = cut
        self.guard = guard
        self.indent = indent
        self.instead = instead
        self.units: dict[int, Unit] = {}
        self.footers: dict[int, Sequence[cst.EmptyLine]] = {}
        self.heads: dict[int, Unit] = {}
        self.pulled: list[tuple[ast.Call, str]] = []
        self._positions: Mapping[cst.CSTNode, CodeRange] | None = None

    # -- the statements of both trees, side by side ----------------------------------------------

    def pair(self, nodes: Sequence[ast.stmt], written: Sequence[cst.BaseStatement]) -> None:
        """Note which LibCST statement each node is. Raises RefusedError when they do not match."""
        units = [unit for statement in written for unit in parted(statement)]
        if len(units) != len(nodes):
            raise RefusedError("the statement cannot be taken apart")
        for node, unit in zip(nodes, units, strict=True):
            self.units[id(node)] = unit
            if isinstance(node, ast.If | ast.With):
                self.heads[id(_head(node))] = unit
            if isinstance(node, ast.If | ast.With | ast.For | ast.While | ast.Try):
                self._pair_inside(node, unit.node)

    def pair_block(self, nodes: Sequence[ast.stmt], block: cst.BaseSuite) -> None:
        """Note the statements of a block, and the comments at its end."""
        if isinstance(block, cst.IndentedBlock):
            self.pair(nodes, [s for s in block.body if isinstance(s, cst.BaseStatement)])
            self.footers[id(nodes[-1])] = block.footer
        elif isinstance(block, cst.SimpleStatementSuite):
            line = cst.SimpleStatementLine(
                block.body, trailing_whitespace=block.trailing_whitespace
            )
            self.pair(nodes, [line])

    def _pair_inside(
        self,
        node: ast.If | ast.With | ast.For | ast.While | ast.Try,
        written: cst.BaseStatement,
    ) -> None:
        if not isinstance(written, _BLOCKS):
            raise RefusedError("the statement cannot be taken apart")
        self.pair_block(node.body, written.body)
        if isinstance(node, ast.Try) and isinstance(written, cst.Try):
            for handler, old in zip(node.handlers, written.handlers, strict=True):
                self.pair_block(handler.body, old.body)
            if written.orelse is not None:
                self.pair_block(node.orelse, written.orelse.body)
            if written.finalbody is not None:
                self.pair_block(node.finalbody, written.finalbody.body)
        if isinstance(node, ast.If) and isinstance(written, cst.If):
            if isinstance(written.orelse, cst.Else):
                self.pair_block(node.orelse, written.orelse.body)
            elif isinstance(written.orelse, cst.If):
                self.units[id(node.orelse[0])] = Unit(written.orelse, ())
                self._pair_inside(node.orelse[0], written.orelse)  # type: ignore[arg-type]

    # -- writing ---------------------------------------------------------------------------------

    def write(self, plan: Plan, above: Sequence[cst.EmptyLine] = ()) -> Written:
        """Write a plan; ``above`` are lines that go in front of its first statement."""
        done = Written([], list(above))
        for item in plan:
            match item:
                case Kept(statement):
                    self._add(done, [self._without_pulled(statement)])
                    done.rest.extend(self._footer(statement))
                case Pulled(call, name):
                    self.pulled.append((call, name))
                    self._add(done, [Unit(self._assignment(call, name), ())])
                case Guarded(statements):
                    self._guarded(done, statements)
                case Opened():
                    self._opened(done, item)
        return done

    def _add(self, done: Written, units: Sequence[Unit]) -> None:
        for unit in units:
            lines = [*done.rest, *unit.above]
            if not done.statements:
                lines = without_blank_start(lines)
            done.statements.append(with_lines(unit.node, lines))
            done.rest.clear()

    def _footer(self, statement: ast.stmt) -> Sequence[cst.EmptyLine]:
        return self.footers.get(id(statement), ())

    def _guarded(self, done: Written, statements: Sequence[ast.stmt]) -> None:
        units = [self._without_pulled(statement) for statement in statements]
        blank = blank_start(units[0].above)
        inside = Written([], [])
        self._add(inside, [Unit(units[0].node, units[0].above[len(blank) :]), *units[1:]])
        node = self.conditional(self.guard, inside.statements, self._footer(statements[-1]))
        self._add(done, [Unit(node, blank)])

    def plainly(self, group: Guarded) -> Written:
        """Write a group that stands under its old test."""
        done = Written([], [])
        self._add(done, [self._without_pulled(statement) for statement in group.statements])
        done.rest.extend(self._footer(group.statements[-1]))
        return done

    def conditional(
        self,
        test: cst.BaseExpression,
        body: Sequence[cst.BaseStatement],
        footer: Sequence[cst.EmptyLine] = (),
        orelse: cst.Else | None = None,
    ) -> cst.If:
        """Make an ``if`` with the indentation of the old one."""
        block = cst.IndentedBlock(body=list(body), indent=self.indent, footer=list(footer))
        return cst.If(test=test.deep_clone(), body=block, orelse=orelse)

    def _opened(self, done: Written, item: Opened) -> None:
        unit = self.units[id(item.statement)]
        node = unit.node
        assert isinstance(node, _BLOCKS)
        node = node.with_changes(body=block(node.body, self.write(item.body)))
        if isinstance(node, cst.Try):
            node = self._with_parts(node, item)
        if isinstance(node, cst.If) and isinstance(node.orelse, cst.Else):
            other = self.write(item.orelse)
            node = node.with_changes(orelse=otherwise(node.orelse, other))
        elif isinstance(node, cst.If) and node.orelse is not None:
            raise RefusedError("an elif stands on the way")
        self._add(done, [Unit(node, unit.above)])
        done.rest.extend(self._footer(item.statement))

    def _with_parts(self, node: cst.Try, item: Opened) -> cst.Try:
        """Return a ``try`` with its further parts written anew."""
        handlers = [
            old.with_changes(body=block(old.body, self.write(plan)))
            for old, plan in zip(node.handlers, item.handlers, strict=True)
        ]
        node = node.with_changes(handlers=handlers)
        if node.orelse is not None:
            other = node.orelse.with_changes(body=block(node.orelse.body, self.write(item.orelse)))
            node = node.with_changes(orelse=other)
        if node.finalbody is not None:
            last = node.finalbody.with_changes(
                body=block(node.finalbody.body, self.write(item.finalbody))
            )
            node = node.with_changes(finalbody=last)
        return node

    def _unit(self, statement: ast.stmt) -> Unit:
        """Return a statement; of one that is not in the file, what it is made of."""
        if id(statement) in self.units:
            return self.units[id(statement)]
        assert isinstance(statement, ast.If | ast.With)
        old = self.heads[id(_head(statement))]
        node = old.node
        if not isinstance(node, cst.If | cst.With):
            raise RefusedError("the statement cannot be taken apart")
        inside = Written([], [])
        self._add(inside, [self._without_pulled(each) for each in statement.body])
        node = node.with_changes(body=block(node.body, inside))
        return Unit(node.with_changes(orelse=None) if isinstance(node, cst.If) else node, old.above)

    def _without_pulled(self, statement: ast.stmt) -> Unit:
        """Return a statement with names in place of the calls that were made before it."""
        unit = self._unit(statement)
        others: dict[ast.expr, str] = {**dict(self.pulled), **self.instead}
        written = {
            self._found(node): cst.parse_expression(text)
            for node, text in others.items()
            if contains(statement, [node])
        }
        return Unit(replaced(unit.node, written), unit.above) if written else unit

    # -- expressions -----------------------------------------------------------------------------

    def _assignment(self, call: ast.Call, name: str) -> cst.SimpleStatementLine:
        target = cst.AssignTarget(cst.Name(name))
        value = self._found(call).deep_clone()
        return cst.SimpleStatementLine([cst.Assign([target], value)])

    def _found(self, wanted: ast.expr) -> cst.BaseExpression:
        """Find an expression by its place."""
        if self._positions is None:
            wrapper = MetadataWrapper(self.cut.module, unsafe_skip_copy=True)
            self._positions = wrapper.resolve(PositionProvider)
        line, column = self.cut.line(wanted)
        found = [
            node
            for node, place in self._positions.items()
            if isinstance(node, cst.BaseExpression)
            and (place.start.line, place.start.column) == (line, column)
        ]
        dump = ast.dump(wanted)
        for node in found:
            code = self.cut.module.code_for_node(node.with_changes(lpar=[], rpar=[]))
            try:
                if ast.dump(ast.parse(f"({code}\n)", mode="eval").body) == dump:
                    return node
            except SyntaxError:
                continue
        raise RefusedError("an expression cannot be found in its statement")


def _head(statement: ast.If | ast.With) -> ast.AST:
    """Return what tells a statement from others that have the same block or part of it."""
    return statement.test if isinstance(statement, ast.If) else statement.items[0]
