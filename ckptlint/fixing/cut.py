"""A statement cut out of its file, parsed by itself, and spliced back.

The lines are cut whole and their bytes are not touched: an ``if`` put in front makes a piece of
indented text a file of its own.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from ckptlint.finding import Edit, Span
from ckptlint.fixing.proposal import RefusedError
from ckptlint.source import Source

_INDENT = re.compile(r"[ \t]*")
_ENDS = ("\r\n", "\n", "\r")


@dataclass(frozen=True)
class Cut:
    """Whole lines of a file, and the statements in them as LibCST reads them.

    ``first`` and ``last`` are line numbers from 1, both inside; ``wrapped`` says that a line was
    put in front.
    """

    source: Source
    first: int
    last: int
    module: cst.Module
    statements: Sequence[cst.BaseStatement]
    wrapped: bool

    @classmethod
    def of(cls, source: Source, nodes: Sequence[ast.stmt]) -> Cut:
        """Cut consecutive statements of one block. Raises RefusedError when they share a line
        with another one, or LibCST does not give back what it was given."""
        first = min([nodes[0].lineno, *(d.lineno for d in getattr(nodes[0], "decorator_list", ()))])
        last = _with_comments(source, nodes[-1].end_lineno or nodes[-1].lineno, nodes[0])
        lines = source.lines[first - 1 : last]
        indent = _INDENT.match(lines[0])
        text = "".join(lines)
        end = next((end for end in _ENDS if lines[0].endswith(end)), "\n")
        if not text.endswith(_ENDS):
            text += end
        wrapped = bool(indent and indent.group())
        try:
            module = cst.parse_module(f"if 1:{end}{text}" if wrapped else text)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise RefusedError("the statement shares its lines with another one") from error
        if module.code != (f"if 1:{end}{text}" if wrapped else text):
            raise RefusedError("the statement cannot be taken apart without changing it")
        body: Sequence[cst.BaseStatement] = ()
        if not wrapped:
            if not all(isinstance(s, cst.BaseStatement) for s in module.body):
                raise RefusedError("the statement is not a whole one")
            body = [s for s in module.body if isinstance(s, cst.BaseStatement)]
        else:
            outer = module.body[0]
            if isinstance(outer, cst.If) and isinstance(outer.body, cst.IndentedBlock):
                body = [s for s in outer.body.body if isinstance(s, cst.BaseStatement)]
        return cls(source, first, last, module, body, wrapped)

    def line(self, node: ast.expr) -> tuple[int, int]:
        """Return where LibCST sees a node: line from 1, column from 0 in code points."""
        line: int = node.lineno
        column = self.source.column(line, node.col_offset) - 1
        return line - self.first + 1 + self.wrapped, column

    def spliced(
        self,
        statements: Sequence[cst.BaseStatement],
        rest: Sequence[cst.EmptyLine],
        dropped: Sequence[str] = (),
    ) -> Edit:
        """Return the edit that puts other statements in place of the cut ones, and lines behind
        them. Raises RefusedError when a comment would get lost that is not among ``dropped``."""
        before = self._text(self.module)
        if self.wrapped:
            outer = cst.ensure_type(self.module.body[0], cst.If)
            block = cst.ensure_type(outer.body, cst.IndentedBlock)
            footer = [*block.footer, *rest]
            block = block.with_changes(body=list(statements), footer=footer)
            module = self.module.with_changes(body=[outer.with_changes(body=block)])
        else:
            footer = [*rest, *self.module.footer]
            module = self.module.with_changes(body=list(statements), footer=footer)
        after = self._text(module)
        was, now = Counter(_comments(before)), Counter(_comments(after))
        if now - was or was - now - Counter(dropped):
            raise RefusedError("a comment would get lost")
        return self._edit(before, after)

    def _text(self, module: cst.Module) -> str:
        code = module.code
        if not self.wrapped:
            return code
        end = next(end for end in _ENDS if code.startswith(f"if 1:{end}"))
        return code[len("if 1:") + len(end) :]

    def _edit(self, before: str, after: str) -> Edit:
        """Narrow the edit to the lines that differ."""
        old, new = _lines(before), _lines(after)
        start = 0
        while start < min(len(old), len(new)) - 1 and old[start] == new[start]:
            start += 1
        end = 0
        while end < min(len(old), len(new)) - start - 1 and old[-1 - end] == new[-1 - end]:
            end += 1
        first = self.first + start
        last = self.last - end
        old_end = self.source.lines[last - 1].rstrip("\r\n")
        text = "".join(new[start : len(new) - end])
        text = text.removesuffix(next((e for e in _ENDS if text.endswith(e)), ""))
        return Edit(Span(self.source.display, first, 1, last, len(old_end) + 1), text)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


def _with_comments(source: Source, last: int, node: ast.stmt) -> int:
    """Take along the comment lines behind a block that are indented as deeply as it."""
    width = node.col_offset
    found = last
    for number in range(last, len(source.lines)):
        text = source.lines[number].rstrip("\r\n")
        bare = text.lstrip(" \t\f")
        if bare and (not bare.startswith("#") or len(text) - len(bare) <= width):
            break
        if bare:
            found = number + 1
    return found


def _comments(text: str) -> list[str]:
    """Return the comments of a piece of text, each without what stands around it."""
    text = re.sub(r"\r\n?", "\n", text)  # tokenize knows no other line ends
    flat = f"if 1:\n{text}" if text[:1] in " \t" else text
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(flat).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise RefusedError("the statement cannot be read again") from error
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
