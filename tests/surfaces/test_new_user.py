"""A new user with nothing but the README: an environment of their own, and each step in turn."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
README = (_ROOT / "README.md").read_text()


@dataclass(frozen=True)
class User:
    """Someone in a folder, with the program installed as the README says."""

    folder: Path
    programs: Path

    def runs(self, command: str | Sequence[str]) -> subprocess.CompletedProcess[str]:
        words = shlex.split(command, comments=True) if isinstance(command, str) else command
        assert words[0] == "ckptlint"
        return subprocess.run(
            [str(self.programs / "ckptlint"), *words[1:]],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install from a copy, in a new environment, without anything for development."""
    assert "From a clone: `pip install .`" in README
    folder = tmp_path_factory.mktemp("new")
    clone = folder / "clone"
    names = ("ckptlint", "rules", "pyproject.toml", "README.md", "LICENSE")
    clone.mkdir()
    for name in names:
        source = _ROOT / name
        if source.is_dir():
            shutil.copytree(source, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, clone / name)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, "install", "."], cwd=clone, env=clean, check=True)
    return environment / "bin"


@pytest.fixture
def user(programs: Path, tmp_path: Path) -> User:
    folder = tmp_path / "project"
    shutil.copytree(_ROOT / "examples", folder / "examples")
    shutil.copy(_ROOT / "examples" / "deepspeed_pretrain.py", folder / "train.py")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return User(folder, programs)


def commands(text: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line[2:] for line in lines if line.startswith("$ ckptlint ")]


def test_every_command_of_the_readme_works(user: User) -> None:
    known = commands(README)
    assert len(known) > 5
    for command in known:
        done = user.runs(command)
        assert done.returncode in (0, 1), (command, done)
        assert done.stdout, command


def test_what_the_readme_shows_is_what_comes_out(user: User) -> None:
    shown = re.search(r"^\$ ckptlint check (\S+)\n(error.*?)^\$ ", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    lines = user.runs(f"ckptlint check {shown[1]}").stdout.splitlines()
    assert [line for line in shown[2].splitlines() if line not in lines] == []


def test_check_explain_fix(user: User) -> None:
    found = user.runs("ckptlint check train.py")
    assert found.returncode == 1
    assert "--> train.py:48:13 in main" in found.stdout
    assert "To learn more: ckptlint explain CKP101" in found.stdout
    assert "## Use instead" in user.runs("ckptlint explain CKP101").stdout
    assert "(1 fixed, 0 remaining)" in user.runs("ckptlint check train.py --fix").stdout
    assert user.runs("ckptlint check train.py").returncode == 0


def test_suppress(user: User) -> None:
    train = user.folder / "train.py"
    comment = "  # ckptlint: ignore[CKP101] reason"
    assert comment.strip() in README
    text = re.sub(r"(engine\.save_checkpoint\(.*\))", rf"\1{comment}", train.read_text())
    train.write_text(text)
    assert user.runs("ckptlint check train.py").returncode == 0
    train.write_text(text.replace(comment, ""))
    user.runs('ckptlint check train.py --add-ignore "reason"')
    assert user.runs("ckptlint check train.py").returncode == 0


def test_baseline(user: User) -> None:
    update, check = [command for command in commands(README) if "--baseline" in command]
    assert user.runs(update).returncode == 0
    assert user.runs(check).returncode == 0
    assert (user.folder / "ckptlint-baseline.json").is_file()
    again = (user.folder / "train.py").read_text().replace("def main", "def again")
    (user.folder / "again.py").write_text(again)
    new = user.runs(check)
    assert new.returncode == 1
    assert "again.py" in new.stdout
    assert "train.py:" not in new.stdout


def test_settings(user: User) -> None:
    block = re.search(r"```toml\n(\[tool\.ckptlint\].*?)```", README, re.DOTALL)
    assert block is not None
    (user.folder / "pyproject.toml").write_text(block[1])
    done = user.runs("ckptlint check train.py")
    assert done.returncode == 1
    assert done.stderr == ""


def test_ci(user: User) -> None:
    for name in ("github", "gitlab", "sarif"):
        done = user.runs(f"ckptlint check --output-format {name}")
        assert done.returncode == 1
        assert "CKP101" in done.stdout
