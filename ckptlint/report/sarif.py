"""SARIF 2.1.0, the format of code scanning services.

Paths are relative to the folder in which ckptlint was called. Findings are told apart by the
fingerprint ``ckptlint/v1``; ``primaryLocationLineHash`` is left to GitHub, which computes it.
A file that could not be analysed is a result, since services show nothing else, and a notification.
Source: OASIS Standard "Static Analysis Results Interchange Format Version 2.1.0", errata 01;
docs.github.com, "SARIF support for code scanning".
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ckptlint import __version__, catalogue
from ckptlint.finding import Confidence, Edit, Finding, Fix, Related, Span
from ckptlint.identity import fingerprints
from ckptlint.report.cells import without_cells
from ckptlint.report.styled import Screen
from ckptlint.rule import Rule
from ckptlint.runner import Report
from ckptlint.source import Source, SourceError

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_AROUND = 2  # lines shown before and after a finding
_PRECISION = {
    Confidence.CERTAIN: "very-high",
    Confidence.LIKELY: "high",
    Confidence.POSSIBLE: "medium",
}


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    rules = list(catalogue.rules().values())
    places = {rule.code: position for position, rule in enumerate(rules)}
    marks = fingerprints(report.findings, report.sources)
    report = without_cells(report)
    run = {
        "tool": {
            "driver": {
                "name": "ckptlint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The folder in which ckptlint was called."}}
        },
        "results": [
            _result(finding, places[finding.code], mark, report)
            for finding, mark in zip(report.findings, marks, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.section("What it does")},
        "help": {"text": rule.text, "markdown": rule.text},
        "defaultConfiguration": {"enabled": rule.default, "level": rule.severity.value},
        "properties": {
            "tags": ["correctness", "distributed", "checkpoint"],
            "precision": _PRECISION[rule.confidence],
            "problem.severity": rule.severity.value,
        },
    }


def _invocation(report: Report) -> dict[str, Any]:
    failed = [finding for finding in report.findings if finding.code == catalogue.NOT_ANALYSED]
    told = [
        {
            "level": "error",
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": _physical(finding.span)}],
            "associatedRule": {"id": finding.code},
        }
        for finding in failed
    ]
    told += [{"level": "error", "message": {"text": error}} for error in report.errors]
    return {
        "executionSuccessful": not report.incomplete,
        "toolExecutionNotifications": told,
    }


def _result(finding: Finding, rule: int, fingerprint: str, report: Report) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": _message(finding)},
        "locations": [
            {
                "physicalLocation": _shown(finding.span, report.sources),
                "logicalLocations": [{"fullyQualifiedName": finding.function, "kind": "function"}],
            }
        ],
        "relatedLocations": [
            {"id": number, **_located(related)} for number, related in enumerate(finding.related, 1)
        ],
        "partialFingerprints": {"ckptlint/v1": fingerprint},
        "properties": {"confidence": finding.confidence.value},
    }
    if any(related.step for related in finding.related):
        result["codeFlows"] = [_flow(finding)]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix)]
    if report.comparisons:
        result["baselineState"] = "unchanged" if finding.baselined else "new"
    return result


def _message(finding: Finding) -> str:
    """Tell the message with links to the related places, which viewers make clickable."""
    links = [
        f"[{_escaped(related.message)}]({number})"
        for number, related in enumerate(finding.related, 1)
    ]
    lines = [f"{finding.message}.", *links, f"Help: {finding.help}."]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Escape what would end the text of a link (section 3.11.6)."""
    return re.sub(r"([\\\[\]])", r"\\\1", text)


def _flow(finding: Finding) -> dict[str, Any]:
    """Lead from what keeps ranks apart to the operation that they miss."""
    first, *rest = [related for related in finding.related if related.step]
    here = Related(finding.span, finding.name.replace("-", " "))
    steps = [{"location": _located(step)} for step in (first, here, *rest)]
    return {"threadFlows": [{"locations": steps}]}


def _located(related: Related) -> dict[str, Any]:
    return {
        "physicalLocation": _physical(related.span),
        "message": {"text": related.message},
    }


def _fix(fix: Fix) -> dict[str, Any]:
    paths = dict.fromkeys(edit.span.path for edit in fix.edits)
    return {
        "description": {"text": f"{fix.message} ({fix.applicability.value})"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": _replacements(e for e in fix.edits if e.span.path == path),
            }
            for path in paths
        ],
    }


def _replacements(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    return [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        for edit in edits
    ]


def _physical(span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(span.path), "region": _region(span)}


def _shown(span: Span, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Give a place with its lines, for viewers that have no source at hand."""
    physical = _physical(span)
    try:
        lines = sources[span.path].lines if span.path in sources else ()
    except SourceError:
        return physical
    count = len(lines) - (lines[-1:] == ("",))  # behind a last line feed there is no line
    first, last = max(1, span.line - _AROUND), min(count, span.end_line + _AROUND)
    text = "".join(lines[first - 1 : last])
    if text:
        physical["contextRegion"] = {"startLine": first, "endLine": last, "snippet": {"text": text}}
    return physical


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: str) -> dict[str, str]:
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(os.fsencode(path)), "uriBaseId": _ROOT}
