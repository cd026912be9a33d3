"""Places in the two ways of counting: lines from 1 and code points from 1 in findings; in the
protocol lines from 0 and code units of the encoding that client and server agreed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from ckptlint.finding import Span
from ckptlint.server.documents import Desk, Shown
from ckptlint.source import Source, SourceError


@dataclass(frozen=True)
class Places:
    """Turns spans of one report into places of the protocol. ``sources`` are its texts by the name
    of a span; ``cwd`` the folder that paths are relative to."""

    desk: Desk
    sources: Mapping[str, Source]
    cwd: Path
    codec: PositionCodec

    def shown(self, span: Span) -> Shown:
        """Return the text that holds a span: an open one with its version, or a file."""
        path = self.cwd / span.path
        found = self.desk.shown(path, span)
        return found or Shown(from_fs_path(str(path)) or path.as_uri(), None)

    def range(self, span: Span) -> types.Range:
        """Return where a span begins and ends in its text."""
        return types.Range(
            self._position(span, span.line, span.column),
            self._position(span, span.end_line, span.end_column),
        )

    def start(self, span: Span) -> types.Range:
        """Return the line on which a span begins, as a range without width."""
        position = self._position(span, span.line, span.column)
        return types.Range(position, position)

    def location(self, span: Span) -> types.Location:
        """Return a span with the text that holds it."""
        return types.Location(self.shown(span).uri, self.range(span))

    def _position(self, span: Span, line: int, column: int) -> types.Position:
        lines = lines_of(self.sources.get(span.name))
        text = lines[line - 1] if line <= len(lines) else ""
        return types.Position(line - 1, self.codec.client_num_units(text[: column - 1]))


def lines_of(source: Source | None) -> tuple[str, ...]:
    """Return the lines of a text; none when it cannot be read."""
    try:
        return () if source is None else source.lines
    except SourceError:
        return ()


def column_of(codec: PositionCodec, line: str, character: int) -> int:
    """Turn a place on a line as the client counts it into a column, from 1."""
    column = 0
    while character > 0 and column < len(line):
        character -= codec.client_num_units(line[column])
        column += 1
    return column + 1
