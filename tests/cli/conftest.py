"""The folder that the tests of the command line work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A project of its own, whatever lies above the temporary folder."""
    root = tmp_path / "project"
    root.mkdir()
    (root / ".git").mkdir()
    (root / "ckptlint.toml").touch()
    monkeypatch.chdir(root)
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return Workspace(root)
