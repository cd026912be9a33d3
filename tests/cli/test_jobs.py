"""Several processes find what one finds; one that is lost is told."""

from __future__ import annotations

import os
import signal

import pytest

from ckptlint import examining
from workspace import BAD, GOOD, Workspace

_FILES = 40


@pytest.fixture
def project(workspace: Workspace) -> Workspace:
    """A project of many scripts, every second with a finding, and a file that is torn."""
    for number in range(_FILES):
        workspace.put(f"train_{number}.py", GOOD if number % 2 else BAD)
    workspace.put("torn.py", "def broken(rank:\n")
    return workspace


@pytest.mark.parametrize("output_format", ["json", "full"])
def test_what_is_found_does_not_depend_on_the_number_of_processes(
    project: Workspace, output_format: str
) -> None:
    def report(*arguments: str) -> tuple[int, str]:
        result = project.check("--no-cache", "--output-format", output_format, *arguments)
        return result.exit_code, result.stdout

    alone = report("--jobs", "1")
    assert alone[0] == 2
    assert alone[1].count("CKP101") >= _FILES // 2
    assert alone == report("--jobs", "3") == report("--jobs", "9") == report()


def test_nor_on_the_order_of_the_paths(project: Workspace) -> None:
    names = sorted(path.name for path in project.root.glob("*.py"))
    there = project.check("--no-cache", "--jobs", "2", *names).stdout
    assert there == project.check("--no-cache", "--jobs", "2", *reversed(names)).stdout


def test_fixes_are_the_same(project: Workspace) -> None:
    alone = project.run("check", "--diff", "--unsafe-fixes", "--jobs", "1").stdout
    assert alone.count("+++") == _FILES // 2
    assert alone == project.run("check", "--diff", "--unsafe-fixes", "--jobs", "4").stdout


def test_a_process_that_is_killed_is_told(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = os.getpid()

    def killed(self: examining.Examiner, source: object) -> None:
        assert os.getpid() != parent
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(examining.Examiner, "examine", killed)
    result = project.check("--no-cache", "--jobs", "2")
    assert result.exit_code == 2
    assert "a process of the analysis was lost" in result.stderr


def test_what_goes_wrong_in_a_process_goes_wrong_here(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: examining.Examiner, source: object) -> None:
        raise ZeroDivisionError(str(source))

    monkeypatch.setattr(examining.Examiner, "examine", wrong)
    with pytest.raises(ZeroDivisionError, match="train_0"):
        project.check("--no-cache", "--jobs", "2")


def test_there_is_at_least_one_process(workspace: Workspace) -> None:
    result = workspace.check("--jobs", "0")
    assert result.exit_code == 2
    assert "--jobs" in result.stderr
