"""Fixtures that are whole programs are run: the bad one fails as announced, the right one ends.

Two processes, gloo, under torchrun. A program takes the folder to save in, prints ``rank N
trained`` before the save and ``rank N done`` at its end; its process group has a short timeout, so
that a hang ends in an error within seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from cases import FIXTURES, Case, findings

_LIMIT = 60.0
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "DS_ACCELERATOR": "cpu",
    "ACCELERATE_USE_CPU": "true",
    "PYTHONWARNINGS": "ignore",
}


def loads(path: Path) -> bool:
    """Say whether torch reads a file back."""
    import torch

    return bool(torch.load(path, map_location="cpu", weights_only=False))


def loads_deepspeed(folder: Path) -> bool:
    tag = folder / (folder / "latest").read_text()
    parts = [tag / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in (0, 1)]
    return all(map(loads, [tag / "mp_rank_00_model_states.pt", *parts]))


def is_whole(folder: Path) -> bool:
    """Say whether Accelerate's checkpoint holds the random state of both ranks."""
    from safetensors.torch import load_file

    states = [folder / f"random_states_{rank}.pkl" for rank in (0, 1)]
    return all(path.exists() for path in states) and bool(load_file(folder / "model.safetensors"))


@dataclass(frozen=True)
class Program:
    """A fixture, the library it needs, and how its checkpoint is read back."""

    name: str
    library: str
    check: Callable[[Path], bool]
    hangs: bool = True

    @property
    def bad(self) -> Case:
        return Case(FIXTURES / f"{self.name.replace('/', '/bad_program_')}.py")

    @property
    def right(self) -> Path:
        """What the fixer makes of the bad program, or its counterpart."""
        return self.bad.fixed or FIXTURES / f"{self.name.replace('/', '/ok_program_')}.py"


def loads_model(folder: Path) -> bool:
    return loads(folder / "model.pt")


PROGRAMS = [
    Program("CKP103/barrier", "torch", loads_model),
    Program("CKP104/early_return", "torch", loads_model),
    Program("CKP108/order", "torch", loads_model),
    Program("CKP101/deepspeed", "deepspeed", loads_deepspeed),
    # Without a sharded engine the save does not hang: it leaves something out.
    Program("CKP101/accelerate", "accelerate", is_whole, hangs=False),
    Program("CKP105/lightning", "lightning", lambda folder: loads(folder / "last.ckpt")),
]


def start(program: Path, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.Popen(
        [*command, "--nproc-per-node=2", str(program), str(folder)],
        env={**os.environ, **_ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def outcome(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a program; end one that stands still, its workers too."""
    try:
        output, _ = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun then ends its workers
        try:
            output, _ = process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return process.returncode, output


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_bad_program_fails_and_the_right_one_ends(program: Program, tmp_path: Path) -> None:
    if find_spec("torch") is None or find_spec(program.library) is None:
        pytest.skip(f"{program.library} is not installed: its program is not run here")
    runs = {
        "bad": start(program.bad.path, tmp_path / "bad"),
        "right": start(program.right, tmp_path / "right"),
    }
    results = {name: outcome(process) for name, process in runs.items()}

    status, output = results["right"]
    assert status == 0, output
    assert "rank 0 done" in output
    assert "rank 1 done" in output
    assert program.check(tmp_path / "right")

    status, output = results["bad"]
    assert "rank 0 trained" in output
    assert "rank 1 trained" in output
    (finding,) = findings(program.bad)
    if program.hangs:
        assert "hang" in finding.message
        assert status != 0, output
        assert "rank 0 done" not in output
    else:
        assert "incomplete" in finding.message
        assert not program.check(tmp_path / "bad")
