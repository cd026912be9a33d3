"""The format for reading: each finding with the code it is about and what each rank does there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckptlint.finding import Applicability, Confidence, Finding
from ckptlint.report.frame import Mark, frame, gutter_width
from ckptlint.report.styled import Piece, Screen
from ckptlint.report.summary import summary
from ckptlint.runner import Report
from ckptlint.source import Source


def render(report: Report, screen: Screen) -> str:
    """Write the report for a terminal or a pipe."""
    pieces: list[Piece] = []
    for finding in report.new:
        pieces.extend(describe(finding, report.sources, screen.width))
        pieces.append(("\n", ""))
    pieces.extend(summary(report))
    codes = dict.fromkeys(finding.code for finding in report.new)
    if codes:
        listed = ", ".join(f"ckptlint explain {code}" for code in sorted(codes))
        pieces.append((f"To learn more: {listed}\n", "dim"))
    return screen.paint(pieces)


def describe(finding: Finding, sources: Mapping[str, Source], width: int) -> Iterator[Piece]:
    """Draw one finding."""
    tone = finding.severity.value
    yield f"{tone}[{finding.code}]", tone
    yield f": {finding.message}\n", "strong"
    marks = [Mark(finding.span, finding.name.replace("-", " "), "^", tone)]
    marks += [Mark(related.span, related.message, "-", "related") for related in finding.related]
    gutter = max(2, gutter_width(mark.span for mark in marks))
    names = dict.fromkeys(mark.span.name for mark in marks)
    for name in names:
        own = name == finding.span.name
        here = [mark for mark in marks if mark.span.name == name]
        place = finding.span if own else here[0].span
        if not own:
            yield f"{'':>{gutter}} |\n", "gutter"
        yield f"{'':>{gutter - 1}}{'-->' if own else ':::'} ", "gutter"
        yield f"{name}:{place.line}:{place.column}", ""
        yield f" in {finding.function}\n" if own and _named(finding) else "\n", "dim"
        drawn = list(frame(sources[name], here, gutter, width)) if name in sources else []
        if drawn:
            yield f"{'':>{gutter}} |\n", "gutter"
            yield from drawn
    yield f"{'':>{gutter}} |\n", "gutter"
    for label, text, role in _notes(finding):
        yield f"{'':>{gutter}} = ", "gutter"
        yield f"{label}: ", role
        yield f"{text}\n", ""


def _named(finding: Finding) -> bool:
    return not finding.function.startswith("<")


def _notes(finding: Finding) -> Iterator[tuple[str, str, str]]:
    """Yield label, text and role of the lines below the code."""
    if finding.help:
        yield "help", finding.help, "help"
    if finding.fix is not None:
        safe = finding.fix.applicability is Applicability.SAFE
        flags = "[*] --fix applies it" if safe else "unsafe: --fix --unsafe-fixes applies it"
        yield "fix", f"{finding.fix.message} ({flags})", "help"
    if finding.confidence is not Confidence.CERTAIN:
        yield "note", f"{finding.confidence.value}, not certain", "strong"
