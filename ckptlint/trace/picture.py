"""A picture: columns for the rank classes, and rows from top to bottom in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ckptlint.finding import Span

Outcome = Literal["meets", "alone", "group", "elsewhere"]
Cell = Literal["calls", "misses", ""]
"""Whether a column reaches a call, is waited for in vain, or has nothing to do with it."""


@dataclass(frozen=True)
class Place:
    """A line of a file, or of a notebook's cell, and its text with the indentation it has there.

    ``file`` is the name of either: ``train.ipynb:cell 3``.
    """

    file: str
    line: int
    text: str

    def seen_from(self, file: str) -> str:
        """Name the line for a reader of ``file``: the rest of the name only where it differs."""
        if self.file == file:
            return str(self.line)
        own = self.file.startswith(f"{file}:")
        name = self.file.removeprefix(f"{file}:") if own else self.file.rpartition("/")[2]
        return f"{name}:{self.line}"


@dataclass(frozen=True)
class Column:
    """A rank class: its full name, and a short one where room is scarce."""

    name: str
    short: str


@dataclass(frozen=True)
class Meeting:
    """A collective. ``places`` are where the columns call it, mostly the same place.

    ``outcome``: ``meets`` when every column comes, ``alone`` when a finding says that some never
    do, ``group`` when only a part of the ranks must come, ``elsewhere`` when what they meet does
    not stand beside it (a caller balances it, or another call).
    """

    name: str
    effect: str
    places: tuple[Place, ...]
    cells: tuple[Cell, ...]
    outcome: Outcome
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parting:
    """A rank test; the truth of it in each column, None where the column does not come to it.

    ``reason`` says why only some ranks run a framework's hook.
    """

    place: Place
    reason: str
    truths: tuple[bool | None, ...]


@dataclass(frozen=True)
class Leaving:
    """A ``return``, ``break``, ``continue`` or ``raise`` of the columns that are marked."""

    kind: str
    place: Place
    leaves: tuple[bool, ...]


@dataclass(frozen=True)
class Region:
    """Rows that stand together: a loop, an arm of a choice that all ranks make alike, or a call.

    ``count`` is the number of collectives in a call that is folded because every rank meets the
    others in it; such a region has no rows.
    """

    kind: Literal["loop", "if", "unless", "else", "call"]
    place: Place
    name: str
    rows: tuple[Row, ...]
    enters: tuple[bool, ...]
    count: int = 0


Row: TypeAlias = Meeting | Parting | Leaving | Region


@dataclass(frozen=True)
class Note:
    """A finding in the words of the report; ``where`` names its line for a reader of the file."""

    code: str
    severity: str
    where: str
    message: str
    help: str

    @property
    def place(self) -> str:
        """The place as a reader of the file calls it: ``line 5``, or ``cell 3:5`` in a notebook."""
        return f"line {self.where}" if self.where.isdigit() else self.where


@dataclass(frozen=True)
class Picture:
    """One function. ``file`` is its display name; ``notes`` the findings that the picture shows."""

    file: str
    function: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[Note, ...]

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """All collectives that are drawn, those in regions included."""
        return tuple(_meetings(self.rows))

    @property
    def summary(self) -> str:
        """Say in one sentence what the picture shows."""
        outcomes = [meeting.outcome for meeting in self.meetings]
        total, alone = len(outcomes) + _folded(self.rows), outcomes.count("alone")
        calls = "1 collective" if total == 1 else f"{total} collectives"
        if alone:
            calls = "its one collective" if total == 1 else f"{alone} of {calls}"
            return f"{calls} {'is' if alone == 1 else 'are'} not reached by every rank"
        if not total:
            return "no collective is reached"
        apart = "elsewhere" in outcomes or "group" in outcomes
        return "no rank waits in vain" if apart else f"all ranks meet in {calls}"


Pictures: TypeAlias = Mapping[tuple[str, Span], Picture]
"""Pictures by the code and place of a finding; a finding that compares no ranks has none."""


def _meetings(rows: Sequence[Row]) -> Iterator[Meeting]:
    for row in rows:
        if isinstance(row, Meeting):
            yield row
        elif isinstance(row, Region):
            yield from _meetings(row.rows)


def _folded(rows: Sequence[Row]) -> int:
    return sum(row.count + _folded(row.rows) for row in rows if isinstance(row, Region))


REMARKS = {"meets": "", "alone": "", "group": "only its group meets", "elsewhere": "alone here"}
"""What to say beside a collective of each outcome."""


def folded(region: Region) -> str:
    """Say what a folded call holds."""
    what = "1 collective" if region.count == 1 else f"{region.count} collectives"
    return f"{what} in {region.name}"


def entered(region: Region) -> str:
    """Say beside its first line what kind of region it is, where the line does not show it."""
    words = {"else": "otherwise", "unless": "when false", "call": f"in {region.name}"}
    return words.get(region.kind, "")


def places(rows: Sequence[Row]) -> Iterator[Place]:
    """Yield every place that rows name."""
    for row in rows:
        if isinstance(row, Meeting):
            yield from row.places
        else:
            yield row.place
            if isinstance(row, Region):
                yield from places(row.rows)


def indentation(known: Iterable[Place]) -> dict[str, int]:
    """Return for each file how many blanks all its lines begin with."""
    found: dict[str, int] = {}
    for place in known:
        blanks = len(place.text) - len(place.text.lstrip())
        found[place.file] = min(blanks, found.get(place.file, blanks))
    return found
