"""Every fixture: what is found in it, how it is told, and what the fixes make of it."""

from __future__ import annotations

import json

import pytest

from cases import Case, Told, all_cases, findings, repaired
from ckptlint.choices import FORMATS
from ckptlint.finding import Span
from ckptlint.report import render
from ckptlint.report.styled import Screen
from ckptlint.runner import Counts, Report
from ckptlint.source import Source
from ckptlint_rules import RULES

CASES = all_cases()
FOUND = [case for case in CASES if case.wanted("expect", "false-alarm")]
BAD = [case for case in CASES if case.role == "bad"]


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


@each(CASES)
def test_findings_are_those_that_the_comments_announce(case: Case) -> None:
    told = sorted(Told.of(finding) for finding in findings(case))
    expected = case.wanted("expect")
    alarms = {(alarm.path, alarm.line, alarm.code) for alarm in case.wanted("false-alarm")}
    false = {key for one in told if (key := (one.path, one.line, one.code)) in alarms}
    assert [one for one in told if (one.path, one.line, one.code) not in alarms] == expected
    assert false == alarms, "a false alarm is gone: take its comment away"


@each([case for case in CASES if case.wanted("missed")])
def test_missed_faults_are_still_missed(case: Case) -> None:
    told = {(one.path, one.line, one.code) for one in map(Told.of, findings(case))}
    missed = {(one.path, one.line, one.code) for one in case.wanted("missed")}
    assert not told & missed, "a missed fault is found now: make its comment an expectation"


@each(BAD)
def test_bad_programs_announce_a_fault_of_their_rule(case: Case) -> None:
    assert case.rule in {mark.told.code for mark in case.marks if mark.kind != "false-alarm"}


@each([case for case in CASES if case.role in ("ok", "fixed")])
def test_right_programs_announce_nothing(case: Case) -> None:
    assert not case.wanted("expect", "missed")


def test_every_fixture_has_a_role_and_a_counterpart() -> None:
    names = {case.id for case in CASES}
    assert {case.role for case in CASES} <= {"bad", "ok", "fixed"}
    lone = [case.id for case in BAD if case.id.replace("/bad_", "/ok_") not in names]
    assert lone == []
    orphans = [
        case.id
        for case in CASES
        if case.role == "fixed" and case.id.replace("/fixed_", "/bad_") not in names
    ]
    assert orphans == []


def test_every_rule_has_fixtures_on_both_sides() -> None:
    for role in ("bad", "ok"):
        assert set(RULES) <= {case.rule for case in CASES if case.role == role}


@each(FOUND)
def test_messages_are_one_line_without_a_period(case: Case) -> None:
    for finding in findings(case):
        texts = [finding.message, finding.help, *(place.message for place in finding.related)]
        for text in texts:
            assert text.strip() == text
            assert text
            assert "\n" not in text
            assert not text.endswith(".")


@each(FOUND)
def test_all_places_lie_inside_their_files(case: Case) -> None:
    for finding in findings(case):
        for span in [finding.span, *(place.span for place in finding.related)]:
            assert_inside(span, case.sources[span.path])
        if finding.code not in ("CKP900", "CKP901"):
            assert finding.related, "a finding shows what keeps the ranks apart"


def assert_inside(span: Span, source: Source) -> None:
    assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
    lines = source.data.decode("latin-1").splitlines() or [""]  # bytes bound the code points
    assert span.end_line <= len(lines)
    assert span.column <= len(lines[span.line - 1]) + 1
    assert span.end_column <= len(lines[span.end_line - 1]) + 1


@each(FOUND)
@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_shows_every_finding(case: Case, output_format: str) -> None:
    found = findings(case)
    report = Report(findings=found, files=Counts(len(case.files)), sources=case.sources)
    text = render(report, output_format, Screen())
    if output_format == "json":
        shown = json.loads(text)["findings"]
        assert [(one["path"], one["line"], one["code"]) for one in shown] == [
            (finding.span.path, finding.span.line, finding.code) for finding in found
        ]
    else:
        for finding in found:
            assert finding.code in text
            assert finding.span.path in text
            assert str(finding.span.line) in text


@each(BAD)
def test_fixes_make_what_stands_in_the_fixed_fixture(case: Case) -> None:
    before = findings(case)
    outcome = repaired(case.root, case.sources, before, shown=case.shown)
    assert {finding.code for finding in outcome.findings} <= {finding.code for finding in before}
    if case.fixed is None:
        assert [f.fix.message for f in before if f.fix is not None] == []
        return
    # The names differ when the program is one file, so the texts are compared alone.
    texts = [source.data for _, source in sorted(outcome.sources.items())]
    assert texts == [source.data for _, source in sorted(Case(case.fixed).sources.items())]
    assert not {f.identity for f in outcome.fixed} & {f.identity for f in outcome.findings}


@each(BAD)
def test_fixes_are_of_the_level_that_the_comment_announces(case: Case) -> None:
    announced = {mark.told: mark.applicability for mark in case.marks if mark.kind == "expect"}
    for finding in findings(case):
        if finding.fix is not None:
            assert finding.fix.applicability is announced[Told.of(finding)]


@pytest.mark.parametrize("code", sorted(RULES))
def test_rules_declare_the_levels_of_their_fixes(code: str) -> None:
    offered = {
        finding.fix.applicability.value if finding.fix is not None else "none"
        for case in BAD
        for finding in findings(case)
        if finding.code == code
    }
    declared = RULES[code].rule.fix
    assert offered == {declared} or declared == "sometimes"
    assert declared != "sometimes" or offered & {"safe", "unsafe"}
