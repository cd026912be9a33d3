"""JUnit's XML, which most CI servers show as tests: one suite for each file, a failure each.

Servers follow a test through runs by its class and name, so neither holds a line. A file that
could not be analysed is an error rather than a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from xml.etree import ElementTree

from ckptlint.catalogue import NOT_ANALYSED
from ckptlint.finding import Finding
from ckptlint.report.cells import without_cells
from ckptlint.report.styled import Screen
from ckptlint.runner import Report

# XML 1.0 cannot hold these characters, escaped or not.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render(report: Report, screen: Screen) -> str:
    """Write the report; without findings it holds one test that passed."""
    report = without_cells(report)
    root = ElementTree.Element("testsuites", name="ckptlint")
    for path, findings in groupby(report.new, lambda finding: finding.span.path):
        _suite(root, path, list(findings))
    if not report.new:
        suite = ElementTree.SubElement(root, "testsuite", name="ckptlint")
        ElementTree.SubElement(suite, "testcase", classname="ckptlint", name="no findings")
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, 'unicode')}\n"


def _suite(root: ElementTree.Element, path: str, findings: list[Finding]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_legal(path))
    seen: Counter[str] = Counter()
    for finding in findings:
        name = f"{finding.code} {finding.name} in {finding.function}"
        seen[name] += 1
        if seen[name] > 1:
            name += f" #{seen[name]}"
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_legal(path),
            name=_legal(name),
            file=_legal(path),
            line=str(finding.span.line),
        )
        kind = "error" if finding.code == NOT_ANALYSED else "failure"
        told = ElementTree.SubElement(case, kind, type=finding.severity.value)
        told.set("message", _legal(finding.message))
        told.text = _legal("\n".join(_lines(finding)))
    _count(suite)


def _lines(finding: Finding) -> list[str]:
    span = finding.span
    places = [f"{p.span.path}:{p.span.line}:{p.span.column}: {p.message}" for p in finding.related]
    head = f"{span.path}:{span.line}:{span.column}: {finding.code} {finding.message}"
    return [head, *places, f"help: {finding.help}"]


def _count(element: ElementTree.Element) -> None:
    for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        element.set(attribute, str(len(list(element.iter(tag)))))


def _legal(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
