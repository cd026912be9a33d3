"""A source file: its bytes, its text and the mapping between the two ways of counting columns.

``ast`` counts columns in UTF-8 bytes from 0, users and LibCST count code points. Everything that
leaves the analysis goes through :meth:`Source.span`, so the seam is in one place.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ckptlint.finding import Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_BOM = "\ufeff"


class SourceError(Exception):
    """A file cannot be analysed. ``line`` counts from 1."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class Source:
    """One file as read. ``display`` is how the user would name it, in every output."""

    path: Path
    display: str
    data: bytes

    @cached_property
    def encoding(self) -> str:
        """The codec that Python itself would use (PEP 263); raises SourceError for a bad cookie."""
        try:
            return tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]
        except SyntaxError as error:
            raise SourceError(f"cannot tell the encoding: {error.msg or error}") from error

    @cached_property
    def text(self) -> str:
        """The decoded text, a byte-order mark removed, line ends as they are in the file."""
        try:
            return self.data.decode(self.encoding)
        except (UnicodeDecodeError, LookupError) as error:
            line = 1
            if isinstance(error, UnicodeDecodeError):
                line += self.data.count(b"\n", 0, error.start)
            raise SourceError(f"not valid {self.encoding}: {error}", line) from error

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines with their ends, split where Python splits them (not at form feeds)."""
        return tuple(_LINE.findall(self.text.removeprefix(_BOM)))

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; raises SourceError when the file is not Python that this one reads."""
        try:
            return ast.parse(self.text.removeprefix(_BOM), self.display)
        except SyntaxError as error:
            raise SourceError(f"syntax error: {error.msg}", error.lineno or 1) from error
        except (RecursionError, MemoryError) as error:
            raise SourceError("nested too deeply to be parsed") from error
        except ValueError as error:
            raise SourceError(str(error)) from error

    def column(self, line: int, offset: int) -> int:
        """Turn a line (from 1) and a UTF-8 byte offset (from 0) into a column (from 1)."""
        if not 1 <= line <= len(self.lines):
            return 1
        text = self.lines[line - 1]
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8")[:offset].decode("utf-8", "ignore")) + 1

    def span(self, node: ast.AST) -> Span:
        """Give the place of a node as users count."""
        line = getattr(node, "lineno", 1)
        end = getattr(node, "end_lineno", None) or line
        return Span(
            self.display,
            line,
            self.column(line, getattr(node, "col_offset", 0)),
            end,
            self.column(end, getattr(node, "end_col_offset", None) or 0),
        )
