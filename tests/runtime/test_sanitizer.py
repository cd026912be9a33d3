"""The sanitizer: a hang becomes an error on every rank that says who is where."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from harness import attempt, run_ranks, wait_for
from torch.distributed import barrier as barrier_by_name

import ckptlint_runtime
from ckptlint_runtime.sanitize import sanitize

SHIM = str(Path(ckptlint_runtime.__file__).parents[1])


def test_matching_collectives_pass(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="torch's object collectives need numpy")

    def program(rank: int) -> Any:
        with sanitize(patience=15):
            tensor = torch.ones(2)
            for _ in range(20):
                dist.all_reduce(tensor)
            work = dist.all_reduce(tensor, async_op=True)
            work.wait()
            found: list[Any] = [None, None]
            dist.all_gather_object(found, rank)
            group = dist.new_group([0])
            if rank == 0:
                dist.barrier(group)
            dist.broadcast_object_list(found)
            barrier_by_name()
        assert dist.barrier.__module__ == "torch.distributed.distributed_c10d"
        return found

    assert [outcome.value for outcome in run_ranks(2, program)] == [[0, 1]] * 2


def test_the_store_does_not_fill_up_with_collectives() -> None:
    def program(rank: int) -> Any:
        keys = []
        with sanitize(patience=15):
            for _ in range(3):
                for _ in range(5):
                    dist.barrier()
                keys.append(dist.distributed_c10d._get_default_store().num_keys())
        return keys

    keys = run_ranks(2, program)[0].value
    assert keys[-1] <= keys[0] + 3


def test_different_collectives_are_told_apart_with_their_lines() -> None:
    def program(rank: int) -> Any:
        sanitize(patience=15)
        dist.barrier()
        if rank == 0:
            return attempt(dist.barrier)
        return attempt(lambda: dist.all_reduce(torch.ones(3)))

    for outcome in run_ranks(2, program):
        found = outcome.value
        assert (found["error"], found["name"]) == ("RanksDisagreeError", "collective")
        assert [0] in found["value"].values()
        assert re.search(r"rank 0 at .*harness\.py:\d+ in attempt: barrier\(", found["message"])
        assert re.search(r"rank 1 at .*test_sanitizer\.py:\d+ in .*all_reduce\(", found["message"])


@pytest.mark.parametrize(
    "other", [torch.ones(3), torch.ones(2, dtype=torch.float64)], ids=["shape", "type"]
)
def test_tensors_of_another_shape_or_type_are_told_apart(other: torch.Tensor) -> None:
    def program(rank: int) -> Any:
        sanitize(patience=15)
        return attempt(lambda: dist.all_reduce(other if rank else torch.ones(2)))

    assert {o.value["error"] for o in run_ranks(2, program)} == {"RanksDisagreeError"}


def test_a_rank_that_does_other_work_is_named_with_its_line(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        sanitize(patience=1.5)
        if rank == 1:  # it has not made a collective yet
            evaluate_until(tmp_path / "given up")
        found = attempt(dist.barrier)
        (tmp_path / "given up").touch()
        return found

    for outcome in run_ranks(2, program):
        found = outcome.value
        assert (found["error"], found["ranks"], found["phase"]) == (
            "MissingRanksError",
            [1],
            "barrier",
        )
        assert re.search(r"rank 1: .*test_sanitizer\.py:\d+ in evaluate_until", found["message"])
        assert re.search(r"rank 0 at .*: waiting in barrier", found["message"])


def evaluate_until(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


def test_a_save_that_one_rank_makes_alone_is_told_from_what_the_other_does(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="torch's object collectives need numpy")

    def save_alone() -> Any:
        writer = dcp.FileSystemWriter(tmp_path / "a")
        return attempt(lambda: dcp.save({"t": torch.ones(3)}, storage_writer=writer))

    def program(rank: int) -> Any:
        sanitize(patience=15)
        return save_alone() if rank == 0 else attempt(lambda: dist.all_reduce(torch.ones(3)))

    for outcome in run_ranks(2, program):
        found = outcome.value
        assert (found["error"], found["name"]) == ("RanksDisagreeError", "collective")
        assert re.search(r"rank 0 at .*test_sanitizer\.py:\d+ in .*: \w+\(", found["message"])
        assert re.search(r"rank 1 at .*test_sanitizer\.py:\d+ in .*: all_red", found["message"])


def test_collectives_of_groups_are_counted_by_group() -> None:
    def program(rank: int) -> Any:
        sanitize(patience=4)
        pair = dist.new_group([1, 2])
        if rank:
            dist.barrier(pair)
            dist.barrier(pair)
        dist.barrier()
        return attempt(lambda: dist.barrier(pair) if rank == 1 else dist.barrier())

    outcomes = run_ranks(3, program)
    assert {outcome.value["error"] for outcome in outcomes} == {"MissingRanksError"}


def test_it_can_be_restricted_to_checkpointing(tmp_path: Path) -> None:
    def save_checkpoint() -> Any:
        return attempt(dist.barrier)

    def program(rank: int) -> Any:
        sanitize(patience=0.5, only_checkpoints=True)
        dist.all_reduce(torch.ones(1))
        if rank == 1:
            return wait_for(tmp_path / "given up")
        found = save_checkpoint()
        (tmp_path / "given up").touch()
        return found

    zero, _ = run_ranks(2, program)
    assert (zero.value["error"], zero.value["ranks"]) == ("MissingRanksError", [1])


@pytest.mark.skipif(torch.__version__ < "2.3", reason="torch 2.2 does not resolve their groups")
def test_functional_collectives_are_seen() -> None:
    from torch.distributed import _functional_collectives as functional

    def program(rank: int) -> Any:
        sanitize(patience=15)
        if rank == 0:
            return attempt(lambda: functional.all_reduce(torch.ones(2), "sum", dist.group.WORLD))
        return attempt(dist.barrier)

    for outcome in run_ranks(2, program):
        assert "functional all_reduce" in outcome.value["message"]


def test_a_script_runs_under_torchrun(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "if dist.get_rank() == 0:\n"
        "    dist.barrier()  # nobody else comes\n"
        "print('rank', dist.get_rank(), sys.argv[1:], 'ends')\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "ckptlint_runtime.sanitize", "--patience", "3", str(script), "--lr", "1"]
    environment = {**os.environ, "PYTHONPATH": SHIM, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)
    assert done.returncode != 0
    assert "rank 1 ['--lr', '1'] ends" in done.stdout
    assert "rank 1 did not come to it within 3 s" in done.stderr
    assert f"rank 0 at {script}:5 in <module>: waiting in barrier" in done.stderr
    assert "rank 1: its program has ended" in done.stderr
