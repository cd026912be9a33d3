"""Findings for programs that know files but no cells: a notebook is its JSON to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ckptlint.finding import Finding, Related, Span
from ckptlint.runner import Report
from ckptlint.source import Source


def without_cells(report: Report) -> Report:
    """Return a report in which places in notebooks are whole lines of the file.

    The messages say which cell it was. Fixes are left out there: they are edits of a cell.
    """
    findings = tuple(_in_file(finding, report.sources) for finding in report.findings)
    return replace(report, findings=findings)


def _in_file(finding: Finding, sources: Mapping[str, Source]) -> Finding:
    in_cells = finding.fix is not None and any(edit.span.cell for edit in finding.fix.edits)
    return replace(
        finding,
        message=_told(finding.message, finding.span),
        span=_rows(finding.span, sources),
        related=tuple(
            Related(_rows(each.span, sources), _told(each.message, each.span), each.step)
            for each in finding.related
        ),
        fix=None if in_cells else finding.fix,
    )


def _told(message: str, span: Span) -> str:
    return f"{message} (cell {span.cell}, line {span.line})" if span.cell else message


def _rows(span: Span, sources: Mapping[str, Source]) -> Span:
    cell = sources.get(span.name)
    if not span.cell or cell is None:
        return span
    return Span(span.path, cell.row(span.line), 1, cell.row(span.end_line), 1)
