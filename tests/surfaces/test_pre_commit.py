"""The hooks as people use them: pre-commit installs them from a git repository and runs them on
what is staged. Installing needs the package index and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_INSTALLED = (
    ".pre-commit-hooks.yaml",
    "LICENSE",
    "README.md",
    "ckptlint",
    "pyproject.toml",
    "rules",
)

HELPER = "def keep(engine, out):\n    engine.save_checkpoint(out)\n"
BAD = """\
import deepspeed
import torch.distributed as dist
from helper import keep


def train(engine: deepspeed.DeepSpeedEngine, out):
    if dist.get_rank() == 0:
        keep(engine, out)
"""
GOOD = BAD.replace("    if dist.get_rank() == 0:\n        keep", "    keep")


@dataclass(frozen=True)
class Repository:
    """A git repository; ``environment`` is that of its commands."""

    root: Path
    environment: dict[str, str]

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self) -> str:
        """Commit everything without hooks; return the name of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--no-verify", "--message", "change")
        return self.git("rev-parse", "HEAD")

    def stage(self, **files: str) -> None:
        """Write files, whose names are given without ``.py``, and stage them."""
        for name, content in files.items():
            (self.root / f"{name}.py").write_text(content)
            self.git("add", f"{name}.py")

    def pre_commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
        )


def repository(root: Path, environment: dict[str, str]) -> Repository:
    root.mkdir()
    made = Repository(root, environment)
    made.git("init", "--quiet")
    return made


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands see: no settings of whoever runs the tests, a store of its own."""
    passed = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    passed = {name: value for name, value in passed.items() if not name.startswith("GIT_")}
    return {
        **passed,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("store")),
    }


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Repository:
    """This project as a repository of hooks, as it stands."""
    made = repository(tmp_path_factory.mktemp("hooks") / "ckptlint", environment)
    for name in _INSTALLED:
        source, target = _ROOT / name, made.root / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    made.commit()
    return made


@pytest.fixture
def project(tmp_path: Path, hooks: Repository) -> Repository:
    """A project that uses the hook that finds; its helper is committed."""
    made = repository(tmp_path / "project", hooks.environment)
    uses(made, hooks, "ckptlint")
    (made.root / "helper.py").write_text(HELPER)
    (made.root / "train.py").write_text(GOOD)
    (made.root / "other.py").write_text(BAD)
    made.commit()
    return made


def uses(project: Repository, hooks: Repository, hook: str) -> None:
    revision = hooks.git("rev-parse", "HEAD")
    (project.root / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hooks.root}\n    rev: {revision}\n    hooks:\n      - id: {hook}\n"
    )


def test_a_commit_is_stopped_by_a_finding_that_a_committed_file_explains(
    project: Repository,
) -> None:
    assert project.pre_commit("install").returncode == 0
    project.stage(train=BAD)
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        project.git("commit", "--message", "guard the save")
    told = stopped.value.stderr
    assert re.search(r"^ckptlint\.+Failed$", told, re.MULTILINE)
    assert "error[CKP101]: only rank 0 reaches" in told
    assert "--> train.py:8:9 in train" in told
    assert "::: helper.py:2:5" in told
    assert "other.py" not in told
    project.stage(train=GOOD)
    project.git("commit", "--allow-empty", "--message", "do not")


def test_the_fixing_hook_changes_the_file_and_fails_once(
    project: Repository, hooks: Repository
) -> None:
    uses(project, hooks, "ckptlint-fix")
    project.commit()
    project.stage(train=BAD)
    first = project.pre_commit("run")
    assert first.returncode == 1
    assert "files were modified by this hook" in first.stdout
    assert "Found 1 finding (1 fixed, 0 remaining)." in first.stdout
    assert (project.root / "train.py").read_text() == GOOD
    assert (project.root / "other.py").read_text() == BAD
    project.git("add", "train.py")
    assert project.pre_commit("run").returncode == 0


def test_notebooks_are_checked_and_excluded_files_are_not(project: Repository) -> None:
    (project.root / "ckptlint.toml").write_text('extend-exclude = ["generated.py"]\n')
    source = BAD.replace("from helper import keep\n", "").replace(
        "keep(engine, ", "engine.save_checkpoint("
    )
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []}]
    (project.root / "a.ipynb").write_text(json.dumps({"nbformat": 4, "cells": cells}))
    project.git("add", "a.ipynb")
    project.stage(generated=BAD, test_train=BAD)
    done = project.pre_commit("run")
    assert done.returncode == 1
    assert "--> a.ipynb:cell 1:7:9 in train" in done.stdout
    assert "Found 1 finding in 1 file." in done.stdout


def test_all_files_can_be_checked_at_once(project: Repository) -> None:
    done = project.pre_commit("run", "--all-files")
    assert done.returncode == 1
    assert "--> other.py:8:9 in train" in done.stdout
    assert "Found 1 finding in 3 files." in done.stdout
