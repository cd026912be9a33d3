"""The package's folder copied into a project, under another name and without the original."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import run_ranks

import ckptlint_runtime

PACKAGE = Path(ckptlint_runtime.__file__).parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a copy of the package as ``acme.guard``."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").touch()
    shutil.copytree(PACKAGE, tmp_path / "acme" / "guard", ignore=shutil.ignore_patterns("__pyc*"))
    return tmp_path


def run(project: Path, *arguments: str) -> str:
    """What ``python arguments`` prints in the project, where the original cannot be imported."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_of_a_copy_works_without_the_original(project: Path) -> None:
    (project / "train.py").write_text(
        "import sys, pkgutil, importlib\n"
        "sys.modules['ckptlint_runtime'] = None  # importing it is an error\n"
        "import acme.guard\n"
        "for module in pkgutil.iter_modules(acme.guard.__path__):\n"
        "    importlib.import_module(f'acme.guard.{module.name}')\n"
        "path = acme.guard.save_checkpoint({'n': 1}, 'a', mode='sharded')\n"
        "print(acme.guard.load_checkpoint(path).values)\n"
    )
    assert run(project, "train.py") == "{'n': 1}\n"


def test_the_sanitizer_of_a_copy_is_called_by_its_name(project: Path) -> None:
    assert "usage: python -m acme.guard.sanitize " in run(
        project, "-m", "acme.guard.sanitize", "--help"
    )


def test_a_copy_and_the_original_in_one_job_leave_each_other_alone(project: Path) -> None:
    def program(rank: int) -> Any:
        sys.path.insert(0, str(project))
        copy = importlib.import_module("acme.guard")
        for number in range(3):
            copy.agree(number, "x")
            ckptlint_runtime.agree(number * 10, "y")
        with pytest.raises(copy.RanksDisagreeError):
            copy.agree(rank, "x")
        return str(ckptlint_runtime.save_checkpoint({"n": 1}, project / "checkpoint"))

    for outcome in run_ranks(2, program):
        assert outcome.value == str(project / "checkpoint"), outcome.message
