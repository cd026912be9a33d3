"""Pictures as one page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ckptlint.trace.picture import Picture
from ckptlint.trace.style import PAGE, SHAPES, THEMES
from ckptlint.trace.svg import inline


def render(pictures: Sequence[Picture]) -> str:
    """Write the page."""
    files = ", ".join(dict.fromkeys(picture.file for picture in pictures))
    body = "".join(_section(picture, number) for number, picture in enumerate(pictures))
    return page(f"What each rank does in {files}", "", body)


def page(title: str, style: str, body: str, script: str = "") -> str:
    """Write a page; ``style``, ``body`` and ``script`` are taken as they are."""
    code = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{THEMES}{PAGE}{SHAPES}{style}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>\n{body}</main>{code}</body></html>\n"
    )


def figure(picture: Picture, name: str) -> str:
    """Draw a picture for a page; a wide one can be scrolled, by the keyboard too."""
    label = escape(f"What each rank does in {picture.function}")
    return f'<figure tabindex="0" aria-label="{label}">{inline(picture, name)}</figure>'


def _section(picture: Picture, number: int) -> str:
    notes = "".join(
        f'<li><b class="code {note.severity}">{escape(note.code)}</b> {escape(note.place)}: '
        f'{escape(note.message)}<br><span class="faint">{escape(note.help)}</span></li>'
        for note in picture.notes
    )
    return (
        f"<section><h2>{escape(picture.function)}</h2>"
        f'<p class="faint">{escape(picture.file)}: {escape(picture.summary)}</p>'
        f"{figure(picture, f'p{number}')}"
        + (f'<ul class="notes">{notes}</ul>' if notes else "")
        + "</section>\n"
    )
