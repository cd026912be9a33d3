"""Which release a project pins and which backends it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import ckptlint_rules
from ckptlint import evidence
from ckptlint.knowledge import Knowledge
from ckptlint.source import Source

FACTS = ckptlint_rules.facts()


@pytest.mark.parametrize(
    ("name", "text", "release"),
    [
        ("requirements.txt", "pytorch-lightning==0.9.0\n", "0.9.0"),
        (
            "requirements-dev.txt",
            "# tools\npytorch_lightning[extra] == 1.5.10  # pinned\n",
            "1.5.10",
        ),
        ("requirements/train.txt", "torch\nlightning<2.1\n", "2.0.9"),
        ("setup.py", "setup(install_requires=['pytorch-lightning>=1.3,<1.4'])\n", "1.3.8"),
        ("environment.yml", "dependencies:\n  - pytorch-lightning=0.9.0\n", "0.9.0"),
        ("pyproject.toml", "[project]\ndependencies = ['lightning==2.2.5']\n", "2.2.5"),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\npytorch-lightning = '^1.7'\n",
            "1.9.5",
        ),
        (
            "poetry.lock",
            '[[package]]\nname = "pytorch-lightning"\nversion = "1.6.5"\n',
            "1.6.5",
        ),
    ],
)
def test_the_newest_release_that_is_allowed_is_taken(
    tmp_path: Path, name: str, text: str, release: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert evidence.pinned(tmp_path, FACTS)["lightning"] == release


@pytest.mark.parametrize(
    "text",
    ["", "torch>=2\n", "pytorch-lightning\n", "pytorch-lightning>=99\n", "lightning @ file:///x\n"],
)
def test_a_project_that_pins_nothing_known_is_taken_at_the_newest(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    assert "lightning" not in evidence.pinned(tmp_path, FACTS)


def test_a_torn_pyproject_is_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")
    assert evidence.pinned(tmp_path, FACTS) == {}


def backends_of(root: Path, code: str = "") -> frozenset[str]:
    source = Source(root / "train.py", "train.py", code.encode())
    return evidence.backends(root, [source], Knowledge(FACTS))


def test_code_shows_its_backend(tmp_path: Path) -> None:
    code = "from torch.distributed.fsdp import FullyShardedDataParallel\n"
    assert "fsdp" in backends_of(tmp_path, code)
    assert "deepspeed" not in backends_of(tmp_path, code)


def test_a_settings_file_shows_the_backend(tmp_path: Path) -> None:
    assert backends_of(tmp_path) == frozenset()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "accelerate.yaml").write_text("distributed_type: FSDP\n")
    assert "fsdp" in backends_of(tmp_path)
