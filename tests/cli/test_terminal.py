"""What a person at a terminal sees, and what a pipe gets: real processes, real terminals."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import BAD, GOOD, Workspace

_ROOT = Path(__file__).parents[2]
_WHEEL = re.compile(rb"\r[|/\\-] checking 1 file, \d+ s")
# A run that takes its time: the analysis waits before it begins.
_SLOW = (
    "import sys, time\nfrom ckptlint import checking\nfrom ckptlint.cli import main\n"
    "analyse = checking.Runner.run\n"
    "def slow(self, found):\n    time.sleep({})\n    return analyse(self, found)\n"
    "checking.Runner.run = slow\nsys.argv = ['ckptlint', 'check', 'train.py']\nmain()\n"
)


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    path = f"{_ROOT}{os.pathsep}{_ROOT / 'rules'}"
    return {**kept, "PYTHONPATH": path, "TERM": "xterm", **more}


def read(terminal: int) -> bytes:
    """Read what is written to a terminal until its other side is closed."""
    data = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            return data
        if not piece:
            return data
        data += piece


def at_terminal(
    workspace: Workspace, program: list[str], out: bool, **more: str
) -> tuple[bytes, bytes]:
    """Run a program with standard error (and standard output, if ``out``) at a terminal; return
    what the terminal showed and what came through the pipe."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *program],
        cwd=workspace.root,
        stdout=theirs if out else subprocess.PIPE,
        stderr=theirs,
        env=environment(**more),
    )
    os.close(theirs)
    shown = read(ours)
    piped = b"" if process.stdout is None else process.stdout.read()
    process.wait(timeout=60)
    os.close(ours)
    return shown, piped


def test_a_long_run_shows_that_it_is_alive_and_wipes_it_away(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    shown, piped = at_terminal(workspace, ["-c", _SLOW.format(1.6)], out=False)
    assert _WHEEL.match(shown)
    assert shown.endswith(b"\r\x1b[K")
    assert piped == b"No findings in 1 file.\n"


def test_a_short_run_shows_results_only(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    program = "from ckptlint import terminal\nterminal._PATIENCE = 60\n" + _SLOW.format(0)
    shown, piped = at_terminal(workspace, ["-c", program], out=False)
    assert (shown, piped) == (b"", b"No findings in 1 file.\n")


def test_a_long_run_that_nobody_looks_at_shows_results_only(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    done = subprocess.run(
        [sys.executable, "-c", _SLOW.format(1.4)],
        cwd=workspace.root,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (b"No findings in 1 file.\n", b"")


def test_a_dumb_terminal_shows_results_only(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    shown, _ = at_terminal(workspace, ["-c", _SLOW.format(1.4)], out=False, TERM="dumb")
    assert shown == b""


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_people_who_want_them(
    workspace: Workspace, variables: dict[str, str], coloured: bool
) -> None:
    workspace.write(train=BAD)
    shown, _ = at_terminal(workspace, ["-m", "ckptlint", "check"], out=True, **variables)
    assert b"CKP101" in shown
    assert (b"\x1b[1;31m" in shown) is coloured


@pytest.mark.parametrize(("value", "coloured"), [("1", True), ("0", False), ("", False)])
def test_colours_in_a_pipe_are_there_when_they_are_forced(
    workspace: Workspace, value: str, coloured: bool
) -> None:
    workspace.write(train=BAD)
    done = subprocess.run(
        [sys.executable, "-m", "ckptlint", "check"],
        cwd=workspace.root,
        env=environment(FORCE_COLOR=value),
        capture_output=True,
        timeout=60,
    )
    assert (b"\x1b[" in done.stdout) is coloured


def test_control_c_ends_a_run_at_once_and_says_so(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    endless = (
        "import sys, time\nfrom ckptlint import engine\nfrom ckptlint.cli import main\n"
        "def findings(self):\n    print('on', flush=True)\n    time.sleep(600)\n"
        "engine._Analysis.findings = findings\n"
        "sys.argv = ['ckptlint', 'check', 'train.py']\nmain()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", endless],
        cwd=workspace.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "ckptlint: interrupted\n")


def test_a_report_for_a_pipe_or_a_device_is_written_to_it(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    done = subprocess.run(
        [sys.executable, "-m", "ckptlint", "check", "--output-file", "/dev/stdout"],
        cwd=workspace.root,
        env=environment(),
        stdout=subprocess.PIPE,
        timeout=60,
    )
    assert b"Found 1 finding in 1 file." in done.stdout


def test_where_a_report_cannot_go_is_told_before_the_run(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.check("--output-file", "missing/x.txt", "--fix", "--unsafe-fixes")
    assert result.exit_code == 2
    assert result.stderr == "Error: cannot write missing/x.txt: make the folder first\n"
    assert (workspace.root / "train.py").read_text() == BAD
