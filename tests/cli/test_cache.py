"""Outcomes that are kept on disk: used while nothing has changed, never when something has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ckptlint import cache
from ckptlint.kept import files
from workspace import BAD, GOOD, Workspace, places

FOUND = ["train.py:6:9 CKP101"]
CACHE = cache.FOLDER


@pytest.fixture
def project(workspace: Workspace) -> Workspace:
    """A project with a finding, which a run has seen."""
    workspace.put("pyproject.toml", "[project]\nname = 'trainer'\n")
    workspace.write(train=BAD, other=GOOD)
    assert places(workspace.check()) == FOUND
    return workspace


def entry(project: Workspace) -> Path:
    """Return the one outcome that is kept."""
    [path] = (project.root / CACHE).glob("*.json")
    return path


def doctored(project: Workspace) -> None:
    """Write another message into what is kept, so that it shows where it is used."""
    document = json.loads(entry(project).read_bytes())
    document["findings"][0]["message"] = "taken from the cache"
    entry(project).write_text(json.dumps(document))


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose times can be relied on at once."""
    monkeypatch.setattr(cache, "SETTLED", 0)
    monkeypatch.setattr(files, "SETTLED", 0)


@pytest.mark.usefixtures("settled")
def test_files_with_the_times_that_they_had_are_not_even_read(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.check()  # now with times that can be relied on
    doctored(project)
    assert "taken from the cache" in project.check().stdout


def test_times_of_a_moment_ago_are_not_relied_on(project: Workspace) -> None:
    doctored(project)
    assert "taken from the cache" not in project.check().stdout


@pytest.mark.parametrize("output_format", ["full", "json", "sarif", "gitlab", "junit", "rdjson"])
def test_a_report_is_the_same_with_and_without(project: Workspace, output_format: str) -> None:
    arguments = ("check", "--output-format", output_format)
    fresh = project.run(*arguments, "--no-cache").stdout
    assert fresh == project.run(*arguments).stdout == project.run(*arguments).stdout


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("train.py", GOOD, []),
        ("other.py", BAD, ["other.py:6:9 CKP101", *FOUND]),
        ("new.py", BAD, ["new.py:6:9 CKP101", *FOUND]),
        ("ckptlint.toml", "ignore = ['CKP101']\n", []),
    ],
)
def test_what_changed_is_seen(
    project: Workspace, name: str, content: str, found: list[str]
) -> None:
    project.put(name, content)
    assert places(project.check()) == found


@pytest.mark.usefixtures("settled")
def test_a_requirement_that_changed_is_seen(project: Workspace) -> None:
    project.check()
    doctored(project)
    project.put("requirements.txt", "deepspeed==0.9.0\n")
    assert "taken from the cache" not in project.check().stdout


def test_a_file_that_is_gone_is_seen(project: Workspace) -> None:
    (project.root / "train.py").unlink()
    assert places(project.check()) == []


def test_what_was_asked_for_counts(project: Workspace) -> None:
    assert places(project.check("other.py")) == []
    assert places(project.check("train.py")) == FOUND
    assert places(project.check("--ignore", "CKP101")) == []


def test_a_file_that_cannot_be_analysed_still_fails_the_next_run(project: Workspace) -> None:
    project.write(torn="def broken(rank:\n")
    first, second = project.check(), project.check()
    assert first.exit_code == second.exit_code == 2
    assert first.stdout == second.stdout


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b'{"stamp": 1}', b"\0"])
def test_a_damaged_cache_is_made_anew_in_silence(project: Workspace, damage: bytes) -> None:
    entry(project).write_bytes(damage)
    result = project.check()
    assert places(result) == FOUND
    assert result.stderr == ""
    assert json.loads(entry(project).read_bytes())["findings"]


def test_findings_of_another_shape_are_found_anew(project: Workspace) -> None:
    document = json.loads(entry(project).read_bytes())
    document["findings"] = [{"code": "CKP101"}]
    entry(project).write_text(json.dumps(document))
    assert places(project.check()) == FOUND


def test_fixes_are_applied_after_a_run_that_was_kept(project: Workspace) -> None:
    project.check()
    project.check("--fix", "--unsafe-fixes")
    assert places(project.check()) == []


@pytest.mark.usefixtures("settled")
def test_without_a_cache_nothing_is_kept_and_nothing_taken(project: Workspace) -> None:
    project.check()
    doctored(project)
    assert "taken from the cache" not in project.check("--no-cache").stdout
    assert places(project.check("--no-cache", "--ignore", "CKP103")) == FOUND
    assert len(list((project.root / CACHE).glob("*.json"))) == 1


def test_git_does_not_see_the_cache(project: Workspace) -> None:
    assert (project.root / CACHE / ".gitignore").read_text() == "*\n"


def test_only_the_newest_outcomes_are_kept(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_KEPT", 2)
    os.utime(entry(project), (1, 1))
    for code in ("CKP102", "CKP103", "CKP104"):
        project.check("--ignore", code)
    assert len(list((project.root / CACHE).glob("*.json"))) == 2


def test_a_folder_that_nobody_may_write_to_is_checked_all_the_same(workspace: Workspace) -> None:
    workspace.put("pyproject.toml", "[project]\nname = 'trainer'\n")
    workspace.write(train=BAD)
    workspace.put(CACHE, "a file where the folder would be")
    result = workspace.check()
    assert places(result) == FOUND
    assert result.stderr == ""
