"""Every finding of the fixtures can be accepted: by a comment, and by a baseline that lasts."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cases import Case, all_cases, analysed, findings
from ckptlint.finding import Edit, Finding
from ckptlint.identity import Identity, fingerprints, identities
from ckptlint.silence import silencing
from ckptlint.source import Source

# What is not analysed, and what is said of comments, cannot be silenced.
_LASTING = ("CKP900", "CKP901")
FOUND = [
    case
    for case in all_cases()
    if {mark.told.code for mark in case.marks if mark.kind != "missed"} - {*_LASTING}
]
# A file that is no Python cannot be written anew.
WHOLE = [case for case in FOUND if "CKP900" not in {mark.told.code for mark in case.marks}]
each = pytest.mark.parametrize("case", FOUND, ids=lambda case: case.id)


def counted(found: tuple[Finding, ...], sources: Mapping[str, Source]) -> Counter[Identity]:
    return Counter(identities(found, sources))


@each
def test_a_comment_silences_every_finding_and_changes_nothing_else(case: Case) -> None:
    found = [finding for finding in findings(case) if finding.code not in _LASTING]
    silenced = silencing(found, case.sources, "accepted for now")
    assert {finding.identity for finding in silenced} == {finding.identity for finding in found}
    edits: dict[str, dict[Edit, None]] = {}
    for finding in silenced:
        assert finding.fix is not None
        for edit in finding.fix.edits:
            edits.setdefault(edit.span.path, {})[edit] = None
    after = {
        name: source.edited(list(edits[name])) if name in edits else source
        for name, source in case.sources.items()
    }
    left = analysed(case.root, after, shown=case.shown)
    assert {finding.code for finding in left} <= {*_LASTING}
    for name, source in after.items():
        if name in edits:
            assert ast.dump(source.tree) == ast.dump(case.sources[name].tree)


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.id)
def test_findings_keep_their_identity_when_their_files_are_written_anew(case: Case) -> None:
    anew = {
        name: replace(source, data=f"\n\n{ast.unparse(source.tree)}\n".encode())
        for name, source in case.sources.items()
    }
    found = tuple(analysed(case.root, anew, shown=case.shown))
    before = tuple(finding for finding in findings(case) if finding.code != "CKP901")
    assert counted(found, anew) == counted(before, case.sources)


@each
def test_fingerprints_of_one_program_differ(case: Case) -> None:
    marks = fingerprints(findings(case), case.sources)
    assert len(set(marks)) == len(marks)


@each
def test_every_finding_is_about_a_statement(case: Case) -> None:
    for finding, identity in zip(
        findings(case), identities(findings(case), case.sources), strict=True
    ):
        assert identity.statement or finding.code == "CKP900"
