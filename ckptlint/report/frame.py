"""A piece of source with its line numbers, and marks with their messages below the lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ckptlint.finding import Span
from ckptlint.report.styled import Piece
from ckptlint.source import Source, SourceError

_CONTEXT = 1  # lines before the first mark and after the last
_BRIDGE = 3  # so many lines between two marks are shown rather than left out
_TALL = 6  # a marked statement is shown to its end up to this many lines
_TAB = 4


@dataclass(frozen=True)
class Mark:
    """A place to underline. ``sign`` is the character that underlines, ``role`` its colour."""

    span: Span
    message: str
    sign: str
    role: str


def frame(source: Source, marks: Sequence[Mark], gutter: int, width: int) -> Iterator[Piece]:
    """Draw the lines that ``marks`` stand on. ``gutter`` is the width of the line numbers.

    A source that cannot be decoded draws nothing.
    """
    try:
        lines = source.lines
    except SourceError:
        return
    room = max(40, width - gutter - 3)
    last = 0
    for number in shown_lines(marks, len(lines), lines):
        if last and number != last + 1:
            yield f"{'.' * 3:>{gutter + 2}}\n", "gutter"
        last = number
        here = sorted(
            (mark for mark in marks if mark.span.line == number),
            key=lambda mark: mark.span.column,
        )
        drawn = _Line(lines[number - 1], here, room)
        yield f"{number:>{gutter}} |", "gutter"
        yield (f" {drawn.text}".rstrip() + "\n", "")
        for mark in here:
            yield f"{'':>{gutter}} |", "gutter"
            start, end = drawn.cells(mark.span)
            yield " " * (start + 1), ""
            yield mark.sign * max(1, end - start), mark.role
            yield (f" {mark.message}" if mark.message else ""), mark.role
            yield "\n", ""


def gutter_width(spans: Iterable[Span]) -> int:
    """Return how wide the line numbers are."""
    return max(len(str(span.end_line + _CONTEXT)) for span in spans)


def shown_lines(marks: Sequence[Mark], count: int, lines: Sequence[str]) -> list[int]:
    """Return the numbers of the lines to draw."""
    wanted: set[int] = set()
    for mark in marks:
        tall = mark.span.end_line - mark.span.line < _TALL
        end = mark.span.end_line if tall else mark.span.line
        wanted.update(range(mark.span.line, end + 1))
    ordered = sorted(wanted)
    for here, following in pairwise(ordered):
        if following - here <= _BRIDGE + 1:
            wanted.update(range(here, following))
    around = [*range(ordered[0] - _CONTEXT, ordered[0])]
    around += range(ordered[-1] + 1, ordered[-1] + 1 + _CONTEXT)
    wanted.update(n for n in around if 1 <= n <= count and lines[n - 1].strip())
    return sorted(n for n in wanted if 1 <= n <= count)


class _Line:
    """A line as the terminal shows it, and where its columns come to stand.

    Tabs are widened, characters that would steer the terminal are replaced, and of a line longer
    than ``room`` the part around its first mark is shown.
    """

    def __init__(self, line: str, marks: Sequence[Mark], room: int) -> None:
        shown = [visible(character) for character in line.rstrip()]
        self._stops = [0]
        for text in shown:
            self._stops.append(self._stops[-1] + sum(map(cells, text)))
        first = min((mark.span.column - 1 for mark in marks), default=0)
        first = min(first, len(shown))
        self._from = 0
        if self._stops[-1] > room and self._stops[first] > room // 2:
            target = self._stops[first] - room // 3
            self._from = next(i for i, stop in enumerate(self._stops) if stop >= target)
        base = self._stops[self._from]
        to = len(shown)
        while self._stops[to] - base > room - 2:
            to -= 1
        self._left = "…" if self._from else ""
        self._to = to
        self.text = self._left + "".join(shown[self._from : to])
        if to < len(shown):
            self.text += "…"

    def cells(self, span: Span) -> tuple[int, int]:
        """Return the first cell of a span on this line and the one after its last."""
        end = span.end_column - 1 if span.end_line == span.line else len(self._stops) - 1
        return self._cell(span.column - 1), self._cell(end)

    def _cell(self, column: int) -> int:
        column = max(self._from, min(column, self._to))
        return self._stops[column] - self._stops[self._from] + len(self._left)


def visible(character: str) -> str:
    """Return what to show of a character: nothing that steers the terminal."""
    if character == "\t":
        return " " * _TAB
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return "\N{REPLACEMENT CHARACTER}"


def cells(character: str) -> int:
    """Return how many cells of a terminal a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
