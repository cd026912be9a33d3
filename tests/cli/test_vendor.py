"""``ckptlint vendor``: a copy of the runtime that can tell whether it is current."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckptlint import vendoring
from workspace import Workspace


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small runtime that stands for the real one."""
    folder = tmp_path / "source" / "ckptlint_runtime"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('__version__ = "1.0"\n')
    (folder / "save.py").write_text("NAME = 1\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "save.pyc").write_bytes(b"\0")
    monkeypatch.setattr(vendoring, "installed", lambda: vendoring.Runtime(folder))
    return folder


def test_the_copy_brings_its_licence(workspace: Workspace) -> None:
    workspace.run("vendor", "src")
    licence = Path(__file__).parents[2] / "LICENSE"
    copied = workspace.root / "src" / "ckptlint_runtime" / "LICENSE"
    assert copied.read_text() == licence.read_text()


def test_the_runtime_is_copied_with_a_stamp(workspace: Workspace) -> None:
    result = workspace.run("vendor", "src")
    copy = workspace.root / "src" / "ckptlint_runtime"
    real = vendoring.installed().folder
    assert result.exit_code == 0
    assert f"Copied the runtime to {Path('src/ckptlint_runtime')}" in result.stdout
    assert {path.name for path in real.glob("*.py")} == {path.name for path in copy.glob("*.py")}
    assert (copy / "save.py").read_bytes() == (real / "save.py").read_bytes()
    assert json.loads((copy / "vendored.json").read_text())["version"]
    assert [path.name for path in copy.parent.iterdir()] == ["ckptlint_runtime"]
    compiled = [sys.executable, "-m", "compileall", "-q", str(copy)]
    assert subprocess.run(compiled, check=False).returncode == 0


def test_copying_again_changes_nothing(workspace: Workspace, source: Path) -> None:
    workspace.run("vendor", ".")
    before = (workspace.root / "ckptlint_runtime").stat().st_ino
    result = workspace.run("vendor", ".")
    assert result.exit_code == 0
    assert "Nothing to do" in result.stdout
    assert (workspace.root / "ckptlint_runtime").stat().st_ino == before


def test_a_copy_that_is_out_of_date_is_replaced(workspace: Workspace, source: Path) -> None:
    workspace.run("vendor", ".")
    assert workspace.run("vendor", "--check", ".").exit_code == 0
    (source / "__init__.py").write_text('__version__ = "2.0"\n')
    (source / "save.py").unlink()
    checked = workspace.run("vendor", "--check", ".")
    assert checked.exit_code == 1
    assert "is a copy of 1.0; the runtime here is 2.0" in checked.stdout
    assert workspace.run("vendor", ".").exit_code == 0
    assert workspace.run("vendor", "--check", ".").exit_code == 0
    assert not (workspace.root / "ckptlint_runtime" / "save.py").exists()


@pytest.mark.parametrize("name", ["save.py", "added.py"])
def test_a_changed_copy_is_kept_unless_forced(
    workspace: Workspace, source: Path, name: str
) -> None:
    workspace.run("vendor", ".")
    changed = workspace.root / "ckptlint_runtime" / name
    changed.write_text("NAME = 2\n")
    refused = workspace.run("vendor", ".")
    assert refused.exit_code == 2
    assert f"was changed since it was copied ({name}); --force overwrites it" in refused.stderr
    assert changed.read_text() == "NAME = 2\n"
    checked = workspace.run("vendor", "--check", ".")
    assert (checked.exit_code, name in checked.stdout) == (1, True)
    assert workspace.run("vendor", "--force", ".").exit_code == 0
    assert not changed.exists() or changed.read_text() == "NAME = 1\n"


def test_a_folder_of_that_name_that_is_no_copy_is_kept(workspace: Workspace, source: Path) -> None:
    mine = workspace.put("ckptlint_runtime/mine.py", "x = 1\n")
    result = workspace.run("vendor", ".")
    assert result.exit_code == 2
    assert "is not a copy that ckptlint made" in result.stderr
    assert mine.read_text() == "x = 1\n"


def test_a_failed_copy_leaves_the_old_one(
    workspace: Workspace, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.run("vendor", ".")
    before = files(workspace.root)
    (source / "save.py").write_text("NAME = 3\n")
    replace = os.replace

    def failing(one: Path, other: Path) -> None:
        if Path(one).name == "fresh":
            raise OSError(28, "No space left on device")
        replace(one, other)

    monkeypatch.setattr(os, "replace", failing)
    result = workspace.run("vendor", ".")
    assert result.exit_code == 2
    assert "cannot be written: No space left on device" in result.stderr
    assert files(workspace.root) == before


def test_a_runtime_that_is_not_installed_is_said_so(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(vendoring, "__file__", str(tmp_path / "ckptlint" / "vendoring.py"))
    monkeypatch.setattr(vendoring, "find_spec", lambda _: None)
    result = workspace.run("vendor", ".")
    assert result.exit_code == 2
    assert "the runtime is not installed here: pip install ckptlint-runtime" in result.stderr
    assert not (workspace.root / "ckptlint_runtime").exists()


def test_checking_where_there_is_no_copy_says_how_to_make_one(
    workspace: Workspace, source: Path
) -> None:
    result = workspace.run("vendor", "--check", ".")
    assert result.exit_code == 2
    assert "holds no copy of the runtime: ckptlint vendor ." in result.stderr
