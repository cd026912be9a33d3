"""A picture as SVG: drawn by itself, or as a part of a page that brings the colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ckptlint.report.frame import visible
from ckptlint.trace.picture import (
    REMARKS,
    Column,
    Leaving,
    Meeting,
    Parting,
    Picture,
    Place,
    Region,
    Row,
    entered,
    folded,
    indentation,
    places,
)
from ckptlint.trace.style import STYLE
from ckptlint.trace.words import told

_LANE, _ROW, _STEP, _PAD = 148, 28, 14, 16  # pixels
_CHARACTER = 7.25  # pixels, of the source at 12 pixels
_LETTER = 6.6  # pixels at most on average, of other words
_MOST = 92  # characters of a source line
_HEAD = 92  # pixels above the first row when the picture has its own title


def render(pictures: Sequence[Picture]) -> str:
    """Draw pictures one below the other in a file of their own."""
    drawings = [_Drawing(picture, f"p{n}", True) for n, picture in enumerate(pictures)]
    width = max(drawing.width for drawing in drawings)
    top, parts = 0, []
    for drawing in drawings:
        parts.append(f'<svg y="{top}" {drawing.box}>{drawing.text}</svg>')
        top += drawing.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="trace" viewBox="0 0 {width} {top}"'
        f' width="{width}" height="{top}"><style>{STYLE}</style>'
        f'<rect class="paper" width="{width}" height="{top}"/>{"".join(parts)}</svg>\n'
    )


def inline(picture: Picture, name: str) -> str:
    """Draw a picture for a page that holds the style; ``name`` is unique in the page."""
    drawing = _Drawing(picture, name, False)
    return f'<svg class="trace" {drawing.box}>{drawing.text}</svg>'


class _Drawing:
    """One picture in the making: shapes from the back to the front, and the rails."""

    def __init__(self, picture: Picture, name: str, titled: bool) -> None:
        self.picture = picture
        self.file = picture.file
        known = list(places(picture.rows))
        self.indents = indentation(known)
        self.left = _PAD + _STEP * _depth(picture.rows)
        self.lanes = _LANE * len(picture.columns)
        numbers = (len(place.seen_from(self.file)) for place in known)
        self.number = max(numbers, default=0) * _CHARACTER
        self.beside = self.left + self.lanes + _PAD
        self.right: float = self.beside  # how far the drawing reaches
        self.alarms: list[tuple[float, float]] = []  # top and height of bands behind the rows
        self.back: list[str] = []
        self.front: list[str] = []
        self.last: Place | None = None
        self.y: float = (_HEAD if titled else 40) + (_PAD if titled else 0)
        self._title(titled)
        tops = [self.y - 26.0] * len(picture.columns)
        live = self._rows(picture.rows, 0, [True] * len(tops), tops)
        for index, on in enumerate(live):
            if on:
                self._rail(index, tops[index], self.y + 8)
        self.width, self.height = round(self.right + _PAD), round(self.y + 8 + _PAD)
        self.box = (
            f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
            f' height="{self.height}" role="img" aria-labelledby="{name}-t {name}-d"'
        )
        bands = [
            f'<rect class="alarm" x="{_PAD / 2}" y="{top:g}" rx="6"'
            f' width="{self.width - _PAD}" height="{height:g}"/>'
            for top, height in self.alarms
        ]
        title = f"What each rank does in {picture.function}"
        self.text = (
            f'<title id="{name}-t">{_text(title)}</title><desc id="{name}-d">'
            f"{_text(told(picture))}</desc>{''.join([*self.back, *bands, *self.front])}"
        )

    def _title(self, titled: bool) -> None:
        picture = self.picture
        if titled:
            alone = any(meeting.outcome == "alone" for meeting in picture.meetings)
            self._write(_PAD, 28, picture.function, "name")
            tone = "bad" if alone else "faint"
            summary = f"{picture.file}: {picture.summary}"
            self._write(_PAD, 48, summary, f"small {tone}")
            self.right = max(self.right, _PAD + len(summary) * _LETTER)
        if picture.rows:
            for index, column in enumerate(picture.columns):
                self._head(index, column)

    def _head(self, index: int, column: Column) -> None:
        name = column.name if len(column.name) < 20 else column.short
        x, y = self._x(index), self.y - 40
        width = 24 + 7 * len(name)
        self.front.append(
            f'<rect class="head" x="{x - width / 2}" y="{y}" width="{width}" height="22" rx="11"/>'
        )
        self._write(x, y + 15, name, "small strong middle")

    # -- rows ----------------------------------------------------------------------------------

    def _rows(
        self, rows: Sequence[Row], depth: int, live: list[bool], tops: list[float]
    ) -> list[bool]:
        """Draw rows; return which columns are still there. ``tops`` are where their rails begin."""
        for row in rows:
            middle = self.y + _ROW / 2
            match row:
                case Meeting():
                    self._meeting(row)
                case Parting():
                    for index, truth in enumerate(row.truths):
                        if truth is not None:
                            self._diamond(index, middle, truth)
                    self._source(row.place, row.reason, "differs by rank")
                    self.y += _ROW
                case Leaving():
                    for index, leaves in enumerate(row.leaves):
                        if leaves and live[index]:
                            self._rail(index, tops[index], middle)
                            self._leave(index, middle, row.kind, all(row.leaves))
                    self._source(row.place)
                    self.y += _ROW
                    live = [on and not gone for on, gone in zip(live, row.leaves, strict=True)]
                case Region():
                    self._region(row, depth, live, tops)
        return live

    def _meeting(self, row: Meeting) -> None:
        middle = self.y + _ROW / 2
        tone = {"meets": "meet", "alone": "bad"}.get(row.outcome, "other")
        columns = [index for index, cell in enumerate(row.cells) if cell]
        first, last = self._x(columns[0]), self._x(columns[-1])
        tall = (2 if row.outcome == "alone" else 1) + 0.72 * (len(row.places) - 1)
        if row.outcome == "alone":
            self.alarms.append((self.y - 2, _ROW * tall - 4))
        if len(columns) > 1:
            self.front.append(
                f'<line class="bar {tone}" x1="{first}" x2="{last}" y1="{middle}" y2="{middle}"/>'
            )
        for index in columns:
            x = self._x(index)
            if row.cells[index] == "calls":
                self.front.append(f'<circle class="dot {tone}" cx="{x}" cy="{middle}" r="7"/>')
            else:
                self.front.append(f'<circle class="hole {tone}" cx="{x}" cy="{middle}" r="7"/>')
            if row.outcome == "alone":
                words = "waits" if row.cells[index] == "calls" else "never comes"
                self._write(x, middle + 24, words, "small strong bad middle halo")
        self._source(row.places[0], REMARKS[row.outcome], codes=row.codes)
        for place in row.places[1:]:
            self.y += _ROW * 0.72
            self._source(place)
            self.y -= _ROW * 0.72
        self.y += round(_ROW * tall)

    def _diamond(self, index: int, middle: float, truth: bool) -> None:
        x = self._x(index)
        kind = "yes" if truth else "no"
        self.front.append(f'<path class="test {kind}" d="M{x} {middle - 7}l7 7l-7 7l-7 -7z"/>')
        self._write(x + 13, middle + 4, kind, f"small {'strong' if truth else 'faint'} halo")

    def _leave(self, index: int, middle: float, kind: str, together: bool) -> None:
        x, tone = self._x(index), "faint" if together else "leaves"
        self.front.append(
            f'<line class="cap {tone}" x1="{x - 8}" x2="{x + 8}" y1="{middle}" y2="{middle}"/>'
        )
        self._write(x + 13, middle + 4, kind, f"small strong {tone} halo")

    def _region(self, row: Region, depth: int, live: list[bool], tops: list[float]) -> None:
        if row.count:
            middle = self.y + _ROW / 2
            columns = [index for index, enters in enumerate(row.enters) if enters]
            first, last = self._x(columns[0]), self._x(columns[-1])
            self.front.append(
                f'<rect class="folded" x="{first - 7}" y="{middle - 7}" rx="7"'
                f' width="{last - first + 14}" height="14"/>'
            )
            self._source(row.place, folded(row))
            self.y += _ROW
            return
        top, place = self.y, len(self.back)
        self._source(row.place, entered(row), entered(row))
        self.y += _ROW
        inner = self._rows(row.rows, depth + 1, list(live), tops)
        x = _PAD + _STEP * depth - 6
        self.back.insert(
            place,
            f'<rect class="region {row.kind}" x="{x}" y="{top}" rx="7"'
            f' width="{self.left + self.lanes - x - 5 * depth}" height="{self.y - top + 4}"/>',
        )
        self.y += 10
        for index, on in enumerate(live):
            if on and not inner[index]:
                tops[index] = self.y - 4

    # -- parts ---------------------------------------------------------------------------------

    def _source(
        self, place: Place, remark: str = "", again: str = "", codes: Sequence[str] = ()
    ) -> None:
        """Write a source line; one that was just written is not repeated: ``again`` is said."""
        middle = self.y + _ROW / 2 + 4
        x = self.beside + self.number + _PAD
        if place == self.last and again:
            self._write(x, middle, f"↳ {again}", "small faint")
            self.right = max(self.right, x + (len(again) + 2) * _LETTER)
            return
        self.last = place
        self._write(x - _PAD, middle, place.seen_from(self.file), "code faint end")
        text = place.text[self.indents[place.file] :].expandtabs(4)
        text = text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
        self._write(x, middle, text, "code strong" if codes else "code")
        after = x + len(text) * _CHARACTER + 14
        for code in codes:
            self.front.append(
                f'<rect class="tag" x="{after}" y="{middle - 13}" width="54" height="18" rx="4"/>'
            )
            self._write(after + 27, middle, code, "small strong onbad middle")
            after += 60
        if remark and not codes:
            self._write(after, middle, remark, "small faint")
            after += len(remark) * _LETTER
        self.right = max(self.right, after)

    def _write(self, x: float, y: float, text: str, kind: str) -> None:
        self.front.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{_text(text)}</text>')

    def _rail(self, index: int, top: float, bottom: float) -> None:
        x = self._x(index)
        self.back.append(f'<line class="rail" x1="{x}" x2="{x}" y1="{top:g}" y2="{bottom:g}"/>')

    def _x(self, index: int) -> float:
        return self.left + _LANE * index + _LANE / 2


def _text(text: str) -> str:
    """Escape a text; what no XML may hold is replaced."""
    return escape("".join(map(visible, text)))


def _depth(rows: Sequence[Row]) -> int:
    return max(_depths(rows), default=0)


def _depths(rows: Sequence[Row]) -> Iterator[int]:
    for row in rows:
        if isinstance(row, Region) and not row.count:
            yield 1 + _depth(row.rows)
