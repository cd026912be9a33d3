"""A picture in sentences, for readers who hear it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptlint.trace.picture import Leaving, Meeting, Parting, Picture, Region, Row, folded


def told(picture: Picture) -> str:
    """Tell a picture from top to bottom."""
    names = [column.name for column in picture.columns]
    return " ".join([f"{picture.summary.capitalize()}.", *_rows(picture.rows, names)])


def _rows(rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    for row in rows:
        match row:
            case Meeting():
                yield _meeting(row, names)
            case Parting():
                ranks = [name for name, on in zip(names, row.truths, strict=True) if on]
                yield f"Line {row.place.line} lets in {_and(ranks)}."
            case Leaving():
                ranks = [name for name, on in zip(names, row.leaves, strict=True) if on]
                yield f"Line {row.place.line}, {row.kind}, ends it for {_and(ranks)}."
            case Region(count=0):
                kinds = {"loop": "Repeated", "call": f"In {row.name}"}
                yield f"{kinds.get(row.kind, 'On a condition')}, line {row.place.line}:"
                yield from _rows(row.rows, names)
            case Region():
                yield f"All ranks meet in line {row.place.line}: {folded(row)}."


def _meeting(row: Meeting, names: Sequence[str]) -> str:
    come = [name for name, cell in zip(names, row.cells, strict=True) if cell == "calls"]
    stay = [name for name, cell in zip(names, row.cells, strict=True) if cell == "misses"]
    call = f"{row.name}, line {row.places[0].line}"
    if row.outcome == "meets":
        return f"All ranks meet in {call}."
    waits = f", waiting in vain for {_and(stay)}" if stay else ""
    return f"{call}, is called by {_and(come)}{waits}."


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if names else "no rank"
