"""A notebook as a source: its code cells in order, one program.

The analysis sees lines of the program. What leaves it is placed by cell (:meth:`Notebook.placed`),
and edits go back into the JSON.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ckptlint.finding import Edit, Span
from ckptlint.notebook.document import CodeCell, Replacement, code_cells, rewritten, rows
from ckptlint.notebook.syntax import Masked, masked, plain, runs_python
from ckptlint.source import Source, SourceError, parsed, split_lines

_BOM = "\ufeff"
_ENDS = ("\r", "\n")


@dataclass(frozen=True, eq=False)
class _Part:
    """A cell in the program, which it joins at line ``first`` (from 1)."""

    cell: CodeCell
    first: int
    masked: Masked
    parsed: ast.Module | SourceError

    @property
    def text(self) -> str:
        """The lines in the program, a blank one at the end."""
        code = self.masked.code
        return f"{code}\n" if not code or code.endswith(_ENDS) else f"{code}\n\n"

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The lines as Python reads them."""
        return split_lines(self.masked.code)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines as the user wrote them."""
        return split_lines(self.cell.text)

    def column(self, line: int, column: int) -> int:
        """Turn a column of the program into one of the cell, on a line of the cell."""
        here = self.read[line - 1].rstrip("\r\n") if line <= len(self.read) else ""
        for call, text in self.masked.hidden.items():
            if here.endswith(call) and column > len(here) - len(call) + 1:
                return column - len(call) + len(text)
        return column

    def offset(self, line: int, column: int) -> int:
        """Return how many characters of the cell stand before a place in the program."""
        within = line - self.first
        start = sum(map(len, self.lines[:within]))
        return min(start + self.column(within + 1, column) - 1, len(self.cell.text))


@dataclass(frozen=True)
class CellSource(Source):
    """A cell as reports show it; ``rows`` are the lines of the file in which its lines stand."""

    cell: CodeCell
    rows: tuple[int, ...]

    @cached_property
    def tree(self) -> ast.Module:
        """The statements of the cell; raises SourceError."""
        _, tree = _understood(self.cell)
        if isinstance(tree, SourceError):
            raise tree
        return tree

    def row(self, line: int) -> int:
        """Return the line of the file in which a line of the cell stands."""
        return self.rows[min(line, len(self.rows)) - 1] if self.rows else 1


@dataclass(frozen=True)
class Notebook(Source):
    """An ``.ipynb`` file."""

    importable = False

    @cached_property
    def encoding(self) -> str:
        """JSON is UTF-8; a byte-order mark is kept."""
        return "utf-8-sig" if self.data.startswith(_BOM.encode()) else "utf-8"

    @cached_property
    def json(self) -> str:
        """The file as text."""
        try:
            return self.data.decode(self.encoding)
        except UnicodeDecodeError as error:
            line = 1 + self.data.count(b"\n", 0, error.start)
            raise SourceError(f"not valid utf-8: {error}", line) from error

    @cached_property
    def text(self) -> str:
        """The program: what Python reads of the cells."""
        return "".join(part.text for part in self._parts)

    @property
    def code(self) -> bytes:
        """The bytes of the program alone; outputs say nothing about what a project uses."""
        try:
            return self.text.encode("utf-8", "surrogatepass")
        except SourceError:
            return b""

    @property
    def opaque(self) -> bool:
        """Whether the file cannot be read as a notebook."""
        try:
            _ = self.text
        except SourceError:
            return True
        return False

    @cached_property
    def tree(self) -> ast.Module:
        """The statements of all cells; raises SourceError with the cell that is not Python."""
        body: list[ast.stmt] = []
        for part in self._parts:
            if isinstance(part.parsed, SourceError):
                raise part.parsed
            body += ast.increment_lineno(part.parsed, part.first - 1).body
        return ast.Module(body, [])

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        parts: list[_Part] = []
        first = 1
        for cell in code_cells(self.json):
            if runs_python(cell.text):
                part = _Part(cell, first, *_understood(cell))
                parts.append(part)
                first += len(split_lines(part.text)) - 1
        return tuple(parts)

    # -- back to the cells -----------------------------------------------------------------------

    def _part(self, line: int) -> _Part:
        index = bisect_right(self._parts, line, key=lambda part: part.first)
        return self._parts[max(0, index - 1)]

    def line(self, cell: int, line: int) -> int:
        """Return the line of the program that is a line of a cell; 0 for a cell not in it."""
        first = (part.first for part in self._parts if part.cell.number == cell)
        return next((each + line - 1 for each in first), 0)

    def placed(self, span: Span) -> Span:
        """Return a place of the program as a place of its cell."""
        if span.cell or not self._has_cells:
            return span
        part = self._part(span.line)
        line, end = span.line - part.first + 1, span.end_line - part.first + 1
        column, end_column = part.column(line, span.column), part.column(end, span.end_column)
        return Span(self.display, line, column, end, end_column, part.cell.number)

    @property
    def _has_cells(self) -> bool:
        try:
            return bool(self._parts)
        except SourceError:
            return False

    def written(self, text: str) -> str:
        """Put IPython's syntax back into a piece of the program."""
        return plain(text, {c: t for part in self._parts for c, t in part.masked.hidden.items()})

    @cached_property
    def pieces(self) -> Mapping[str, Source]:
        """The cells, each as a source of its own by the name it has in reports."""
        if not self._has_cells:
            return {self.display: self}
        cells = [
            CellSource(
                self.path,
                name,
                _whole(part.cell.text),
                part.cell,
                rows(self.json, part.cell.place),
            )
            for part in self._parts
            for name in (Span(self.display, 1, 1, 1, 1, part.cell.number).name,)
        ]
        return {cell.display: cell for cell in cells}

    def edited(self, edits: Sequence[Edit]) -> Source:
        """Return the notebook with edits (places of the program) spliced into its cells.

        Raises SourceError when an edit reaches from one cell into another.
        """
        by_cell: defaultdict[_Part, list[Replacement]] = defaultdict(list)
        for edit in sorted(edits, key=lambda edit: edit.span):
            span = edit.span
            part = self._part(span.line)
            if self._part(span.end_line) is not part:
                raise SourceError("an edit reaches into another cell")
            start = part.offset(span.line, span.column)
            end = part.offset(span.end_line, span.end_column)
            by_cell[part].append(Replacement(start, end, self.written(edit.text)))
        text = self.json
        pieces: list[str] = []
        position = 0
        for part, replacements in sorted(by_cell.items(), key=lambda item: item[0].first):
            place = part.cell.place
            pieces += [text[position : place.start], rewritten(text, place, replacements)]
            position = place.end
        pieces.append(text[position:])
        return replace(self, data="".join(pieces).encode(self.encoding))


def _whole(text: str) -> bytes:
    """Encode a cell with the line end that the last line of a file has."""
    return (text if text.endswith("\n") else f"{text}\n").encode("utf-8", "surrogatepass")


def _understood(cell: CodeCell) -> tuple[Masked, ast.Module | SourceError]:
    """Parse a cell as it stands, or else with IPython's syntax hidden."""
    plainly = Masked(cell.text)
    hidden = masked(cell.text, cell.number)
    for code in (plainly, hidden) if hidden.hidden else (plainly,):
        try:
            return code, _parsed(code.code)
        except SourceError as error:
            failure = SourceError(error.reason, error.line, cell.number)
    return code, failure


def _parsed(code: str) -> ast.Module:
    """Parse a cell; as in IPython, all of it may be indented."""
    try:
        return parsed(code, "<cell>")
    except SourceError:
        if code.lstrip("\r\n")[:1] not in (" ", "\t"):
            raise
    try:
        block = parsed(f"if 1:\n{code}", "<cell>").body
    except SourceError as error:
        raise SourceError(error.reason, error.line - 1) from error
    inner = block[0].body if isinstance(block[0], ast.If) else []
    return ast.increment_lineno(ast.Module([*inner, *block[1:]], []), -1)
