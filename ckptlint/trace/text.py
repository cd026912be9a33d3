"""A picture for the terminal: lanes for the rank classes, the source line beside each row."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from ckptlint.report.frame import cells, visible
from ckptlint.report.styled import Piece, Screen
from ckptlint.trace.picture import (
    REMARKS,
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

_Live = tuple[bool, ...]
_Drawn = Generator[Piece, None, tuple[bool, ...]]

_NARROW, _WIDE = 12, 22  # cells of a lane
_DIFFERS = "differs by rank"
_SOURCE = 30  # below so many cells for the source, it goes on a line of its own


@dataclass(frozen=True)
class Glyphs:
    """The characters of a picture."""

    rail: str = "│"
    bar: str = "━"
    broken: str = "╌"
    calls: str = "●"
    misses: str = "○"
    yes: str = "◆"
    no: str = "◇"
    leaves: str = "┴"
    opens: str = "╭"
    holds: str = "│"
    closes: str = "╰"
    folded: str = "═"


PLAIN = Glyphs("|", "=", "-", "*", "o", "+", "-", "^", ",", "|", "`", "#")


def render(pictures: Sequence[Picture], screen: Screen, glyphs: Glyphs) -> str:
    """Draw pictures one below the other."""
    pieces: list[Piece] = []
    for number, picture in enumerate(pictures):
        pieces.append(("\n" if number else "", ""))
        pieces.extend(_Drawing(picture, screen.width, glyphs).draw())
    return screen.paint(pieces)


def description(picture: Picture) -> str:
    """Draw a picture in plain characters, for readers who see no graphics."""
    return Screen().paint(_Drawing(picture, 120, Glyphs()).draw())


class _Drawing:
    """One picture on lines of so many cells."""

    def __init__(self, picture: Picture, width: int, glyphs: Glyphs) -> None:
        self.picture = picture
        self.glyphs = glyphs
        self.width = max(width, 40)
        self.file = picture.file
        self.gutter = 2 * _depth(picture.rows)
        count = len(picture.columns)
        self.lane = min(_WIDE, max(_NARROW, (self.width // 2 - self.gutter) // count))
        known = list(places(picture.rows))
        self.indents = indentation(known)
        self.number = max((len(place.seen_from(self.file)) for place in known), default=0)
        used = self.gutter + self.lane * count + self.number + 2
        self.beside = self.width - used >= _SOURCE
        self.room = self.width - used if self.beside else self.width - self.number - 2
        self.last: Place | None = None

    def draw(self) -> Iterator[Piece]:
        picture = self.picture
        yield f"{picture.file}", "strong"
        yield f"  {picture.function}", "related"
        alone = any(meeting.outcome == "alone" for meeting in picture.meetings)
        yield f"  {picture.summary}\n\n", "error" if alone else "dim"
        if picture.rows:
            live = (True,) * len(picture.columns)
            yield from self._heads()
            yield from self._line("", _Lanes(self, live))
            live = yield from self._rows(picture.rows, "", live)
            yield from self._line("", _Lanes(self, live))
            yield "\n", ""
        for note in picture.notes:
            yield note.code, note.severity
            yield f" {note.place}: {note.message}\n", "strong"
            yield "help", "help"
            yield f": {note.help}\n", ""

    def _heads(self) -> Iterator[Piece]:
        heads = " " * self.gutter
        for column in self.picture.columns:
            name = column.name if len(column.name) < self.lane else column.short
            heads += f"{name:^{self.lane}}"
        yield f"{heads.rstrip()}\n", "strong"

    # -- rows ----------------------------------------------------------------------------------

    def _rows(self, rows: Sequence[Row], gutter: str, live: _Live) -> _Drawn:
        for row in rows:
            lanes = _Lanes(self, live)
            match row:
                case Meeting():
                    yield from self._meeting(row, gutter, live)
                case Parting():
                    for index, truth in enumerate(row.truths):
                        if truth is not None:
                            sign = self.glyphs.yes if truth else self.glyphs.no
                            lanes.put(index, sign, "related")
                            lanes.label(index, "yes" if truth else "no", "related")
                    yield from self._line(gutter, lanes, row.place, row.reason, _DIFFERS)
                case Leaving():
                    role = "dim" if all(row.leaves) else "warning"
                    for index in _marked(row.leaves):
                        lanes.put(index, self.glyphs.leaves, role)
                        lanes.label(index, row.kind, role)
                    yield from self._line(gutter, lanes, row.place)
                    live = tuple(on and not gone for on, gone in zip(live, row.leaves, strict=True))
                case Region():
                    yield from self._region(row, gutter, live)
        return live

    def _meeting(self, row: Meeting, gutter: str, live: _Live) -> Iterator[Piece]:
        lanes = _Lanes(self, live)
        role = {"meets": "help", "alone": "error"}.get(row.outcome, "related")
        bar = self.glyphs.broken if row.outcome == "alone" else self.glyphs.bar
        lanes.join([i for i, cell in enumerate(row.cells) if cell], bar, role)
        for index, cell in enumerate(row.cells):
            if cell:
                sign = self.glyphs.calls if cell == "calls" else self.glyphs.misses
                lanes.put(index, sign, role)
        yield from self._line(gutter, lanes, row.places[0], REMARKS[row.outcome], tags=row.codes)
        if row.outcome == "alone":
            lanes = _Lanes(self, live)
            for index, cell in enumerate(row.cells):
                if cell:
                    lanes.center(index, "waits" if cell == "calls" else "never comes", role)
            yield from self._line(gutter, lanes)
        for place in row.places[1:]:
            yield from self._line(gutter, _Lanes(self, live), place)

    def _region(self, row: Region, gutter: str, live: _Live) -> Iterator[Piece]:
        lanes = _Lanes(self, live)
        if row.count:
            role = "help"
            lanes.join(_marked(row.enters), self.glyphs.folded, role)
            yield from self._line(gutter, lanes, row.place, remark=folded(row))
            return
        remark = entered(row)
        yield from self._line(gutter + self.glyphs.opens, lanes, row.place, remark, remark)
        yield from self._rows(row.rows, gutter + self.glyphs.holds + " ", live)
        yield from self._line(gutter + self.glyphs.closes, _Lanes(self, live))

    def _line(
        self,
        gutter: str,
        lanes: _Lanes,
        place: Place | None = None,
        remark: str = "",
        alone: str = "",
        tags: Sequence[str] = (),
    ) -> Iterator[Piece]:
        """Draw one line. A source line that was just shown is not repeated: ``alone`` is said."""
        beside: list[Piece] = []
        if place is not None:
            repeated = place == self.last and alone
            self.last = place
            text = place.text[self.indents[place.file] :]
            number = "" if repeated else place.seen_from(self.file)
            beside.append((f"{number:>{self.number}}  ", "gutter"))
            if repeated:
                beside.append((clipped(f"{self.glyphs.closes} {alone}", self.room), "related"))
            else:
                tag = "".join(f"  {code}" for code in tags)
                tag = tag or (f"  {remark}" if remark else "")
                beside.append((clipped(text, self.room - len(tag)), "strong" if tags else ""))
                beside.append((tag, "error" if tags else "dim"))
        drawn = [(f"{gutter:<{self.gutter}}", "gutter"), *lanes.pieces()]
        lines = [[*drawn, *beside]] if self.beside or not beside else [beside, drawn]
        for line in lines:
            yield from _stripped(line)
            yield "\n", ""


class _Lanes:
    """The lanes of one line, cell by cell."""

    def __init__(self, drawing: _Drawing, live: _Live) -> None:
        self.lane = drawing.lane
        self.signs = [" "] * (self.lane * len(live))
        self.roles = [""] * len(self.signs)
        for index in _marked(live):
            self.put(index, drawing.glyphs.rail, "gutter")

    def put(self, index: int, sign: str, role: str) -> None:
        self._write(self._middle(index), sign, role)

    def label(self, index: int, text: str, role: str) -> None:
        self._write(self._middle(index) + 2, text, role)

    def center(self, index: int, text: str, role: str) -> None:
        text = text if len(text) < self.lane else "absent"
        self._write(self._middle(index) - len(text) // 2, text, role)

    def join(self, indices: Sequence[int], bar: str, role: str) -> None:
        if indices:
            start, end = self._middle(indices[0]), self._middle(indices[-1])
            passed = {self._middle(i) for i in range(indices[0], indices[-1]) if i not in indices}
            for at in range(start, end + 1):
                if at not in passed:
                    self._write(at, bar, role)

    def pieces(self) -> Iterator[Piece]:
        yield from zip(self.signs, self.roles, strict=True)

    def _middle(self, index: int) -> int:
        return index * self.lane + self.lane // 2

    def _write(self, start: int, text: str, role: str) -> None:
        for at, sign in enumerate(text, start):
            if at < len(self.signs):
                self.signs[at], self.roles[at] = sign, role


def clipped(text: str, room: int) -> str:
    """Cut a text to so many cells of the terminal."""
    shown = "".join(map(visible, text))
    if sum(map(cells, shown)) <= room:
        return shown
    while shown and sum(map(cells, shown)) >= room:
        shown = shown[:-1]
    return f"{shown}…"


def _stripped(line: Sequence[Piece]) -> list[Piece]:
    """Join pieces of one role and drop the blanks at the end of a line."""
    joined: list[Piece] = []
    for text, role in line:
        if joined and (joined[-1][1] == role or not text.strip()):
            joined[-1] = (joined[-1][0] + text, joined[-1][1])
        else:
            joined.append((text, role))
    while joined and not joined[-1][0].strip():
        joined.pop()
    if joined:
        joined[-1] = (joined[-1][0].rstrip(), joined[-1][1])
    return joined


def _marked(flags: Sequence[bool]) -> list[int]:
    return [index for index, flag in enumerate(flags) if flag]


def _depth(rows: Sequence[Row]) -> int:
    inner = [1 + _depth(row.rows) for row in rows if isinstance(row, Region) and not row.count]
    return max(inner, default=0)
