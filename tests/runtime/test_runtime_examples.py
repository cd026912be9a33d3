"""The examples run on two ranks, and a second run goes on where the first stopped."""

from __future__ import annotations

import functools
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed.fsdp
from harness import launched, run_ranks

import ckptlint_runtime
from ckptlint_runtime import latest_checkpoint

needs_fsdp2 = pytest.mark.skipif(
    not hasattr(torch.distributed.fsdp, "fully_shard"), reason="this torch has no FSDP2"
)
EXAMPLES = Path(ckptlint_runtime.__file__).parents[1] / "examples"


def be_rank(example: Path, argv: list[str], variables: list[dict[str, str]], rank: int) -> None:
    """Run the example as the launcher would."""
    os.environ.update(variables[rank])
    sys.argv = argv
    runpy.run_path(str(example), run_name="__main__")
    sys.stdout.flush()


@pytest.mark.parametrize(
    ("script", "library", "count", "name"),
    [
        ("ddp", "torch", "--epochs", "epoch"),
        pytest.param("fsdp2", "torch", "--steps", "step", marks=needs_fsdp2),
        ("deepspeed_zero3", "deepspeed", "--steps", "step"),
        ("lightning_trainer", "lightning", "--epochs", "epoch"),
        ("accelerate_state", "accelerate", "--steps", "step"),
    ],
)
def test_example(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    library: str,
    count: str,
    name: str,
) -> None:
    """In forked ranks with the variables that torchrun sets: imports are paid for once."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    pytest.importorskip(library, reason=f"{library} is not installed: its example is not run here")
    for number in (2, 3):
        variables = launched(2)
        argv = [f"{script}.py", "--root", str(tmp_path), count, str(number)]
        program = functools.partial(be_rank, EXAMPLES / argv[0], argv, variables)
        outcomes = run_ranks(2, program, process_group=False, limit=90)
        printed = capfd.readouterr()
        assert {outcome.status for outcome in outcomes} == {"returned"}, printed.err
        assert latest_checkpoint(tmp_path) == tmp_path / f"{name}_{number - 1}"
        assert printed.out.count("is saved") in (2, 4)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}_1", f"{name}_2", "latest"}


def test_an_example_runs_under_torchrun_as_its_page_says(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "ddp.py", "--root", str(tmp_path)]
    environment = {"PYTHONPATH": str(EXAMPLES.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=180,
        cwd=EXAMPLES,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert latest_checkpoint(tmp_path) == tmp_path / "epoch_2"
