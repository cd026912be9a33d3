"""A unified patch of what the fixes would change, as ``git apply`` takes it.

Of a notebook the changed cells are shown, which no tool can apply: a patch of its JSON would be
hard to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import diff_bytes, unified_diff

from ckptlint.source import Source

_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def patch(changes: Iterable[tuple[Source, Source]]) -> bytes:
    """Return the patch of several files, in bytes since each keeps its own encoding."""
    return b"".join(
        line
        for before, after in changes
        for old, new in zip(before.pieces.values(), after.pieces.values(), strict=True)
        for line in _file(old, new)
    )


def _file(before: Source, after: Source) -> Iterator[bytes]:
    lines = diff_bytes(
        unified_diff,
        _lines(before.data),
        _lines(after.data),
        _name("a", before.display),
        _name("b", after.display),
    )
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[bytes]:
    """Split where git does: at line feeds only."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [
        line for line in data.split(b"\n")[-1:] if line
    ]


def _name(side: str, display: str) -> bytes:
    name = f"{side}/{display.lstrip('/')}"
    if any(character in _ESCAPES for character in name):
        quoted = "".join(_ESCAPES.get(character, character) for character in name)
        return f'"{quoted}"'.encode("utf-8", "surrogateescape")
    # A name with a space ends at a tab, as git writes it.
    return (name + ("\t" if " " in name else "")).encode("utf-8", "surrogateescape")
