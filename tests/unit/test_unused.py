"""Which comments are said to silence nothing, and what is taken away of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckptlint import catalogue
from ckptlint.finding import Finding
from ckptlint.rule import Rule
from ckptlint.source import Source
from ckptlint.suppress import comments
from ckptlint.unused import Usage, unused

RULES = dict(catalogue.rules())
ALL = frozenset(RULES)


def judged(
    text: str,
    silenced: frozenset[str] = frozenset(),
    selected: frozenset[str] = ALL,
    known: dict[str, Rule] = RULES,
) -> list[Finding]:
    """Judge the comments of a file, each of which silenced the same codes."""
    usages = [Usage(comment, silenced) for comment in comments(source(text)).suppressions]
    return list(unused(usages, source(text), selected, known))


def source(text: str) -> Source:
    return Source(Path("/a.py"), "a.py", text.encode())


def cleaned(text: str, silenced: frozenset[str] = frozenset()) -> str:
    (finding,) = judged(text, silenced)
    assert finding.fix is not None
    return source(text).edited(finding.fix.edits).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("save()  # ckptlint: ignore[CKP101]\n", "save()\n"),
        ("save()  # ckptlint: ignore[CKP101] why", "save()"),
        ("save()\t# ckptlint: ignore[CKP101] see #12\r\nx()\r\n", "save()\r\nx()\r\n"),
        ("x()\n    # ckptlint: ignore[CKP101] why\nsave()\n", "x()\nsave()\n"),
        ("x()\n# ckptlint: ignore[CKP101] why", "x()\n"),
        ("save()  # ckptlint: ignore[CKP101]  # why not\n", "save()  # why not\n"),
        ("save()  # fmt: skip # ckptlint: ignore[CKP101]\n", "save()  # fmt: skip\n"),
        ("save()  # ckptlint: ignore[CKP101,CKP103] why\n", "save()\n"),
        ("save()  # noqa: CKP101\n", "save()\n"),
        ("save()  # noqa:CKP101,E501\n", "save()  # noqa:E501\n"),
        ("save()  # NOQA: E501 ckp101 F401\n", "save()  # NOQA: E501, F401\n"),
        ("save()  # noqa: CKP101 it is long\n", "save()  # it is long\n"),
        ("save()  # noqa: CKP101  # type: ignore\n", "save()  # type: ignore\n"),
        ("é()  # ckptlint: ignore\n", "é()\n"),
        ("\ufeffsave()  # ckptlint: ignore[CKP101]\n", "\ufeffsave()\n"),
    ],
)
def test_what_silences_nothing_is_taken_away_and_nothing_else(before: str, after: str) -> None:
    changed = cleaned(before.lstrip("\ufeff"))
    assert changed == after.lstrip("\ufeff")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x()  # ckptlint: ignore[CKP101, CKP103] why\n", "x()  # ckptlint: ignore[CKP101] why\n"),
        ("x()  # ckptlint: ignore[ CKP103,CKP101 ]\n", "x()  # ckptlint: ignore[ CKP101]\n"),
        ("x()  # ckptlint: ignore-file[CKP10, CKP2]\n", "x()  # ckptlint: ignore-file[CKP10]\n"),
        ("x()  # noqa: CKP103, CKP101 why\n", "x()  # noqa: CKP101 why\n"),
    ],
)
def test_what_is_used_stays(before: str, after: str) -> None:
    known = {**RULES, "CKP201": replace(RULES["CKP101"], code="CKP201")}
    (finding,) = judged(before, frozenset({"CKP101"}), ALL | {"CKP201"}, known)
    assert finding.fix is not None
    assert source(before).edited(finding.fix.edits).text == after


def test_a_comment_that_is_used_is_not_found() -> None:
    both = frozenset({"CKP101", "CKP103"})
    assert judged("x()  # ckptlint: ignore[CKP101, CKP103]\n", both) == []
    assert judged("x()  # ckptlint: ignore[CKP1]\n", frozenset({"CKP103"})) == []
    assert judged("x()  # ckptlint: ignore\n", frozenset({"CKP103"})) == []
    assert judged("x()  # noqa: E501, CKP101\n", both) == []


def test_a_plain_noqa_and_the_codes_of_other_tools_are_left_alone() -> None:
    assert judged("x()  # noqa\n") == []
    assert judged("x()  # noqa: E501,F401\n") == []


def test_a_rule_that_did_not_run_cannot_say_that_its_suppression_is_unused() -> None:
    assert judged("x()  # ckptlint: ignore[CKP101]\n", selected=ALL - {"CKP101"}) == []
    (finding,) = judged("x()  # ckptlint: ignore[CKP101, CKP103]\n", selected=ALL - {"CKP101"})
    assert "CKP103" in finding.message
    assert "CKP101" not in finding.message
    assert judged("x()  # ckptlint: ignore[CKP1]\n", selected=ALL - {"CKP101"}) == []
    assert judged("x()  # ckptlint: ignore\n", selected=ALL - {"CKP101"}) == []


def test_a_rule_that_is_off_by_default_does_not_spare_a_comment_without_codes() -> None:
    assert not RULES["CKP110"].default
    default = ALL - {"CKP110"}
    assert len(judged("x()  # ckptlint: ignore\n", selected=default)) == 1
    assert len(judged("x()  # ckptlint: ignore[CKP1]\n", selected=default)) == 1
    assert judged("x()  # ckptlint: ignore[CKP110]\n", selected=default) == []
    assert len(judged("x()  # ckptlint: ignore[CKP110]\n", selected=ALL)) == 1


def test_a_comment_about_comments_is_not_judged() -> None:
    assert judged("x()  # ckptlint: ignore[CKP901]\n") == []


def test_a_code_that_names_no_rule_is_told_and_left_to_its_author() -> None:
    (finding,) = judged("x()  # ckptlint: ignore[CPK101]\n")
    assert finding.message == ("CPK101 names no rule, so nothing is silenced; did you mean CKP101?")
    assert finding.fix is None
    (finding,) = judged("x()  # noqa: CKP999\n")
    assert "CKP999 names no rule" in finding.message


def test_the_place_is_that_of_the_comment_without_what_follows() -> None:
    (finding,) = judged("é()  # type: ignore  # ckptlint: ignore[CKP101] why  # more\n")
    text = "é()  # type: ignore  # ckptlint: ignore[CKP101] why"
    assert (finding.span.column, finding.span.end_column) == (22, len(text) + 1)
