"""A report that a team can publish: one page that needs nothing but itself.

Everything that comes from a project (names, source, messages) is escaped. The page reads without
its script; the script filters, and keeps the filter in the address so that a view can be shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from html import escape

from ckptlint.finding import Applicability, Confidence, Finding, Fix
from ckptlint.report.excerpt import excerpt
from ckptlint.report.html_page import SCRIPT, STYLE
from ckptlint.report.styled import Screen
from ckptlint.report.summary import summary
from ckptlint.runner import Report
from ckptlint.source import Source, SourceError
from ckptlint.trace.html import figure, page
from ckptlint.trace.picture import Picture

_OPEN = 5  # so many findings are shown unfolded


def render(report: Report, screen: Screen) -> str:
    """Write the report."""
    body = f"{_summary(report)}{_filters(report)}{_findings(report)}"
    return page("Distributed checkpoint report", STYLE, body, SCRIPT)


def _summary(report: Report) -> str:
    sentences = "".join(text for text, _ in summary(report)).strip().splitlines()
    told = "".join(f"<p>{escape(_for_a_page(sentence))}</p>" for sentence in sentences)
    counts = Counter((f.code, f.name) for f in report.new)
    rows = "".join(
        f'<tr><td><a href="#rule={code}"><b>{code}</b></a></td><td>{escape(name)}</td>'
        f'<td class="number">{number}</td></tr>'
        for (code, name), number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    table = (
        '<table class="rules"><caption class="unseen">Findings of each rule</caption><thead><tr>'
        '<th scope="col">Rule</th><th scope="col">Name</th><th scope="col" class="number">Findings'
        f"</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    severities = Counter(finding.severity.value for finding in report.new)
    tiles = [
        (str(severities["error"]), "errors", "error"),
        (str(severities["warning"]), "warnings", "warning"),
        (str(sum(f.fix is not None for f in report.new)), "with a fix", ""),
        (str(report.files.checked), "files checked", ""),
    ]
    shown = "".join(
        f'<div class="tile {kind if number != "0" else ""}"><b>{number}</b> {label}</div>'
        for number, label, kind in tiles
    )
    return (
        f'<section aria-label="Summary"><div class="tiles">{shown}</div>'
        f'<div class="told">{told}</div>{table if rows else ""}</section>'
    )


def _for_a_page(sentence: str) -> str:
    """Take away what holds for a terminal only: the page does show what a baseline holds."""
    return sentence.removeprefix("[*] ").replace(", not shown.", ".")


def _filters(report: Report) -> str:
    """Offer what the findings can be chosen by; shown when the script runs."""
    if not report.findings:
        return ""
    codes = sorted({finding.code for finding in report.findings})
    selects = [
        ("rule", "Rule", codes),
        ("severity", "Severity", ["error", "warning"]),
        ("confidence", "Confidence", [level.value for level in Confidence]),
    ]
    if report.comparisons:
        selects.append(("state", "State", ["new", "in the baseline"]))
    fields = "".join(
        f'<label>{label}<select name="{name}"><option value="">all</option>'
        + "".join(f"<option>{escape(value)}</option>" for value in values)
        + "</select></label>"
        for name, label, values in selects
    )
    return (
        f'<form class="filters" hidden>{fields}'
        '<label class="wide">Path<input name="path" type="search" placeholder="a part of it"'
        ' autocomplete="off" spellcheck="false"></label>'
        '<output aria-live="polite"></output><button type="reset">Clear</button></form>'
    )


def _findings(report: Report) -> str:
    drawn: dict[Picture, str] = {}
    parts = [
        _finding(finding, report, number, drawn)
        for number, finding in enumerate(report.findings, 1)
    ]
    if not parts:
        return ""
    return (
        f'<section aria-label="Findings"><h2>Findings</h2>{"".join(parts)}'
        '<p class="nothing" hidden>No finding matches the filter.</p></section>'
    )


def _finding(finding: Finding, report: Report, number: int, drawn: dict[Picture, str]) -> str:
    state = "in the baseline" if finding.baselined else "new"
    data = {
        "rule": finding.code,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "path": finding.span.path,
        "state": state,
    }
    listed = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items())
    chips = [finding.confidence.value] if finding.confidence is not Confidence.CERTAIN else []
    chips += [state] if finding.baselined else []
    if finding.fix is not None:
        chips.append(f"{finding.fix.applicability.value} fix")
    shown = "".join(f'<span class="chip">{escape(chip)}</span>' for chip in chips)
    place = f"{finding.span.name}:{finding.span.line}:{finding.span.column}"
    inside = "" if finding.function.startswith("<") else f" in {finding.function}"
    return (
        f'<details class="finding {finding.severity.value}" id="f{number}"{listed}'
        f"{' open' if number <= _OPEN else ''}><summary>"
        f'<span class="head"><b class="code {finding.severity.value}">{finding.code}</b>'
        f'<span class="message">{escape(finding.message)}</span></span>'
        f'<span class="where"><span class="path">{escape(place)}</span>{escape(inside)}{shown}'
        f'</span></summary><div class="body">{"".join(_body(finding, report, number, drawn))}'
        "</div></details>\n"
    )


def _body(
    finding: Finding, report: Report, number: int, drawn: dict[Picture, str]
) -> Iterator[str]:
    if finding.help:
        yield f'<p class="help"><b>What to do:</b> {escape(finding.help)}.</p>'
    yield excerpt(finding, dict(report.sources))
    steps = [related for related in finding.related if related.step]
    if len(steps) > 1:
        yield "<h3>The way to it</h3>" + _steps(
            (f"{r.span.name}:{r.span.line}", r.message) for r in steps
        )
    picture = report.pictures.get((finding.code, finding.span))
    if picture is not None:
        yield "<h3>What each rank does</h3>"
        if picture in drawn:
            yield f'<p>Drawn with <a href="#{drawn[picture]}">another finding</a>.</p>'
        else:
            drawn[picture] = f"f{number}"
            if picture.function != finding.function.replace(".<locals>", ""):
                yield f'<p class="faint">In {escape(picture.function)}, which leads to it.</p>'
            yield figure(picture, f"p{number}")
    if finding.fix is not None:
        yield from _fix(finding.fix, report)


def _steps(steps: Iterable[tuple[str, str]]) -> str:
    listed = "".join(
        f'<li>{escape(message)} <span class="path faint">{escape(place)}</span></li>'
        for place, message in steps
    )
    return f'<ol class="steps">{listed}</ol>'


def _fix(fix: Fix, report: Report) -> Iterator[str]:
    safe = fix.applicability is Applicability.SAFE
    how = "applied by --fix" if safe else "to be read first; applied by --fix --unsafe-fixes"
    yield f'<h3>The fix</h3><p>{escape(fix.message)} <span class="faint">({how})</span></p>'
    for name in dict.fromkeys(edit.span.name for edit in fix.edits):
        if name in report.sources:
            source = report.sources[name]
            after = source.edited([edit for edit in fix.edits if edit.span.name == name])
            yield _diff(name, source, after)


def _diff(name: str, before: Source, after: Source) -> str:
    try:
        lines = list(unified_diff(_plain(before), _plain(after), n=2, lineterm=""))[2:]
    except SourceError:
        return ""
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    shown = "".join(
        f'<span class="{kinds.get(line[:1], "same")}">{escape(line)}</span>' for line in lines
    )
    return f'<p class="path">{escape(name)}</p><pre class="diff" tabindex="0">{shown}</pre>'


def _plain(source: Source) -> list[str]:
    return [line.rstrip("\r\n") for line in source.lines]
