"""The examples run on two ranks, and a second run goes on where the first stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ckptlint_runtime
from ckptlint_runtime import latest_checkpoint

SHIM = Path(ckptlint_runtime.__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "library", "count", "name"),
    [
        ("ddp", "torch", "--epochs", "epoch"),
        ("fsdp2", "torch", "--steps", "step"),
        ("deepspeed_zero3", "deepspeed", "--steps", "step"),
        ("lightning_trainer", "lightning", "--epochs", "epoch"),
        ("accelerate_state", "accelerate", "--steps", "step"),
    ],
)
def test_example(tmp_path: Path, script: str, library: str, count: str, name: str) -> None:
    os.environ["DS_ACCELERATOR"] = "cpu"
    pytest.importorskip(library, reason=f"{library} is not installed: its example is not run here")
    for number in (2, 3):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node=2", str(SHIM / "examples" / f"{script}.py")]
        command += ["--root", str(tmp_path), count, str(number)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(SHIM), "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        assert latest_checkpoint(tmp_path) == tmp_path / f"{name}_{number - 1}"
        assert done.stdout.count("is saved") in (2, 4)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{name}_1", f"{name}_2", "latest"]
