"""Input that cannot be analysed: one CKP900 for each file, and every other file is checked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from workspace import BAD, GOOD, Workspace, places

_TORN = {
    "syntax_error": "def broken(rank:\n",
    "python_2": 'print "hello", rank\n',
    "unknown_codec": b"# -*- coding: klingon -*-\nrank = 1\n",
    "not_utf_8": b"rank = '\xe9'\n",
    "wrong_cookie": b"# -*- coding: ascii -*-\nrank = '\xc3\xa9'\n",
    "null_bytes": b"x = 1\0\n",
    "utf_16": "x = 1\n".encode("utf-16"),
}


@pytest.mark.parametrize("name", _TORN)
def test_a_file_that_is_not_python_is_one_finding_and_the_others_are_checked(
    workspace: Workspace, name: str
) -> None:
    path = workspace.put("torn.py", _TORN[name])
    before = path.read_bytes()
    workspace.write(train=BAD)
    result = workspace.check("--fix")
    assert result.exit_code == 2
    assert [place for place in places(result) if place.startswith("torn.py")] == [
        next(place for place in places(result) if place.endswith("CKP900"))
    ]
    assert "1 file could not be analysed (CKP900)." in result.stdout
    assert path.read_bytes() == before


def test_a_torn_file_does_not_hide_the_finding_beside_it(workspace: Workspace) -> None:
    workspace.write(torn="def broken(rank:\n", train=BAD)
    assert places(workspace.check()) == ["torn.py:1:1 CKP900", "train.py:6:9 CKP101"]


def test_the_line_of_a_syntax_error_is_told(workspace: Workspace) -> None:
    workspace.write(torn="x = 1\ny = 2\ndef broken(rank:\n")
    result = workspace.check()
    assert places(result) == ["torn.py:3:1 CKP900"]
    assert "syntax error" in result.stdout


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf",
        b"# -*- coding: latin-1 -*-\nname = '\xe9'\n",
        b"\xef\xbb\xbfx = 1\r\n",
        b"x = 1\ry = 2\r",
        b"\x0c\nx = 1\n",
        b"# no newline at the end",
    ],
    ids=["empty", "only a mark", "cookie", "mark and CRLF", "old Mac", "form feed", "no newline"],
)
def test_unusual_python_is_checked_like_any_other(workspace: Workspace, content: bytes) -> None:
    workspace.write(odd=content)
    result = workspace.check()
    assert result.exit_code == 0
    assert "No findings in 1 file." in result.stdout


def test_a_finding_in_latin_1_has_columns_in_code_points(workspace: Workspace) -> None:
    text = BAD.replace(
        "    if dist.get_rank() == 0:\n        engine",
        "    if dist.get_rank() == 0: n = 'é'; engine",
    )
    workspace.put("train.py", f"# coding: latin-1\n{text}".encode("latin-1"))
    column = text.splitlines()[4].index("engine.") + 1
    assert places(workspace.check()) == [f"train.py:6:{column} CKP101"]


def test_a_folder_named_like_a_file_is_walked(workspace: Workspace) -> None:
    workspace.put("x.py/train.py", BAD)
    assert places(workspace.check()) == ["x.py/train.py:6:9 CKP101"]
    assert places(workspace.check("x.py")) == ["x.py/train.py:6:9 CKP101"]


def test_a_loop_of_links_ends(workspace: Workspace) -> None:
    workspace.write(package__train=BAD)
    (workspace.root / "package" / "loop").symlink_to(workspace.root, target_is_directory=True)
    (workspace.root / "package" / "loop.py").symlink_to(workspace.root, target_is_directory=True)
    assert places(workspace.check()) == ["package/train.py:6:9 CKP101"]


def test_a_link_to_itself_cannot_be_read(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    (workspace.root / "self.py").symlink_to("self.py")
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["self.py:1:1 CKP900", "train.py:6:9 CKP101"]


def test_a_link_to_nowhere_cannot_be_read(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    (workspace.root / "gone.py").symlink_to("nowhere.py")
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["gone.py:1:1 CKP900", "train.py:6:9 CKP101"]
    assert "cannot be read: No such file or directory" in result.stdout


def test_the_lock_that_emacs_leaves_is_no_file(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    (workspace.root / ".#train.py").symlink_to("user@host.1234")
    assert workspace.check().exit_code == 0


def test_a_pipe_is_not_waited_for(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    os.mkfifo(workspace.root / "pipe.py")
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["pipe.py:1:1 CKP900", "train.py:6:9 CKP101"]
    assert "not a regular file" in result.stdout


def test_a_file_that_may_not_be_read_is_a_finding(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root reads any file whatever its mode, so the refusal of the system is played.
    workspace.write(secret=BAD, train=BAD)
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "secret.py":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["secret.py:1:1 CKP900", "train.py:6:9 CKP101"]
    assert "cannot be read: Permission denied" in result.stdout


def test_a_folder_that_may_not_be_read_is_a_finding(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write(secret__train=BAD, train=BAD)
    scan = os.scandir

    def refuse(path: str) -> object:
        if os.path.basename(path) == "secret":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["secret:1:1 CKP900", "train.py:6:9 CKP101"]
    assert "the folder cannot be read: Permission denied" in result.stdout


def test_a_generated_file_of_ten_megabytes_is_not_analysed(workspace: Workspace) -> None:
    workspace.write(huge="x = 1\n" * 1_700_000, train=BAD)
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["huge.py:1:1 CKP900", "train.py:6:9 CKP101"]
    assert "larger than 8 MiB (9.7 MiB)" in result.stdout


@pytest.mark.parametrize(
    "deep",
    [
        "x = " + "(" * 5_000 + "1" + ")" * 5_000 + "\n",
        "x = " + "-" * 50_000 + "1\n",
        "x = " + "+".join(["1"] * 50_000) + "\n",
        "x = a" + ".b" * 20_000 + "\n",
        "x = a" + "()" * 20_000 + "\n",
        "".join(f"{' ' * n}if x:\n" for n in range(99)) + " " * 99 + "pass\n",
        "if x:\n    pass\n" + "elif x:\n    pass\n" * 600,
    ],
    ids=["brackets", "signs", "sums", "attributes", "calls", "blocks", "elifs"],
)
def test_deep_nesting_breaks_nothing(workspace: Workspace, deep: str) -> None:
    workspace.write(deep=f"import torch.distributed\n{deep}", train=BAD)
    result = workspace.check()
    assert "train.py:6:9 CKP101" in places(result)
    others = [place for place in places(result) if not place.startswith("train.py")]
    assert [place.split()[1] for place in others] in ([], ["CKP900"])
    assert result.exit_code == (2 if others else 1)


def test_a_named_file_may_have_any_suffix(workspace: Workspace) -> None:
    workspace.put("train", BAD)
    workspace.put("stub.pyi", BAD)
    assert places(workspace.check("train")) == ["train:6:9 CKP101"]
    assert places(workspace.check("stub.pyi")) == ["stub.pyi:6:9 CKP101"]
    assert places(workspace.check()) == []


def test_a_file_that_is_not_analysed_can_be_ignored_by_name_only(workspace: Workspace) -> None:
    workspace.write(torn="def broken(rank:\n")
    assert workspace.check("--select", "CKP101").exit_code == 2
    assert workspace.check("--ignore", "CKP9").exit_code == 2
    result = workspace.check("--ignore", "CKP900")
    assert result.exit_code == 0
    assert "1 file could not be analysed" in result.stdout


def test_names_that_are_not_text_can_be_reported(workspace: Workspace) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    workspace.put(name, BAD)
    for output_format in ("full", "concise", "json", "github"):
        result = workspace.run("check", "--output-format", output_format)
        assert result.exit_code == 1


def test_a_read_only_file_is_not_written(workspace: Workspace) -> None:
    path = workspace.put("train.py", BAD)
    path.chmod(stat.S_IRUSR)
    workspace.check("--fix")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IRUSR
    assert path.read_text() == BAD
