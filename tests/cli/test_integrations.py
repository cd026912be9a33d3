"""flake8 with the plugin, as its users run it, and what pre-commit is told."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from ckptlint.config_file import tomllib
from workspace import BAD, GOOD, Workspace

_ROOT = Path(__file__).parents[2]
_PLUGIN = ""
if not entry_points(group="flake8.extension", name="CKP"):  # the package is not installed
    _PLUGIN = "[flake8:local-plugins]\nextension =\n    CKP = ckptlint.flake8_plugin:Plugin\n"


def flake8(
    workspace: Workspace,
    *arguments: str,
    stdin: str | None = None,
    config: str = "select = CKP\njobs = 1",
) -> list[str]:
    """Run flake8 in the project and return what it prints."""
    workspace.put("flake8.cfg", f"[flake8]\n{config}\n{_PLUGIN}")
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
        f"./crlf.py:{told}; good.py calls it on every rank",
        f"./train.py:{told}; good.py calls it on every rank",
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


# One rank raises before the others wait: CKP110, which is off by default.
RAISES = """\
import torch.distributed as dist


def finish():
    if dist.get_rank() == 0:
        raise RuntimeError("disk full")
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ("", False),
        ("ignore = E203, W503", False),
        ("extend-ignore = E203", False),
        ("extend-select = CKP101", False),
        ("select = E, F", False),
        ("select = CKP101", False),
        ("extend-select = CKP110", True),
        ("ignore = E203\nextend-select = CKP110", True),
        ("select = CKP", True),
        ("select = C, E", True),
        ("select = CKP\nextend-ignore = CKP110", False),
    ],
)
def test_flake8_shows_a_rule_that_is_off_by_default_only_when_it_is_selected(
    workspace: Workspace, settings: str, shown: bool
) -> None:
    workspace.write(train=RAISES)
    told = flake8(workspace, "train.py", config=settings)
    assert [line for line in told if "CKP" in line] == (
        [line for line in told if line.startswith("train.py:7:5: CKP110 ")]
    )
    assert bool(told) is shown


def test_flake8_needs_no_settings_to_show_what_is_on(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    assert [line[:20] for line in flake8(workspace, "train.py", config="")] == [
        "train.py:4:1: E302 e",
        "train.py:6:9: CKP101",
    ]


def test_flake8_counts_columns_in_characters(workspace: Workspace) -> None:
    text = BAD.replace(
        "    if dist.get_rank() == 0:\n        engine",
        "    if dist.get_rank() == 0: print('é𐀀'); engine",
    )
    column = text.splitlines()[4].index("engine.") + 1
    workspace.put("größe 1/train.py", text)
    workspace.put("größe 1/crlf.py", text.replace("\n", "\r\n"))
    told = flake8(workspace, ".")
    assert [line.partition(" CKP101 ")[0] for line in told] == [
        f"./größe 1/crlf.py:5:{column}:",
        f"./größe 1/train.py:5:{column}:",
    ]


def test_flake8_checks_standard_input_without_a_name(workspace: Workspace) -> None:
    workspace.write(helper="def save(engine, out):\n    engine.save_checkpoint(out)\n")
    text = BAD.replace("engine.save_checkpoint(out)", "save(engine, out)")
    (line,) = flake8(workspace, "-", stdin=f"from helper import save\n{text}")
    assert line.startswith("stdin:7:9: CKP101 ")
    assert flake8(workspace, "-", stdin=GOOD) == []


def test_flake8_tells_of_our_comments_and_not_of_its_own(workspace: Workspace) -> None:
    workspace.write(
        ours=GOOD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] why\n"),
        theirs=GOOD.replace("(out)\n", "(out)  # noqa: CKP101\n"),
    )
    (line,) = flake8(workspace, ".")
    assert line.startswith("./ours.py:5:34: CKP901 ")


def test_flake8_heeds_the_settings_and_the_baseline_of_the_project(workspace: Workspace) -> None:
    workspace.write(train=BAD, legacy=BAD)
    workspace.put(
        "ckptlint.toml",
        'baseline = "known.json"\n[per-file-ignores]\n"legacy.py" = ["CKP101"]\n',
    )
    assert workspace.check("--update-baseline").exit_code == 0
    assert flake8(workspace, ".") == []
    workspace.write(new=BAD)
    assert [line[:21] for line in flake8(workspace, ".")] == ["./new.py:6:9: CKP101 "]


def test_flake8_finds_the_same_in_several_processes(workspace: Workspace) -> None:
    workspace.write(one=BAD, two=BAD, three=RAISES)
    config = "select = CKP\njobs = 2"
    found = [line.split(" ")[1] for line in flake8(workspace, ".", config=config)]
    assert found == ["CKP101", "CKP110", "CKP101"]


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
