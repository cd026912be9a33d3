"""The line above a function that communicates: what each rank does there, in a word or in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ckptlint.engine import Request, analyse
from ckptlint.finding import Span
from ckptlint.portrait import Portrait, plain_name, portraits
from ckptlint.report.styled import Screen
from ckptlint.source import Source
from ckptlint.trace import html, text
from ckptlint.trace.weave import weave

TRACE = "ckptlint.trace"
Format = Literal["text", "html"]


@dataclass(frozen=True)
class Lens:
    """A function and what is said above it; ``span`` is a place of the analysis."""

    span: Span
    function: str
    title: str


def lenses(request: Request, source: Source) -> Iterator[Lens]:
    """Yield a lens for each function of a file that reaches a collective."""
    for portrait in portraits(request, analyse(request), lambda *_: True):
        if any(trace.acts for trace in portrait.watched.traces.values()):
            span = source.span(portrait.watched.site.node)
            name = plain_name(portrait.watched.name)
            yield Lens(span, name, f"What each rank does: {weave(portrait).summary}")


def drawing(request: Request, function: str, form: Format) -> str | None:
    """Draw a function of the asked file, or return None when it cannot be drawn."""
    drawn: list[Portrait] = [
        portrait
        for portrait in portraits(
            request,
            analyse(request),
            lambda _, name: name == function or function.startswith(f"{name}."),
        )
        if plain_name(portrait.watched.name) == function
    ]
    if not drawn:
        return None
    pictures = [weave(portrait) for portrait in drawn]
    if form == "html":
        return html.render(pictures)
    return text.render(pictures, Screen(120), text.Glyphs())
