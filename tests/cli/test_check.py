"""``ckptlint check`` as it is called from a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import BAD, GOOD, Workspace, places

_ROOT = Path(__file__).parents[2]


def test_a_save_under_a_rank_test_is_found_and_exits_with_one(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.check()
    assert result.exit_code == 1
    assert places(result) == ["train.py:6:9 CKP101"]
    assert "only rank 0 reaches engine.save_checkpoint" in result.stdout
    assert "Found 1 finding in 1 file." in result.stdout


def test_a_save_on_every_rank_is_clean_and_exits_with_zero(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    result = workspace.check()
    assert result.exit_code == 0
    assert result.stdout == "No findings in 1 file.\n"


def test_an_empty_folder_is_clean_and_says_so(workspace: Workspace) -> None:
    result = workspace.check()
    assert result.exit_code == 0
    assert "no Python files" in result.stderr


def test_a_missing_path_is_a_usage_error(workspace: Workspace) -> None:
    result = workspace.check("nowhere.py")
    assert result.exit_code == 2
    assert "no such file or folder" in result.stderr
    assert "nowhere.py" in result.stderr


def test_a_path_that_was_mistyped_suggests_the_one_beside_it(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.check("trian.py")
    assert result.stderr == (
        f"Error: no such file or folder: {workspace.root}/trian.py; "
        f"did you mean {workspace.root}/train.py?\n"
    )


def test_exit_zero_hides_findings_from_the_status_only(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.check("--exit-zero")
    assert result.exit_code == 0
    assert places(result) == ["train.py:6:9 CKP101"]


def test_exit_zero_does_not_hide_a_file_that_was_not_analysed(workspace: Workspace) -> None:
    workspace.write(train="def broken(rank:\n")
    assert workspace.check("--exit-zero").exit_code == 2


def test_a_finding_in_a_helper_does_not_depend_on_which_file_is_named(
    workspace: Workspace,
) -> None:
    workspace.write(
        helper="def save(engine, out):\n    engine.save_checkpoint(out)\n",
        train=BAD.replace("engine.save_checkpoint(out)", "save(engine, out)").replace(
            "import deepspeed\n", "import deepspeed\nfrom helper import save\n"
        ),
    )
    assert places(workspace.check()) == ["train.py:7:9 CKP101"]
    assert places(workspace.check("train.py")) == ["train.py:7:9 CKP101"]
    assert places(workspace.check("helper.py")) == []


def test_select_takes_beginnings_of_codes(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    assert places(workspace.check("--select", "CKP10")) == ["train.py:6:9 CKP101"]
    assert places(workspace.check("--select", "CKP103,CKP102")) == []
    assert places(workspace.check("--select", "ALL", "--ignore", "CKP101")) == []


def test_an_unknown_code_suggests_a_known_one(workspace: Workspace) -> None:
    result = workspace.check("--select", "CPK101")
    assert result.exit_code == 2
    assert "unknown rule code 'CPK101'; did you mean CKP101?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        (["--stdin-filename", "x.py"], "--stdin-filename goes with the path -"),
        (["-", "x.py"], "standard input (-) is checked alone"),
        (["--isolated", "--config", "ckptlint.toml"], "--isolated takes no settings"),
        (["--diff"], "--diff prints a patch"),
        (["--statistics"], "--statistics prints counts"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    workspace: Workspace, arguments: list[str], reason: str
) -> None:
    result = workspace.check(*arguments)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_standard_input_is_checked_as_the_named_file(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    result = workspace.check("-", "--stdin-filename", "train.py", stdin=BAD)
    assert result.exit_code == 1
    assert places(result) == ["train.py:6:9 CKP101"]


def test_standard_input_needs_no_file_name(workspace: Workspace) -> None:
    assert places(workspace.check("-", stdin=BAD)) == ["stdin.py:6:9 CKP101"]


def test_standard_input_sees_the_project_around_it(workspace: Workspace) -> None:
    workspace.write(helper="def save(engine, out):\n    engine.save_checkpoint(out)\n")
    text = BAD.replace("engine.save_checkpoint(out)", "save(engine, out)")
    result = workspace.check("-", stdin=f"from helper import save\n{text}")
    assert places(result) == ["stdin.py:7:9 CKP101"]


def test_statistics_count_instead_of_telling(workspace: Workspace) -> None:
    workspace.write(one=BAD, two=BAD)
    result = workspace.run("check", "--statistics")
    assert result.exit_code == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["2"]
    assert "CKP101 collective-save-on-some-ranks" in result.stdout


def test_the_report_can_go_to_a_file(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.run("check", "--output-format", "json", "--output-file", "report.json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(json.loads((workspace.root / "report.json").read_text())["findings"]) == 1


def test_a_report_that_cannot_be_written_is_an_error(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.check("--output-file", "missing/report.txt")
    assert result.exit_code == 2
    assert "cannot write missing/report.txt" in result.stderr


def test_test_files_are_counted_and_not_checked(workspace: Workspace) -> None:
    workspace.write(train=GOOD, tests__test_x=BAD, tests__helper=BAD, conftest=BAD)
    result = workspace.check()
    assert result.exit_code == 0
    assert "3 test files not checked (--include-tests checks them)." in result.stdout
    assert len(places(workspace.check("--include-tests"))) == 3


def test_a_named_test_file_is_checked(workspace: Workspace) -> None:
    workspace.write(tests__test_x=BAD)
    assert places(workspace.check("tests/test_x.py")) == ["tests/test_x.py:6:9 CKP101"]
    assert places(workspace.check("tests")) == ["tests/test_x.py:6:9 CKP101"]


def test_force_exclude_holds_for_named_files(workspace: Workspace) -> None:
    workspace.write(tests__test_x=BAD, old__train=BAD, build__made=BAD, train=BAD)
    workspace.put("ckptlint.toml", 'extend-exclude = ["old"]\n')
    files = ["tests/test_x.py", "old/train.py", "build/made.py", "train.py"]
    assert len(places(workspace.check(*files))) == 4
    result = workspace.check("--force-exclude", *files)
    assert places(result) == ["train.py:6:9 CKP101"]
    assert "1 test file not checked" in result.stdout


def test_settings_hold_for_the_project_they_stand_in(workspace: Workspace) -> None:
    workspace.write(one__train=BAD, two__train=BAD)
    workspace.put("one/pyproject.toml", '[tool.ckptlint]\nignore = ["CKP101"]\n')
    workspace.put("two/pyproject.toml", '[project]\nname = "two"\n')
    assert places(workspace.check()) == ["two/train.py:6:9 CKP101"]


def test_settings_of_the_repository_hold_for_a_package_without_its_own(
    workspace: Workspace,
) -> None:
    workspace.write(two__train=BAD)
    workspace.put("two/pyproject.toml", '[project]\nname = "two"\n')
    workspace.put("ckptlint.toml", 'ignore = ["CKP101"]\n')
    assert places(workspace.check()) == []
    assert places(workspace.check("--isolated")) == ["two/train.py:6:9 CKP101"]


def test_settings_choose_the_output_format(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    workspace.put("ckptlint.toml", 'output-format = "json"\n')
    assert json.loads(workspace.run("check").stdout)["version"] == 1
    assert places(workspace.check()) == ["train.py:6:9 CKP101"]


def test_a_wrong_key_is_an_error_that_names_the_file(workspace: Workspace) -> None:
    workspace.put("ckptlint.toml", 'extend_exlude = ["x"]\n')
    result = workspace.check()
    assert result.exit_code == 2
    assert "ckptlint.toml: unknown key 'extend_exlude'" in result.stderr
    assert "did you mean 'extend-exclude'?" in result.stderr


def test_facts_of_a_project_make_its_own_wrapper_a_collective(workspace: Workspace) -> None:
    text = (
        "import torch.distributed as dist\nimport ourlib\n"
        "def train(state):\n    if dist.get_rank() == 0:\n        ourlib.save_all(state)\n"
    )
    workspace.write(train=text)
    assert places(workspace.check()) == []
    record = '[[call]]\nname = "ourlib.save_all"\nwho = "all"\neffect = "save"\n'
    workspace.put("ckptlint.toml", record)
    assert places(workspace.check()) == ["train.py:5:9 CKP101"]


def test_comments_silence_findings(workspace: Workspace) -> None:
    silenced = BAD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] meant\n")
    workspace.write(train=silenced, other=BAD.replace("== 0:", "== 0:  # noqa: CKP101"))
    assert places(workspace.check()) == []


def test_names_are_relative_to_the_current_folder(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.put("deep/er/train.py", BAD)
    (workspace.root / "side").mkdir()
    monkeypatch.chdir(workspace.root / "deep")
    assert places(workspace.check()) == ["er/train.py:6:9 CKP101"]
    monkeypatch.chdir(workspace.root / "side")
    assert places(workspace.check("../deep")) == [f"{path.as_posix()}:6:9 CKP101"]


def _shell(workspace: Workspace, *arguments: str, **environment: str) -> tuple[int, bytes, bytes]:
    """Run ``python -m ckptlint`` as a process of its own."""
    variables = {**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'rules'}", **environment}
    done = subprocess.run(
        [sys.executable, "-m", "ckptlint", *arguments],
        cwd=workspace.root,
        env=variables,
        capture_output=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_it_runs_as_a_module_and_writes_no_colours_into_a_pipe(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    status, out, err = _shell(workspace, "check")
    assert status == 1
    assert b"train.py:6:9" in out
    assert b"\x1b" not in out
    assert err == b""


def test_colours_can_be_forced_and_declined(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    assert b"\x1b[" in _shell(workspace, "check", FORCE_COLOR="1")[1]
    assert b"\x1b" not in _shell(workspace, "check", FORCE_COLOR="1", NO_COLOR="1")[1]


def test_a_narrow_encoding_is_no_reason_to_fail(workspace: Workspace) -> None:
    workspace.write(train=BAD.replace("(out)\n", '(out + "é漢")\n'))
    status, out, err = _shell(workspace, "check", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (status, err) == (1, b"")
    assert b"\xe9\\u6f22" in out


def test_the_version_is_told_without_loading_the_analysis(workspace: Workspace) -> None:
    program = (
        "import sys\nfrom ckptlint.cli import main\nsys.argv = ['ckptlint', '--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted(sys.modules.keys() & "
        "{'rich', 'libcst', 'packaging', 'difflib', 'pathspec', 'ckptlint.engine'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'rules'}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["ckptlint 0.1.0", "[]"]
