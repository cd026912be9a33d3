"""The pictures of all fixtures: what a finding says is what is drawn in red, and nothing else."""

from __future__ import annotations

import pytest

from cases import Case, all_cases, all_facts, findings
from ckptlint.engine import Request
from ckptlint.finding import Finding
from ckptlint.portrait import portraits
from ckptlint.trace.picture import Picture
from ckptlint.trace.weave import weave
from ckptlint_rules import RULES

# Rules whose findings compare what the rank classes do.
DRAWN = ("CKP101", "CKP102", "CKP103", "CKP104", "CKP105", "CKP108")
CASES = all_cases()
FOUND = [case for case in CASES if {mark.told.code for mark in case.marks} & set(DRAWN)]
RIGHT = [case for case in CASES if case.role == "ok" and not case.marks]


def pictures(case: Case, found: tuple[Finding, ...]) -> list[Picture]:
    sources = case.sources
    request = Request(tuple(sources.values()), set(sources), case.root, all_facts(), set(RULES))
    return [weave(portrait) for portrait in portraits(request, found, lambda *_: True)]


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case.id)
def test_every_finding_is_drawn_in_red_where_it_is(case: Case) -> None:
    found = findings(case)
    drawn = pictures(case, found)
    for finding in found:
        if finding.code in DRAWN:
            own = [
                picture
                for picture in drawn
                if (finding.code, finding.message)
                in {(note.code, note.message) for note in picture.notes}
            ]
            assert own
            for picture in own:
                red = [meeting for meeting in picture.meetings if finding.code in meeting.codes]
                assert red
                assert all(meeting.outcome == "alone" for meeting in red)
                assert any("misses" in meeting.cells for meeting in red)
                assert all("calls" in meeting.cells for meeting in red)


@pytest.mark.parametrize("case", RIGHT[::4], ids=lambda case: case.id)
def test_nothing_is_red_where_nothing_is_found(case: Case) -> None:
    assert findings(case) == ()
    for picture in pictures(case, ()):
        assert picture.notes == ()
        assert all(meeting.outcome != "alone" for meeting in picture.meetings)
        assert all("misses" not in meeting.cells for meeting in picture.meetings)
