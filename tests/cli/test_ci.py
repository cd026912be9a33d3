"""The GitHub action as a runner runs it, and the examples of the pages on CI and settings."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ckptlint.config_file import KEYS
from ckptlint.facts import RECORDS
from workspace import BAD, GOOD, Workspace

_ROOT = Path(__file__).parents[2]
_PAGES = ("ci.md", "baseline.md", "configuration.md")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[Any]:
    """Return the examples of the pages in one language."""
    return [
        pytest.param(text, id=f"{page}-{number}")
        for page in _PAGES
        for number, (kind, text) in enumerate(_BLOCK.findall((_ROOT / "docs" / page).read_text()))
        if kind == language
    ]


def accepted(schema: str, path: Path) -> None:
    """Let the schema that the service publishes judge a file."""
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- the action ------------------------------------------------------------------------------------


def test_github_accepts_the_action() -> None:
    accepted("vendor.github-actions", _ROOT / "action.yml")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((_ROOT / "action.yml").read_text())
    return found


def test_the_scripts_hold_nothing_that_a_workflow_says() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]


def run_step(
    workspace: Workspace, tmp_path: Path, number: int, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does, with the inputs that a workflow gives."""
    step = action()["runs"]["steps"][number]
    known = {
        f"inputs.{name}": inputs.get(name.replace("-", "_"), each.get("default", ""))
        for name, each in action()["inputs"].items()
    }
    known["github.action_path"] = str(_ROOT)
    variables = {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: known[match[1]], text)
        for name, text in step["env"].items()
    }
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    if not (programs / "python").exists():
        # A link would not be the python of its environment, and find what is installed elsewhere.
        start = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
        (programs / "python").write_text(start, encoding="utf-8")
        (programs / "python").chmod(0o755)
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=workspace.root,
        env={
            **kept,
            **variables,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folder of the runner in which the first step has installed ckptlint."""
    target = tmp_path / "temp" / "ckptlint"
    target.mkdir(parents=True)
    (target / "ckptlint").symlink_to(_ROOT / "ckptlint")
    (target / "ckptlint_rules").symlink_to(_ROOT / "rules" / "ckptlint_rules")
    return tmp_path


def test_the_action_annotates_and_passes_the_status_on(
    workspace: Workspace, installed: Path
) -> None:
    workspace.put("größe 1/train.py", BAD)
    workspace.write(other=BAD, clean=GOOD)
    done = run_step(workspace, installed, 1)
    assert done.returncode == 1
    assert done.stderr == ""
    assert [line.split(",")[0] for line in done.stdout.splitlines()[:2]] == [
        "::error file=größe 1/train.py",
        "::error file=other.py",
    ]
    assert (installed / "output").read_text() == "exit-status=1\n"


def test_the_action_takes_paths_with_spaces_options_and_a_file(
    workspace: Workspace, installed: Path
) -> None:
    workspace.put("größe 1/train.py", BAD)
    workspace.write(other=BAD)
    done = run_step(
        workspace,
        installed,
        1,
        paths="größe 1\n\n",
        output_format="sarif",
        output_file="out put.sarif",
        args="--exit-zero --confidence certain",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (run,) = json.loads((workspace.root / "out put.sarif").read_text())["runs"]
    assert len(run["results"]) == 1


def test_the_action_runs_nothing_of_what_a_workflow_says(
    workspace: Workspace, installed: Path
) -> None:
    workspace.write(train=GOOD)
    done = run_step(workspace, installed, 1, paths="$(touch torn)", args="`touch torn` ;touch torn")
    assert done.returncode == 2
    assert not (workspace.root / "torn").exists()


def test_the_action_installs_what_it_stands_in(workspace: Workspace, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (programs / "python").chmod(0o755)
    done = run_step(workspace, tmp_path, 0)
    assert done.stdout.splitlines()[-3:] == ["--target", f"{tmp_path}/temp/ckptlint", str(_ROOT)]


# -- the pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", blocks("yaml"))
def test_services_accept_the_examples(text: str, tmp_path: Path) -> None:
    name = text.splitlines()[0].removeprefix("# ")
    document = yaml.safe_load(text)
    path = tmp_path / Path(name).name
    path.write_text(text)
    if name.startswith(".github/"):
        accepted("vendor.github-workflows", path)
        for step in document["jobs"]["ckptlint"]["steps"]:
            if step["uses"].startswith("OWNER/"):
                assert set(step.get("with", {})) <= set(action()["inputs"])
    elif name == ".gitlab-ci.yml":
        accepted("vendor.gitlab-ci", path)
    else:
        hooks = yaml.safe_load((_ROOT / ".pre-commit-hooks.yaml").read_text())
        (repository,) = document["repos"]
        assert {hook["id"] for hook in repository["hooks"]} <= {hook["id"] for hook in hooks}


@pytest.mark.parametrize("text", blocks("toml"))
def test_settings_of_the_pages_hold(text: str, workspace: Workspace) -> None:
    name = text.splitlines()[0].removeprefix("# ")
    if name == "pyproject.toml":
        (workspace.root / "ckptlint.toml").unlink()  # it would come first
    path = workspace.put(name, text)
    workspace.put(str(Path(name).parent / "train.py"), GOOD)
    result = workspace.run("check", "--show-settings", str(path.parent))
    assert result.exit_code == 0
    assert f"# settings from {name}" in result.stdout


@pytest.mark.parametrize("text", blocks("console"))
def test_commands_of_the_pages_can_be_given(text: str, workspace: Workspace) -> None:
    workspace.write(train=BAD)
    for line in text.splitlines():
        prompt, program, *arguments = shlex.split(line)
        assert (prompt, program) == ("$", "ckptlint")
        result = workspace.run(*arguments)
        assert result.exit_code in (0, 1)
        assert "Usage" not in result.stderr
    assert workspace.run("check", "--isolated").exit_code in (0, 1)


@pytest.mark.parametrize("text", blocks("json"))
def test_the_entry_that_is_shown_is_one(text: str, workspace: Workspace) -> None:
    document = {"version": 1, "findings": [json.loads(text)]}
    workspace.put("known.json", json.dumps(document))
    workspace.write(train=BAD.replace("def train", "def main"))
    assert workspace.check("--baseline", "known.json").exit_code == 0


def test_every_key_of_the_settings_is_explained() -> None:
    """The tables of facts have a page of their own; here some of them stand for all."""
    page = (_ROOT / "docs" / "configuration.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert told <= set(KEYS)
    assert set(KEYS) - told <= {"framework", *RECORDS}
