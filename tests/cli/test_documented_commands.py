"""Every command that the documentation shows is run, and prints what is shown below it.

Commands stand in fences ``console`` (after ``$``, with what they print) and ``sh``. Those of one
page are run in order, in a copy of a small project. A command that cannot be run here is listed
with the reason; anything else that is new in a page is run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckptlint.cli import cli
from workspace import BAD

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "runtime_shim" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]

# What cannot be run by a test, and why.
NOT_RUN = {
    r"make (demo|test|docs|browser|bench|corpus)\b": "makes an environment; CI runs it as it is",
    r"(python -m )?pip install": "changes the environment that the tests run in",
    r"(torchrun|accelerate launch|deepspeed|python) \S+\.py": "a training job",
    r"git (clone|push)": "needs a remote repository",
    r"ckptlint server": "waits for an editor; tests of the server speak to it",
}
_FENCE = re.compile(r"^```(console|sh|bash)\n(.*?)^```$", re.M | re.S)
_SHELL = re.compile(r"[|&;<>$`*?~]|\bcd\b")
_NOTEBOOK = [["# Title"], ["x = 1\n"], ["y = 2\n"], ["import os\n", *BAD.splitlines(True)]]


@dataclass(frozen=True)
class Command:
    """A command line of a page, and the lines that it is said to print.

    ``line`` is that of the command, or that of the fence's first command.
    """

    text: str
    line: int
    shown: tuple[str, ...] = ()


def commands(page: str) -> Iterator[Command]:
    """Yield the commands of a page in order."""
    for fence in _FENCE.finditer(page):
        first = page.count("\n", 0, fence.start()) + 2
        lines = fence.group(2).splitlines()
        if fence.group(1) == "console":
            starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
            for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
                shown = tuple(line.rstrip() for line in lines[start + 1 : end] if line.strip())
                yield Command(_plain(lines[start][2:]), first + start, shown)
        else:
            joined = fence.group(2).replace("\\\n", " ").splitlines()
            for line in joined:
                if line.strip() and not line.startswith("#"):
                    yield Command(_plain(line), first)


def _plain(line: str) -> str:
    """Take the comment at the end of a command away."""
    return re.sub(r"\s+# .*$", "", line).strip()


def reason(command: Command) -> str:
    """Return why a command is not run, or nothing."""
    return next((why for what, why in NOT_RUN.items() if re.match(what, command.text)), "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the examples, a script and a notebook in which something is found."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "train.py").write_text(BAD)
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**code, "source": text} for text in _NOTEBOOK]
    cells[0] = {"cell_type": "markdown", "metadata": {}, "source": _NOTEBOOK[0]}
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "train.ipynb").write_text(json.dumps(book))
    (folder / "ckptlint.toml").touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    shim = programs / "ckptlint"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckptlint "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "-q"], check=True)
    return folder


def outcome(text: str) -> tuple[int, str]:
    """Run a command; those of ckptlint alone in this process, which is quicker."""
    words = text.split()
    if words[0] == "ckptlint" and not _SHELL.search(text) and '"' not in text and "'" not in text:
        result = CliRunner().invoke(cli, words[1:])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_do_what_the_page_shows(page: Path, project: Path) -> None:
    for command in commands(page.read_text(encoding="utf-8")):
        if reason(command):
            continue
        status, printed = outcome(command.text)
        place = f"{page.name}:{command.line}: {command.text}"
        allowed = (0, 1) if "ckptlint" in command.text else (0,)  # 1 says that there are findings
        assert status in allowed, f"{place} ends with {status}:\n{printed}"
        lines = iter([line.rstrip() for line in printed.splitlines()])
        for line in command.shown:
            assert line in lines, f"{place} does not print, in this order:\n{line}\n{printed}"


def test_commands_are_found_in_pages() -> None:
    first = "```console\n$ one --x  # why\nprinted\n\n$ two\n```\n"
    text = f"{first}```sh\n# no\nthree \\\n  four\n```\n"
    assert list(commands(text)) == [
        Command("one --x", 2, ("printed",)),
        Command("two", 5),
        Command("three    four", 8),
    ]
