"""One line for each finding: ``path:line:column: CODE[*] message``."""

from __future__ import annotations

from collections.abc import Iterator

from ckptlint.finding import Applicability, Finding
from ckptlint.report.styled import Piece, Screen
from ckptlint.report.summary import summary
from ckptlint.runner import Report


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    pieces = [piece for finding in report.new for piece in line(finding)]
    return screen.paint([*pieces, *summary(report)])


def line(finding: Finding) -> Iterator[Piece]:
    """Write one finding."""
    yield finding.span.name, "strong"
    yield f":{finding.span.line}:{finding.span.column}: ", "dim"
    yield finding.code, finding.severity.value
    if finding.fix is not None and finding.fix.applicability is Applicability.SAFE:
        yield "[*]", "help"
    yield f" {finding.message}\n", ""
