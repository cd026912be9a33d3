"""How often each rule was broken, instead of the findings themselves."""

from __future__ import annotations

from collections import Counter

from ckptlint.finding import Applicability
from ckptlint.report.styled import Piece, Screen
from ckptlint.runner import Report


def render(report: Report, screen: Screen) -> str:
    """Write one line for each rule, the most frequent first; ``[*]`` where some can be fixed."""
    counts = Counter((finding.code, finding.name) for finding in report.new)
    fixable = {
        finding.code
        for finding in report.new
        if finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    }
    width = max((len(str(number)) for number in counts.values()), default=1)
    pieces: list[Piece] = []
    for (code, name), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        pieces.append((f"{number:>{width}} ", "strong"))
        pieces.append((f" {'[*]' if code in fixable else '   '} ", "help"))
        pieces.append((f"{code} {name}\n", ""))
    return screen.paint(pieces)
