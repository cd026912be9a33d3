"""A source file: its bytes, its text and the mapping between the two ways of counting columns.

``ast`` counts columns in UTF-8 bytes from 0, users and LibCST count code points. Everything that
leaves the analysis goes through :meth:`Source.span`, so the seam is in one place.
"""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ckptlint.finding import Edit, Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_NEWLINE = re.compile(rb"\r\n|\r|\n")
_BOM = "\ufeff"
_SUPPRESSES = re.compile(rb"#\s*(?:ckptlint:|noqa[^\r\n]*CKP)", re.IGNORECASE)
# Everything that is no part of a name becomes a space; names may hold any letter of UTF-8.
_SPACED = bytes(
    byte if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_") else ord(" ")
    for byte in range(256)
)


class SourceError(Exception):
    """A file cannot be analysed. ``line`` counts from 1, in the ``cell`` of a notebook if any."""

    def __init__(self, reason: str, line: int = 1, cell: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.cell = cell


def words(data: bytes) -> frozenset[bytes]:
    """Return the words in a piece of source, those of comments and strings included."""
    return frozenset(data.translate(_SPACED).split())


def named_as_test(name: str) -> bool:
    """Say whether a file has the name of a test's."""
    stem = os.path.splitext(name)[0]
    return stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"


def split_lines(text: str) -> tuple[str, ...]:
    """Return the lines with their ends, split where Python splits them (not at form feeds)."""
    return tuple(_LINE.findall(text))


def parsed(text: str, name: str) -> ast.Module:
    """Parse a text; raises SourceError when it is not Python that this one reads."""
    try:
        return ast.parse(text, name)
    except SyntaxError as error:
        raise SourceError(f"syntax error: {error.msg}", error.lineno or 1) from error
    except (RecursionError, MemoryError) as error:
        raise SourceError("nested too deeply to be parsed") from error
    except ValueError as error:
        raise SourceError(str(error)) from error


@dataclass(frozen=True, eq=False)
class Source:
    """One file as read. ``display`` is how the user would name it, in every output.

    ``importable`` says that other files may import it.
    """

    path: Path
    display: str
    data: bytes

    importable = True

    @property
    def code(self) -> bytes:
        """The bytes that are code, where a quick look for a word is enough."""
        return self.data

    @property
    def opaque(self) -> bool:
        """Whether the words of the file do not tell what is in it, as in UTF-16."""
        return b"\0" in self.data

    @cached_property
    def tests(self) -> bool:
        """Whether the file has the name of a test's."""
        return named_as_test(self.path.name)

    @property
    def suppresses(self) -> bool:
        """Whether a comment in the file may silence a finding."""
        return _SUPPRESSES.search(self.code) is not None

    @cached_property
    def _starts(self) -> Sequence[int]:
        """The offset in ``code`` at which each line starts, and its end."""
        return [0, *(match.end() for match in _NEWLINE.finditer(self.code)), len(self.code)]

    def words(self, node: ast.stmt | ast.expr) -> Collection[bytes]:
        """Return the words in the lines of a node, those of comments and strings included.

        They are taken from the bytes, which is many times quicker than to walk the node.
        """
        first, end = self.extent(node)
        return words(self.code[first:end])

    def extent(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Return the offsets in ``code`` between which the lines of a node stand, decorators
        included."""
        last = len(self._starts) - 1
        lines = [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]
        first = min(min(lines) - 1, last)
        return self._starts[first], self._starts[min(node.end_lineno or last, last)]

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
        """The lines with their ends, as Python counts them."""
        return split_lines(self.text.removeprefix(_BOM))

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; raises SourceError when the file is not Python that this one reads."""
        return parsed(self.text.removeprefix(_BOM), self.display)

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

    def edited(self, edits: Sequence[Edit]) -> Source:
        """Return the source with edits spliced in; every byte outside of them stays as it was.

        Raises UnicodeEncodeError when the file's encoding cannot hold the new text.
        """
        text = "".join(self.lines)
        start, end, replaced = self._spliced(text, edits)
        changed = f"{text[:start]}{replaced}{text[end:]}"
        # The codec of a file with a byte-order mark is utf-8-sig, which writes the mark again.
        return replace(self, data=changed.encode(self.encoding))

    def spliced(self, edits: Sequence[Edit]) -> tuple[Span, str]:
        """Return one replacement that does what several edits of the file do."""
        spans = [edit.span for edit in edits]
        first, last = min(spans), max(spans)
        whole = Span(first.path, first.line, first.column, last.end_line, last.end_column)
        return whole, self._spliced("".join(self.lines), edits)[2]

    def _spliced(self, text: str, edits: Sequence[Edit]) -> tuple[int, int, str]:
        """Return the offsets between which ``text`` changes, and what then stands there."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))

        def offset(line: int, column: int) -> int:
            return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

        ordered = sorted(edits, key=lambda edit: edit.span)
        start = position = offset(ordered[0].span.line, ordered[0].span.column)
        pieces: list[str] = []
        for edit in ordered:
            pieces += [text[position : offset(edit.span.line, edit.span.column)], edit.text]
            position = offset(edit.span.end_line, edit.span.end_column)
        return start, position, "".join(pieces)

    # -- how reports and other programs see it (a notebook: by its cells) ------------------------

    @property
    def pieces(self) -> Mapping[str, Source]:
        """What reports show, by :attr:`Span.name`: the file itself, or the cells of a notebook."""
        return {self.display: self}

    def row(self, line: int) -> int:
        """Return the line of the file in which a line stands (both from 1)."""
        return line

    def line(self, cell: int, line: int) -> int:
        """Return the line of the analysis that is a line of a cell (both from 1)."""
        return line

    def placed(self, span: Span) -> Span:
        """Return a place of the analysis as the user counts it."""
        return span

    def written(self, text: str) -> str:
        """Return a piece of the text that was analysed as the user writes it."""
        return text
