"""reviewdog's diagnostic format, with the fixes as suggestions.

Columns count UTF-8 bytes from 1 and ends are exclusive. reviewdog takes several suggestions for
alternatives, so a fix of several edits becomes one text for the lines from the first to the last.
Source: the comments of proto/rdf/reviewdog.proto in reviewdog.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ckptlint.finding import Finding, Fix, Span
from ckptlint.report.cells import without_cells
from ckptlint.report.styled import Screen
from ckptlint.runner import Report
from ckptlint.source import Source, SourceError

Sources = Mapping[str, Source]


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    report = without_cells(report)
    diagnostics = [_diagnostic(finding, report.sources) for finding in report.new]
    document = {"source": {"name": "ckptlint"}, "diagnostics": diagnostics}
    return json.dumps(document, indent=2) + "\n"


def _diagnostic(finding: Finding, sources: Sources) -> dict[str, Any]:
    places = [f"{r.span.path}:{r.span.line}: {r.message}" for r in finding.related]
    return {
        "message": "\n".join([finding.message, *places, f"help: {finding.help}"]),
        "location": {"path": finding.span.path, "range": _range(finding.span, sources)},
        "severity": finding.severity.value.upper(),
        "code": {"value": finding.code},
        "suggestions": [] if finding.fix is None else _suggestions(finding, finding.fix, sources),
    }


def _suggestions(finding: Finding, fix: Fix, sources: Sources) -> list[dict[str, Any]]:
    """A suggestion is shown in the file of its diagnostic, so a fix elsewhere is none."""
    path = finding.span.path
    if path not in sources or {edit.span.path for edit in fix.edits} != {path}:
        return []
    span, text = sources[path].spliced(fix.edits)
    return [{"range": _range(span, sources), "text": text}]


def _range(span: Span, sources: Sources) -> dict[str, Any]:
    source = sources.get(span.path)
    return {
        "start": {"line": span.line, "column": _bytes(source, span.line, span.column)},
        "end": {"line": span.end_line, "column": _bytes(source, span.end_line, span.end_column)},
    }


def _bytes(source: Source | None, line: int, column: int) -> int:
    try:
        text = source.lines[line - 1] if source is not None else ""
    except (SourceError, IndexError):
        return column
    return column + len(text[: column - 1].encode("utf-8", "replace")) - len(text[: column - 1])
