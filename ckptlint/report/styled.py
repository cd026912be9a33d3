"""Text in pieces, each with the role it plays, so that colour is decided in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Piece = tuple[str, str]
"""A text and its role, a key of the palette; "" is plain."""

_PALETTE: Mapping[str, str] = {
    "error": "bold red",
    "warning": "bold yellow",
    "strong": "bold",
    "gutter": "bold blue",
    "related": "bold cyan",
    "help": "bold green",
    "dim": "dim",
    "added": "green",
    "removed": "red",
    "hunk": "cyan",
}


@dataclass(frozen=True)
class Screen:
    """Where text goes. ``colours`` names a colour system of rich ("standard", "256",
    "truecolor"), or is None where nobody looks; ``width`` is in cells."""

    width: int = 160
    colours: str | None = None

    def paint(self, pieces: Iterable[Piece]) -> str:
        """Join pieces, in colour where a person looks."""
        if self.colours is None:
            return "".join(text for text, _ in pieces)
        from rich.color import ColorSystem
        from rich.style import Style

        systems = {
            "standard": ColorSystem.STANDARD,
            "256": ColorSystem.EIGHT_BIT,
            "truecolor": ColorSystem.TRUECOLOR,
        }
        system = systems.get(self.colours, ColorSystem.STANDARD)
        return "".join(
            Style.parse(_PALETTE[role]).render(text, color_system=system) if role else text
            for text, role in pieces
        )
