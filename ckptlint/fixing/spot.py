"""A statement that a rewrite is about, in the text of its file."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from ckptlint.analysis.values import Site
from ckptlint.finding import Edit, Span
from ckptlint.fixing.scopes import way_to
from ckptlint.project import FunctionNode, Import, Module


@dataclass(frozen=True)
class Spot:
    """A statement of a file, the blocks around it, and the function that holds it."""

    module: Module
    way: Sequence[tuple[ast.AST, list[ast.stmt], int]]

    @classmethod
    def of(cls, site: Site) -> Spot | None:
        """Find the innermost statement that holds a node."""
        statement = next(
            (
                node
                for node in reversed(list(ast.walk(site.module.tree)))
                if isinstance(node, ast.stmt)
                and any(child is site.node for child in ast.walk(node))
            ),
            None,
        )
        way = way_to(site.module.tree, statement) if statement is not None else None
        return cls(site.module, way) if way is not None else None

    @property
    def statement(self) -> ast.stmt:
        _, block, index = self.way[-1]
        return block[index]

    @property
    def scope(self) -> ast.AST:
        """The function around the statement, or the file."""
        functions = (parent for parent, _, _ in reversed(self.way))
        return next((f for f in functions if isinstance(f, FunctionNode)), self.module.tree)

    def line(self, number: int) -> str:
        return self.module.source.lines[number - 1]

    def margin(self, statement: ast.stmt) -> str:
        """The indentation of a statement that begins its line."""
        text = self.line(statement.lineno)
        return text[: len(text) - len(text.lstrip())]

    @property
    def step(self) -> str:
        """One level of indentation, as the function uses it."""
        body = getattr(self.scope, "body", [])
        if isinstance(self.scope, FunctionNode) and body:
            inner, outer = self.margin(body[0]), self.margin(self.scope)
            if inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
        return "    "

    @property
    def newline(self) -> str:
        return "\r\n" if b"\r\n" in self.module.source.data else "\n"

    @property
    def begins_its_line(self) -> bool:
        """Whether nothing but indentation stands in front of the statement."""
        statement = self.statement
        return not self.line(statement.lineno)[: statement.col_offset].strip()

    def inserted(self, line: int, text: str) -> Edit:
        """Put text in front of a line."""
        return Edit(Span(self.module.source.display, line, 1, line, 1), text)

    def replaced(self, node: ast.AST, text: str) -> Edit:
        """Put text in the place of an expression."""
        return Edit(self.module.source.span(node), text)

    def written(self, node: ast.AST) -> str:
        """Return an expression as the file has it."""
        return ast.get_source_segment(self.module.source.text, node) or ast.unparse(node)

    def unused(self, name: str) -> str:
        """Return a name that means nothing yet in the function or the file."""
        taken = {node.id for node in ast.walk(self.scope) if isinstance(node, ast.Name)}
        taken |= {node.arg for node in ast.walk(self.scope) if isinstance(node, ast.arg)}
        taken |= self.module.symbols.keys() | self.module.assigned
        return next(n for i in count() if (n := f"{name}_{i + 1}" if i else name) not in taken)

    @property
    def torch_distributed(self) -> str:
        """The name by which the file has ``torch.distributed``, or nothing."""
        for name, symbol in self.module.symbols.items():
            if isinstance(symbol, Import):
                full = ".".join(part for part in (symbol.module, symbol.name) if part)
                if full == "torch.distributed":
                    return name
        return ""
