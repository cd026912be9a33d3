"""A piece of source as HTML, with the spans of a finding marked and their messages below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from ckptlint.finding import Finding, Span
from ckptlint.report.frame import Mark, shown_lines
from ckptlint.source import Source, SourceError


@dataclass(frozen=True)
class _Note:
    """A marked place; ``kind`` is ``main`` or ``aside``."""

    span: Span
    message: str
    kind: str


def excerpt(finding: Finding, sources: dict[str, Source]) -> str:
    """Show the lines that a finding names, file by file, its own first."""
    notes = [_Note(finding.span, finding.name.replace("-", " "), "main")]
    notes += [_Note(related.span, related.message, "aside") for related in finding.related]
    files = dict.fromkeys(note.span.name for note in notes)
    return "".join(
        _file(name, [note for note in notes if note.span.name == name], sources[name])
        for name in files
        if name in sources
    )


def _file(name: str, notes: Sequence[_Note], source: Source) -> str:
    try:
        lines = source.lines
    except SourceError:
        return ""
    marks = [Mark(note.span, note.message, "", "") for note in notes]
    numbers = shown_lines(marks, len(lines), lines)
    cut = _indentation([lines[number - 1] for number in numbers])
    rows: list[str] = []
    last = 0
    for number in numbers:
        if last and number != last + 1:
            rows.append('<li class="gap">⋯</li>')
        last = number
        rows.append(f'<li value="{number}">{_line(lines[number - 1], number, notes, cut)}</li>')
    title = f'<p class="path">{escape(name)}</p>'
    return f'{title}<ol class="source" tabindex="0">{"".join(rows)}</ol>'


def _indentation(lines: Sequence[str]) -> int:
    """Return how many blanks all lines begin with."""
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)


def _line(text: str, number: int, notes: Sequence[_Note], cut: int) -> str:
    """Mark the spans on a line; where two overlap the piece belongs to the shorter one.

    ``cut`` is the indentation that is left out.
    """
    text = text.rstrip("\r\n")
    here = [note for note in notes if note.span.line <= number <= note.span.end_line]
    edges = {min(cut, len(text)), len(text)}
    for note in here:
        edges.update(max(cut, edge) for edge in _columns(note.span, number, len(text)))
    pieces: list[str] = []
    ordered = sorted(edges)
    for start, end in pairwise(ordered):
        over = [n for n in here if _covers(n.span, number, len(text), start, end)]
        piece = escape(text[start:end])
        if over:
            kind = min(over, key=lambda n: _width(n.span, number, len(text))).kind
            piece = f'<mark class="{kind}">{piece}</mark>'
        pieces.append(piece)
    return f"<code>{''.join(pieces)}</code>{''.join(_messages(text, number, here, cut))}"


def _messages(text: str, number: int, notes: Sequence[_Note], cut: int) -> Iterator[str]:
    for note in sorted(notes, key=lambda note: -note.span.column):
        if note.span.line == number and note.message:
            indent = text[cut : note.span.column - 1].expandtabs(4)
            yield (
                f'<span class="said {note.kind}" style="--at:{len(indent)}">'
                f"{escape(note.message)}</span>"
            )


def _columns(span: Span, number: int, length: int) -> tuple[int, int]:
    start = span.column - 1 if span.line == number else 0
    end = span.end_column - 1 if span.end_line == number else length
    return min(start, length), min(max(start, end), length)


def _covers(span: Span, number: int, length: int, start: int, end: int) -> bool:
    first, last = _columns(span, number, length)
    return first <= start and end <= last


def _width(span: Span, number: int, length: int) -> int:
    first, last = _columns(span, number, length)
    return last - first
