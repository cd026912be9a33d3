"""GitLab's Code Quality report, shown in a merge request.

GitLab compares the fingerprints of two reports, so they do not depend on lines, and two findings
of one report never share theirs, since GitLab would show one of them only.
Source: docs.gitlab.com, "Code Quality", "Code Quality report format".
"""

from __future__ import annotations

import json
from typing import Any

from ckptlint.finding import Finding, Severity
from ckptlint.identity import fingerprints
from ckptlint.report.cells import without_cells
from ckptlint.report.styled import Screen
from ckptlint.runner import Report

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "minor"}


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    marks = fingerprints(report.new, report.sources)
    new = without_cells(report).new
    issues = [_issue(finding, mark) for finding, mark in zip(new, marks, strict=True)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, fingerprint: str) -> dict[str, Any]:
    span = finding.span
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code} {finding.message}; {finding.help}",
        "categories": ["Bug Risk"],
        "severity": _SEVERITY[finding.severity],
        "fingerprint": fingerprint,
        "location": {
            "path": span.path,
            "positions": {
                "begin": {"line": span.line, "column": span.column},
                "end": {"line": span.end_line, "column": span.end_column},
            },
            "lines": {"begin": span.line, "end": span.end_line},
        },
    }
