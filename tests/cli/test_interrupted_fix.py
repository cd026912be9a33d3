"""``--fix`` that is ended in the middle: every file is the old one or the new one, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import BAD, GOOD, Workspace

ROOT = Path(__file__).parents[2]
# Ends itself right before or in the middle of the N-th file.
_DYING = """
import os, signal, sys

number, place, kind = int(sys.argv[1]), sys.argv[2], getattr(signal, sys.argv[3])
seen = 0
original = getattr(os, place)

def dying(*arguments):
    global seen
    seen += 1
    if seen == number:
        os.kill(os.getpid(), kind)
    return original(*arguments)

setattr(os, place, dying)
sys.argv = ["ckptlint", "check", "--fix", "."]
from ckptlint.cli import main
main()
"""


def fix_and_die(workspace: Workspace, number: int, place: str, kind: str) -> int:
    """Fix a project of five files; return the exit status."""
    workspace.write(**{f"file{index}": BAD for index in range(5)})
    path = os.pathsep.join([str(ROOT), str(ROOT / "rules")])
    process = subprocess.run(
        [sys.executable, "-c", _DYING, str(number), place, kind],
        cwd=workspace.root,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    return process.returncode


@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_a_killed_run_leaves_each_file_old_or_new(
    workspace: Workspace, number: int, place: str
) -> None:
    assert fix_and_die(workspace, number, place, "SIGKILL") == -signal.SIGKILL
    texts = [path.read_text() for path in sorted(workspace.root.glob("*.py"))]
    assert texts == [GOOD] * (number - 1) + [BAD] * (6 - number)


def test_an_interrupted_run_leaves_nothing_behind_and_can_be_repeated(workspace: Workspace) -> None:
    assert fix_and_die(workspace, 3, "replace", "SIGINT") == 130
    names = sorted(path.name for path in workspace.root.iterdir())
    assert [name for name in names if name.startswith(".ckptlint-")] == []
    texts = [path.read_text() for path in sorted(workspace.root.glob("*.py"))]
    assert texts == [GOOD] * 2 + [BAD] * 3
    assert workspace.run("check", "--fix", ".").exit_code == 0
    assert {path.read_text() for path in workspace.root.glob("*.py")} == {GOOD}
