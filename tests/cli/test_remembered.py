"""What comes out of a file does not depend on what is remembered of others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckptlint.analysis import machine
from ckptlint.cli import cli

FIXTURES = Path(__file__).parents[1] / "fixtures"


def told() -> str:
    options = ["--isolated", "--no-cache", "--jobs", "1", "--confidence", "possible"]
    result = CliRunner().invoke(cli, ["check", *options, "--output-format", "json", "."])
    assert result.exit_code == 1, result.stderr
    return result.stdout


@pytest.mark.parametrize("code", ["CKP102", "CKP104", "CKP201"])
def test_forgetting_after_each_file_changes_nothing(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FIXTURES / code, tmp_path / code)
    monkeypatch.chdir(tmp_path / code)
    whole = told()
    monkeypatch.setattr(machine, "_MANY", -1)
    assert told() == whole
