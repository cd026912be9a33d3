"""Workflow commands that GitHub Actions shows as annotations in a pull request.

GitHub keeps ten errors and ten warnings of each step and drops the rest without a word, so the
rest goes to the log in plain lines.
Source: docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections import Counter

from ckptlint.finding import Finding
from ckptlint.report import concise
from ckptlint.report.cells import without_cells
from ckptlint.report.styled import Screen
from ckptlint.report.summary import counted, summary
from ckptlint.runner import Report

LIMIT = 10


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    report = without_cells(report)
    shown: Counter[str] = Counter()
    annotations: list[str] = []
    rest: list[Finding] = []
    for finding in report.new:
        shown[finding.severity.value] += 1
        if shown[finding.severity.value] <= LIMIT:
            annotations.append(_annotation(finding))
        else:
            rest.append(finding)
    text = "".join(annotations)
    if rest:
        title = f"{counted(len(rest), 'more finding')}; GitHub shows {LIMIT} of a kind"
        lines = "".join(Screen().paint(concise.line(finding)) for finding in rest)
        text += f"::group::{title}\n{lines}::endgroup::\n"
    return text + Screen().paint(summary(report))


def _annotation(finding: Finding) -> str:
    span = finding.span
    properties = {
        "file": span.path,
        "line": str(span.line),
        "endLine": str(span.end_line),
        "col": str(span.column),
        "endColumn": str(span.end_column),
        "title": f"{finding.code} {finding.name}",
    }
    if span.end_line != span.line:
        del properties["endColumn"]  # GitHub ignores columns over several lines
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    related = "".join(
        f"\n{place.span.path}:{place.span.line}: {place.message}" for place in finding.related
    )
    text = f"{finding.message}{related}\nhelp: {finding.help}"
    return f"::{finding.severity.value} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
