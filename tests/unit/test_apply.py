"""Fixes applied: in rounds, whole files at a time, and no byte changed outside of an edit."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ckptlint.apply import WriteError, compatible, write
from ckptlint.config import Settings
from ckptlint.discovery import Discovery, ProjectFiles
from ckptlint.engine import Request
from ckptlint.facts import FactSet
from ckptlint.finding import Applicability, Confidence, Edit, Finding, Fix, Severity, Span
from ckptlint.patch import patch
from ckptlint.runner import Mode, Report, Runner
from ckptlint.source import Source

SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def edit(line: int, column: int, end_column: int, text: str, path: str = "a.py") -> Edit:
    return Edit(Span(path, line, column, line, end_column), text)


def finding(*edits: Edit, how: Applicability = SAFE, message: str = "m") -> Finding:
    span = edits[0].span
    return Finding(
        "CKP101",
        "collective-save-on-some-ranks",
        Severity.ERROR,
        Confidence.CERTAIN,
        message,
        "help",
        span,
        "f",
        fix=Fix(how, "fix it", edits),
    )


def replacing(
    words: dict[str, str], how: Applicability = SAFE
) -> Callable[[Request], list[Finding]]:
    """Analyse by finding words, each of which has another one as its fix."""

    def analyse(request: Request) -> list[Finding]:
        return [
            finding(
                edit(
                    number, line.index(word) + 1, line.index(word) + 1 + len(word), new, s.display
                ),
                how=how,
                message=word,
            )
            for s in request.sources
            if s.display in request.asked
            for number, line in enumerate(s.lines, 1)
            for word, new in words.items()
            if word in line
        ]

    return analyse


def run(
    folder: Path, analyse: Callable[[Request], Sequence[Finding]], mode: Mode, *names: str
) -> Report:
    files = tuple(folder / name for name in names or ("a.py",))
    settings = Settings(codes=frozenset({"CKP101", "CKP900"}))
    project = ProjectFiles(folder, settings, files, ())
    return Runner(folder, FactSet, mode, analyse=analyse).run(Discovery((project,)))


FIX = Mode(allowed=frozenset({SAFE}), write=True)


def source(data: bytes) -> Source:
    return Source(Path("/a.py"), "a.py", data)


def test_edits_that_overlap_wait() -> None:
    one, two = finding(edit(1, 1, 5, "x")), finding(edit(1, 4, 8, "y"))
    assert compatible([one, two]) == [one]


def test_edits_that_only_meet_go_together() -> None:
    one, two = finding(edit(1, 1, 5, "x")), finding(edit(1, 5, 8, "y"))
    assert compatible([one, two]) == [one, two]


def test_two_insertions_at_one_place_do_not_go_together() -> None:
    one, two = finding(edit(1, 5, 5, "x")), finding(edit(1, 5, 5, "y"))
    assert compatible([one, two]) == [one]


def test_findings_that_the_same_rewrite_clears_go_together() -> None:
    one, two = finding(edit(1, 1, 5, "x")), finding(edit(1, 1, 5, "x"), message="other")
    assert compatible([one, two]) == [one, two]


def test_the_same_columns_of_another_file_do_not_overlap() -> None:
    one, two = finding(edit(1, 1, 5, "x")), finding(edit(1, 1, 5, "y", path="b.py"))
    assert compatible([one, two]) == [one, two]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = old\r\nb = 1\r\n", b"a = new\r\nb = 1\r\n"),
        (b"a = old", b"a = new"),
        (b"\xef\xbb\xbfa = old\n", b"\xef\xbb\xbfa = new\n"),
        (b"\x0cif old:\n\tb\n", b"\x0cif new:\n\tb\n"),
        (b"a = old\rb = 1\r", b"a = new\rb = 1\r"),
        ("'é漢'; a = old\n".encode(), "'é漢'; a = new\n".encode()),
        (b"# coding: latin-1\n'\xe9'; old\n", b"# coding: latin-1\n'\xe9'; new\n"),
    ],
    ids=["CRLF", "no newline", "mark", "form feed", "old Mac", "wide", "latin-1"],
)
def test_every_byte_outside_of_an_edit_stays(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(before)
    report = run(tmp_path, replacing({"old": "new"}), FIX)
    assert path.read_bytes() == after
    assert (len(report.fixed), len(report.findings), report.errors) == (1, 0, ())


def test_text_that_the_encoding_lacks_is_not_applied(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\nold\n")
    report = run(tmp_path, replacing({"old": "'→'"}), FIX)
    assert path.read_bytes() == b"# coding: latin-1\nold\n"
    assert [each.message for each in report.findings] == ["old"]


def test_a_fix_that_breaks_the_file_is_not_applied_and_the_others_are(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one = 1\nold = 2\n")
    run(tmp_path, replacing({"one": "fine", "old": "if ("}), FIX)
    assert path.read_text() == "fine = 1\nold = 2\n"


def test_rounds_end_when_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one\n")
    report = run(tmp_path, replacing({"one": "two", "two": "three"}), FIX)
    assert path.read_text() == "three\n"
    assert [each.message for each in report.fixed] == ["one", "two"]


def test_fixes_that_never_come_to_rest_are_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("ping\n")
    report = run(tmp_path, replacing({"ping": "pong", "pong": "ping"}), FIX)
    assert path.read_text() == "ping\n"
    assert len(report.findings) == 1


def test_unsafe_fixes_need_to_be_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old\n")
    run(tmp_path, replacing({"old": "new"}, UNSAFE), FIX)
    assert path.read_text() == "old\n"
    both = Mode(allowed=frozenset({SAFE, UNSAFE}), write=True)
    run(tmp_path, replacing({"old": "new"}, UNSAFE), both)
    assert path.read_text() == "new\n"


def test_a_fix_that_needs_a_file_nobody_asked_for_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("old\n")
    other = tmp_path / "b.py"
    other.write_text("x = 1\n")
    both = finding(edit(1, 1, 4, "new"), edit(1, 1, 2, "y", path="b.py"))
    report = run(tmp_path, lambda _: [both], FIX)
    assert other.read_text() == "x = 1\n"
    assert report.findings == (both,)


def test_a_silenced_finding_is_not_fixed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old  # ckptlint: ignore\n")
    run(tmp_path, replacing({"old": "new"}), FIX)
    assert path.read_text() == "old  # ckptlint: ignore\n"


def test_a_read_only_file_is_an_error_and_the_others_are_fixed(tmp_path: Path) -> None:
    locked, free = tmp_path / "a.py", tmp_path / "b.py"
    for path in (locked, free):
        path.write_text("old\n")
    locked.chmod(0o444)
    report = run(tmp_path, replacing({"old": "new"}), FIX, "a.py", "b.py")
    assert (locked.read_text(), free.read_text()) == ("old\n", "new\n")
    assert report.errors == ("cannot write a.py: it is read-only",)
    assert [each.span.path for each in report.fixed] == ["b.py"]
    assert [each.span.path for each in report.findings] == ["a.py"]
    assert report.incomplete


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    report = run(tmp_path, replacing({"old": "new"}), FIX)
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["a.py"]
    assert report.errors == ("cannot write a.py: No space left on device",)


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("typed meanwhile\n")
    before = Source(path, "a.py", b"old\n")
    with pytest.raises(WriteError, match="changed while it was analysed"):
        write(before, Source(path, "a.py", b"new\n"))
    assert path.read_text() == "typed meanwhile\n"


def test_the_mode_stays_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.py", tmp_path / "a.py"
    target.write_text("old\n")
    target.chmod(0o755)
    link.symlink_to(target)
    run(tmp_path, replacing({"old": "new"}), FIX)
    assert link.is_symlink()
    assert target.read_text() == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_edits_may_span_lines_and_insert() -> None:
    before = source(b"a\nbb\nccc\n")
    edits = [
        Edit(Span("a.py", 3, 1, 3, 1), "# "),
        Edit(Span("a.py", 1, 2, 2, 2), "-"),
    ]
    assert before.edited(edits).data == b"a-b\n# ccc\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc\n", b"a\nx\nc\n"),
        (b"a\nb", b"a\nx"),
        (b"a\nb\n", b"a\nb"),
        (b"a\r\nb\r\n", b"a\r\nx\r\n"),
        (b"# coding: latin-1\n'\xe9'\n", b"# coding: latin-1\nx = '\xe9'\n"),
    ],
    ids=["plain", "no newline", "newline lost", "CRLF", "latin-1"],
)
@pytest.mark.parametrize("name", ["a.py", "a b.py", 'tab\t"quoted".py', "dir/caf\u00e9.py"])
def test_git_applies_the_patch(tmp_path: Path, name: str, before: bytes, after: bytes) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(before)
    text = patch([(Source(path, name, before), Source(path, name, after))])
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], input=text, cwd=tmp_path, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert path.read_bytes() == after
