"""The stable, versioned format for programs. Lines and columns count from 1; columns are code
points; ends are exclusive. In a notebook lines count in the cell whose number is ``cell``, a key
that other files do not have. ``stale`` is there when there is a baseline: what of it is no longer
found."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ckptlint.finding import Edit, Finding, Fix, Related, Span
from ckptlint.report.styled import Screen
from ckptlint.runner import Report

VERSION = 1


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    document: dict[str, Any] = {
        "version": VERSION,
        "findings": [_finding(finding) for finding in report.findings],
        "fixed": [_finding(finding) for finding in report.fixed],
        "files": {
            "checked": report.files.checked,
            "skipped": report.files.skipped,
            "failed": report.files.failed,
        },
    }
    if report.comparisons:
        document["stale"] = [
            {**asdict(identity), "count": count}
            for comparison in report.comparisons
            for identity, count in sorted(comparison.stale.items())
        ]
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": finding.message,
        **_span(finding.span),
        "function": finding.function,
        "related": [_related(related) for related in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "baselined": finding.baselined,
    }


def _related(related: Related) -> dict[str, Any]:
    return {
        **_start(related.span),
        "message": related.message,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {**_span(edit.span), "text": edit.text}


def _span(span: Span) -> dict[str, Any]:
    return {**_start(span), "end_line": span.end_line, "end_column": span.end_column}


def _start(span: Span) -> dict[str, Any]:
    cell = {"cell": span.cell} if span.cell else {}
    return {"path": span.path, **cell, "line": span.line, "column": span.column}
