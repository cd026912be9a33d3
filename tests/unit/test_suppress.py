"""Comments that silence findings, and comments that only look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptlint.finding import Confidence, Finding, Related, Severity, Span
from ckptlint.source import Source
from ckptlint.suppress import comments, suppressions


def silenced(
    text: str,
    line: int,
    end_line: int | None = None,
    related: int | None = None,
    code: str = "CKP101",
    noqa: bool = True,
) -> bool:
    """Say whether a finding on these lines is silenced in a file with this text."""
    source = Source(Path("/a.py"), "a.py", text.encode())
    places = () if related is None else (Related(Span("a.py", related, 1, related, 2), "why"),)
    finding = Finding(
        code,
        "name",
        Severity.ERROR,
        Confidence.CERTAIN,
        "m",
        "h",
        Span("a.py", line, 1, end_line or line, 2),
        "f",
        places,
    )
    return next(suppressions(finding, lambda _: comments(source), noqa), None) is not None


@pytest.mark.parametrize(
    "comment",
    [
        "# ckptlint: ignore[CKP101]",
        "# ckptlint: ignore[CKP101] the engine is local here",
        "#ckptlint:ignore[CKP101]",
        "# ckptlint: ignore",
        "# ckptlint: ignore because it is local",
        "# ckptlint: ignore[CKP103, CKP101]",
        "# ckptlint: ignore[CKP1]",
        "# type: ignore  # ckptlint: ignore[CKP101]",
        "# noqa: CKP101",
        "# NOQA:CKP101",
        "# noqa: E501, CKP101",
        "# noqa: E501 CKP1",
        "# noqa",
        "# noqa: it is long",
    ],
)
def test_a_comment_on_the_line_silences(comment: str) -> None:
    assert silenced(f"save()  {comment}\n", 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# ckptlint: ignore[CKP102]",
        "# ckptlint: ignore[]",
        "# ckptlint: ignored",
        "# write `# ckptlint: ignore[CKP101]` here",
        "# ckptlint ignore[CKP101]",
        "# noqa: E501",
        "# noqable",
    ],
)
def test_a_comment_about_something_else_does_not(comment: str) -> None:
    assert not silenced(f"save()  {comment}\n", 1)


def test_a_comment_in_a_string_is_none() -> None:
    assert not silenced('save("# ckptlint: ignore[CKP101]")\n', 1)
    assert not silenced('"""\n# ckptlint: ignore[CKP101]\n"""; save()\n', 3)
    assert not silenced('save("# noqa")\n', 1)


def test_any_line_of_the_span_counts() -> None:
    text = "save(\n    a,\n    b,  # ckptlint: ignore[CKP101]\n)\n"
    assert silenced(text, 1, 4)
    assert not silenced(text, 1, 2)


def test_a_line_of_a_related_place_counts() -> None:
    text = "if rank == 0:  # ckptlint: ignore[CKP101] meant\n    save()\n"
    assert silenced(text, 2, related=1)
    assert not silenced(text, 2)


def test_a_bare_noqa_counts_only_where_the_finding_is() -> None:
    assert silenced("if rank == 0:\n    save()  # noqa\n", 2, related=1)
    assert not silenced("if rank == 0:  # noqa\n    save()\n", 2, related=1)
    assert silenced("if rank == 0:  # noqa: CKP101\n    save()\n", 2, related=1)


def test_a_comment_of_its_own_above_counts() -> None:
    assert silenced("# ckptlint: ignore[CKP101] reason\nsave()\n", 2)
    assert silenced("# ckptlint: ignore[CKP101] reason\n# and more of it\nsave()\n", 3)
    assert not silenced("# ckptlint: ignore[CKP101]\n\nsave()\n", 3)
    assert not silenced("# ckptlint: ignore[CKP101]\nx = 1\nsave()\n", 3)
    assert not silenced("# noqa: CKP101\nsave()\n", 2)


def test_a_comment_behind_code_does_not_count_for_the_line_below() -> None:
    assert not silenced("x = 1  # ckptlint: ignore[CKP101]\nsave()\n", 2)


def test_a_comment_above_a_statement_counts_for_a_call_inside_it() -> None:
    text = "# ckptlint: ignore[CKP101]\nresult = wrap(\n    save(),\n)\n"
    assert silenced(text, 3)
    assert not silenced(f"{text}save()\n", 5)


def test_a_comment_for_the_file_counts_everywhere() -> None:
    text = "import x\n# ckptlint: ignore-file[CKP101] generated\n\n\nsave()\n"
    assert silenced(text, 5)
    assert not silenced(text, 5, code="CKP103")
    assert silenced("# ckptlint: ignore-file\n\n\nsave()\n", 4, code="CKP103")


def test_a_comment_for_another_file_does_not_count_for_a_finding_that_leads_there() -> None:
    helper = Source(Path("/h.py"), "h.py", b"# ckptlint: ignore-file\nsave()\n")
    finding = Finding(
        "CKP101",
        "name",
        Severity.ERROR,
        Confidence.CERTAIN,
        "m",
        "h",
        Span("a.py", 1, 1, 1, 2),
        "f",
        (Related(Span("h.py", 2, 1, 2, 2), "called here"),),
    )
    main = Source(Path("/a.py"), "a.py", b"save()\n")
    sources = {"a.py": main, "h.py": helper}
    assert list(suppressions(finding, lambda name: comments(sources[name]))) == []


def test_noqa_can_be_left_to_the_caller() -> None:
    assert not silenced("save()  # noqa: CKP101\n", 1, noqa=False)
    assert silenced("save()  # ckptlint: ignore\n", 1, noqa=False)


def test_a_torn_file_keeps_the_comments_above_the_fault() -> None:
    assert silenced("save()  # ckptlint: ignore[CKP101]\nx = (\n", 1)


def test_form_feeds_and_odd_line_ends_do_not_shift_lines() -> None:
    assert silenced("\x0c\r\nx = 1\r\nsave()  # ckptlint: ignore\r\n", 3)


def test_a_number_of_an_issue_belongs_to_the_reason() -> None:
    text = b"save()  # ckptlint: ignore[CKP101] see #12, local  # type: ignore\n"
    (found,) = comments(Source(Path("/a.py"), "a.py", text)).suppressions
    assert found.reason == "see #12, local"


def test_the_reason_and_the_place_are_kept() -> None:
    source = Source(Path("/a.py"), "a.py", b"save()  # ckptlint: ignore[CKP101] - local engine\n")
    (found,) = comments(source).suppressions
    assert (found.reason, found.codes, found.line, found.column) == (
        "local engine",
        ("CKP101",),
        1,
        9,
    )
