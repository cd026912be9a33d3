"""The JSON of a notebook: where the source of each cell stands, and how to change one in place.

Everything outside a changed source keeps its bytes: outputs, metadata, the order of keys,
indentation and escapes. Inside it the characters that an edit leaves alone keep their spelling.

Source: nbformat, "The Notebook file format".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ckptlint.source import SourceError

_SPACE = re.compile(r"[ \t\r\n]*")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Place:
    """Where the source of a cell stands in the JSON: from ``start`` to ``end``, and each of the
    strings that it is made of, quotes included. ``listed`` when these are the items of a list."""

    start: int
    end: int
    strings: tuple[tuple[int, int], ...]
    listed: bool


@dataclass(frozen=True)
class CodeCell:
    """A cell of Python. ``number`` counts all cells of the notebook from 1."""

    number: int
    text: str
    place: Place


@dataclass(frozen=True)
class Replacement:
    """New text for a piece of a cell; offsets count the characters of the cell from 0."""

    start: int
    end: int
    text: str


def code_cells(text: str) -> tuple[CodeCell, ...]:
    """Return the cells of Python. Raises SourceError when this is no notebook that we read."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"not valid JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise SourceError("nested too deeply to be read") from error
    if not isinstance(document, dict) or not isinstance(document.get("nbformat"), int):
        raise SourceError("not a notebook: it does not say which nbformat it has")
    if document["nbformat"] < 4:
        raise SourceError(
            f"a notebook of the old format {document['nbformat']};"
            " `jupyter nbconvert --to notebook --inplace FILE` makes one of format 4"
        )
    cells = document.get("cells")
    if not isinstance(cells, list):
        raise SourceError("not a notebook: it has no list of cells")
    if not _speaks_python(document):
        return ()
    return tuple(
        CodeCell(number, _joined(cell["source"]), place)
        for number, (cell, place) in enumerate(zip(cells, _places(text), strict=True), 1)
        if place is not None and _is_python(cell)
    )


def _speaks_python(document: dict[str, Any]) -> bool:
    """Say whether the cells are meant for a Python kernel; a notebook that does not say is."""
    metadata = document.get("metadata")
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        language = part.get(name) if isinstance(part, dict) else None
        if isinstance(language, str):
            return language.lower() in ("python", "ipython")
    return True


def _is_python(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    metadata = cell.get("metadata")
    own = metadata.get("vscode") if isinstance(metadata, dict) else None
    return not isinstance(own, dict) or own.get("languageId", "python") == "python"


def _joined(source: object) -> str:
    return "".join(source) if isinstance(source, list) else str(source)


def _places(text: str) -> Iterator[Place | None]:
    """Yield where the source of each cell stands; None for a cell that has no proper one."""
    cells = _member(text, _skip(text, 0), "cells")
    assert cells is not None
    for start, _ in _items(text, cells[0]):
        found = _member(text, start, "source") if text[start] == "{" else None
        yield None if found is None else _place(text, *found)


def _place(text: str, start: int, end: int) -> Place | None:
    if text[start] == '"':
        return Place(start, end, ((start, end),), listed=False)
    strings = tuple(_items(text, start)) if text[start] == "[" else None
    if strings is None or any(text[first] != '"' for first, _ in strings):
        return None
    return Place(start, end, strings, listed=True)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where the items of a list begin and end."""
    position = _skip(text, start + 1)
    while text[position] != "]":
        _, end = _decode(text, position)
        yield position, end
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)


def _member(text: str, start: int, key: str) -> tuple[int, int] | None:
    """Return where the value of a key begins and ends in the object at ``start``; of several
    equal keys the last counts, as it does for ``json``."""
    found: tuple[int, int] | None = None
    position = _skip(text, start + 1)
    while text[position] != "}":
        name, colon = _decode(text, position)
        value = _skip(text, _skip(text, colon) + 1)
        _, end = _decode(text, value)
        if name == key:
            found = (value, end)
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def rows(text: str, place: Place) -> tuple[int, ...]:
    """Return on which line of the JSON each line of a cell begins (both from 1)."""
    found: list[int] = []
    begins = True
    for start, end in place.strings:
        row = text.count("\n", 0, start) + 1
        piece: str = json.loads(text[start:end])
        found += [row] * (piece.count("\n") + begins - piece.endswith("\n"))
        begins = piece.endswith("\n")
    return tuple(found)


def rewritten(text: str, place: Place, replacements: Sequence[Replacement]) -> str:
    """Return the JSON of one cell's source with pieces of it replaced, in order of their start."""
    characters = [
        character
        for start, end in place.strings
        for character in _CHARACTER.findall(text, start + 1, end - 1)
    ]
    ascii_only = text.isascii() and _ESCAPED.search(text) is not None
    spliced: list[str] = []
    position = 0
    for each in replacements:
        spliced += characters[position : each.start]
        spliced += (json.dumps(letter, ensure_ascii=ascii_only)[1:-1] for letter in each.text)
        position = each.end
    spliced += characters[position:]
    return _listed(text, place, spliced) if place.listed else f'"{"".join(spliced)}"'


def _listed(text: str, place: Place, characters: Sequence[str]) -> str:
    """Write the lines of a source as a list, laid out as it was."""
    first, last = place.strings[0], place.strings[-1]
    head, tail = text[place.start : first[0]], text[last[1] : place.end]
    if len(place.strings) > 1:
        between = text[first[1] : place.strings[1][0]]
    else:
        between = f",{head[1:] or ' '}"
    lines: list[list[str]] = [[]]
    for character in characters:
        lines[-1].append(character)
        if json.loads(f'"{character}"') == "\n":
            lines.append([])
    written = [f'"{"".join(line)}"' for line in lines if line]
    return f"{head}{between.join(written)}{tail}" if written else "[]"
