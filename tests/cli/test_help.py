"""What the command line says of itself: help, suggestions, and what a shell completes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ckptlint.catalogue import rules
from ckptlint.choices import FORMATS
from ckptlint.cli import cli
from workspace import BAD, Workspace

_ROOT = Path(__file__).parents[2]


def test_every_option_of_check_stands_in_a_section_with_a_sentence(workspace: Workspace) -> None:
    text = workspace.run("check", "--help").stdout
    titles = [line[:-1] for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == [
        "Which rules", "Fixes", "Accepting findings", "Output", "Which files", "Settings", "Help",
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_option_has_a_sentence(workspace: Workspace, name: str) -> None:
    command = cli.commands[name]
    for option in (param for param in command.params if isinstance(param, click.Option)):
        assert option.help
        assert re.search(r"\.(  \[.*\])?$", option.help), option.help


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_help_that_fits_a_terminal(workspace: Workspace, name: str) -> None:
    result = workspace.run(name, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert cli.commands[name].get_short_help_str(200).endswith(".")


def test_a_word_that_is_no_command_is_met_with_what_was_meant(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.run("chek")
    assert result.exit_code == 2
    assert "there is no command 'chek'; did you mean `ckptlint check`?" in result.stderr
    result = workspace.run("train.py", "--fix")
    assert result.exit_code == 2
    assert "did you mean `ckptlint check train.py --fix`?" in result.stderr
    assert "did you mean" not in workspace.run("xyzzy").stderr


def test_an_option_that_is_none_is_met_with_what_was_meant(workspace: Workspace) -> None:
    result = workspace.run("check", "--selct", "CKP101")
    assert result.exit_code == 2
    assert "--select" in result.stderr


# -- completion ------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A search path on which ``ckptlint`` is found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ckptlint"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckptlint "$@"\n')
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def completed(path: str, *words: str) -> list[str]:
    """Return what bash offers for the last word, with the script that we print."""
    script = (
        'eval "$(ckptlint completion bash)"\n'
        f"COMP_WORDS=(ckptlint {' '.join(words)})\n"
        f"COMP_CWORD={len(words)}\n_ckptlint_completion ckptlint\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", script],
        env={**os.environ, "PATH": path, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'rules'}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_codes_and_formats(path: str) -> None:
    assert completed(path, "ch") == ["check"]
    assert completed(path, "check", "--output-f") == ["--output-format", "--output-file"]
    assert completed(path, "check", "--output-format", "g") == ["github", "gitlab"]
    assert completed(path, "check", "--output-format", '""') == list(FORMATS)
    assert completed(path, "check", "--confidence", "c") == ["certain"]
    assert completed(path, "check", "--select", "CKP90") == ["CKP900", "CKP901"]
    assert completed(path, "check", "--select", "CKP101,ckp10") == [
        f"CKP101,{code}" for code in rules() if code.startswith("CKP10")
    ]
    assert completed(path, "explain", "CKP101") == ["CKP101"]
    assert completed(path, "explain", "unused") == ["unused-suppression"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_asks_ckptlint(workspace: Workspace, shell: str) -> None:
    result = workspace.run("completion", shell)
    assert result.exit_code == 0
    assert f"_CKPTLINT_COMPLETE={shell}_complete" in result.stdout


def test_a_shell_that_is_not_known_is_refused(workspace: Workspace) -> None:
    result = workspace.run("completion", "tcsh")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr
