"""The stable, versioned format for programs. Lines and columns count from 1; columns are code
points; ends are exclusive."""

from __future__ import annotations

import json
from typing import Any

from ckptlint.finding import Edit, Finding, Fix, Related
from ckptlint.report.styled import Screen
from ckptlint.runner import Report

VERSION = 1


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    document = {
        "version": VERSION,
        "findings": [_finding(finding) for finding in report.findings],
        "fixed": [_finding(finding) for finding in report.fixed],
        "files": {
            "checked": report.files.checked,
            "skipped": report.files.skipped,
            "failed": report.files.failed,
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": finding.message,
        "path": finding.span.path,
        "line": finding.span.line,
        "column": finding.span.column,
        "end_line": finding.span.end_line,
        "end_column": finding.span.end_column,
        "function": finding.function,
        "related": [_related(related) for related in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "baselined": finding.baselined,
    }


def _related(related: Related) -> dict[str, Any]:
    return {
        "path": related.span.path,
        "line": related.span.line,
        "column": related.span.column,
        "message": related.message,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "path": edit.span.path,
        "line": edit.span.line,
        "column": edit.span.column,
        "end_line": edit.span.end_line,
        "end_column": edit.span.end_column,
        "text": edit.text,
    }
