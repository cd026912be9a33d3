"""flake8 with the plugin, as its users run it, and what pre-commit is told."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from flake8.options.manager import OptionManager

from ckptlint import catalogue
from ckptlint.config_file import tomllib
from ckptlint.flake8_plugin import Plugin
from workspace import BAD, GOOD, Workspace

_ROOT = Path(__file__).parents[2]
_CONFIG = "[flake8]\nselect = CKP\njobs = 1\n"
if not entry_points(group="flake8.extension", name="CKP"):  # the package is not installed
    _CONFIG += "[flake8:local-plugins]\nextension =\n    CKP = ckptlint.flake8_plugin:Plugin\n"


def flake8(workspace: Workspace, *arguments: str, stdin: str | None = None) -> list[str]:
    """Run flake8 in the project and return what it prints."""
    workspace.put("flake8.cfg", _CONFIG)
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--config", "flake8.cfg", *arguments],
        cwd=workspace.root,
        env={**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'rules'}"},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_flake8_reports_findings_and_leaves_noqa_and_selection_to_itself(
    workspace: Workspace,
) -> None:
    workspace.write(
        train=BAD,
        good=GOOD,
        quiet=BAD.replace("(out)\n", "(out)  # noqa: CKP101\n"),
        meant=BAD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] meant\n"),
        crlf=BAD.replace("\n", "\r\n"),
    )
    told = "6:9: CKP101 only rank 0 reaches engine.save_checkpoint; the job hangs"
    lines = flake8(workspace, ".")
    assert [line.partition(" under")[0] for line in lines] == [
        f"./crlf.py:{told}",
        f"./train.py:{told}",
    ]
    assert len(flake8(workspace, "--disable-noqa", ".")) == 3
    assert flake8(workspace, "--extend-ignore", "CKP101", ".") == []


def test_flake8_sees_helpers_in_other_files_and_text_from_standard_input(
    workspace: Workspace,
) -> None:
    workspace.write(helper="def save(engine, out):\n    engine.save_checkpoint(out)\n", train=GOOD)
    text = BAD.replace("engine.save_checkpoint(out)", "save(engine, out)")
    (line,) = flake8(
        workspace,
        "--stdin-display-name",
        "train.py",
        "-",
        stdin=f"from helper import save\n{text}",
    )
    assert line.startswith("train.py:7:9: CKP101 ")


def test_flake8_is_told_which_rules_are_off_unless_selected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = catalogue.rules()
    off = replace(known["CKP103"], default=False)
    monkeypatch.setattr(catalogue, "rules", lambda: {**known, "CKP103": off})
    manager = OptionManager(
        version="1", plugin_versions="", parents=[], formatter_names=["default"]
    )
    Plugin.add_options(manager)
    assert "CKP103" in manager.extended_default_ignore
    assert "CKP101" not in manager.extended_default_ignore


def hooks() -> dict[str, dict[str, str]]:
    """Read the hooks: plain keys and values, one a line."""
    found: dict[str, dict[str, str]] = {}
    for block in (_ROOT / ".pre-commit-hooks.yaml").read_text().split("- ")[1:]:
        pairs = [line.strip().split(": ", 1) for line in block.splitlines() if line.strip()]
        hook = dict(pairs)
        found[hook["id"]] = hook
    return found


def test_pre_commit_gets_every_file_in_one_process() -> None:
    assert list(hooks()) == ["ckptlint", "ckptlint-fix"]
    for hook in hooks().values():
        assert hook["language"] == "python"
        assert hook["types_or"] == "[python, jupyter]"
        assert hook["require_serial"] == "true"


def test_the_hooks_of_pre_commit_do_what_they_say(workspace: Workspace) -> None:
    workspace.write(train=BAD, tests__test_train=BAD)
    for hook in hooks().values():
        program, *arguments = hook["entry"].split()
        assert program == "ckptlint"
        result = workspace.run(*arguments, "train.py", "tests/test_train.py")
        assert "tests/test_train.py" not in result.stdout
        if "fix" not in hook["id"]:
            assert result.exit_code == 1
            assert "train.py:6:9" in result.stdout


def test_what_pre_commit_installs_holds_no_torch() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    assert not any(name.startswith("torch") for name in project["dependencies"])
