"""``async_save_checkpoint``: what is promised between its return and the end of the write."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from harness import attempt, launched, run_ranks
from layers import DISK_FULL, FailingLayer, use

import ckptlint_runtime
from ckptlint_runtime import (
    RankFailedError,
    agree,
    async_save_checkpoint,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)

SHIM = str(Path(ckptlint_runtime.__file__).parents[1])


@pytest.mark.parametrize("mode", ["full", "sharded"])
def test_the_state_is_the_one_at_the_call(tmp_path: Path, mode: str) -> None:
    tensor, values = torch.ones(5), {"list": [1]}
    pending = async_save_checkpoint({"t": tensor, "v": values}, tmp_path / "a", mode=mode)
    tensor.zero_()
    values["list"].append(2)
    assert pending.result() == tmp_path / "a"
    assert pending.done()
    loaded = load_checkpoint(tmp_path / "a").values
    assert torch.equal(loaded["t"], torch.ones(5))
    assert loaded["v"] == {"list": [1]}


def test_tied_weights_are_copied_and_written_once(tmp_path: Path) -> None:
    weight = torch.ones(50_000)
    state = {"model": {"head": weight, "embedding": weight.detach(), "half": weight[:25_000]}}
    path = async_save_checkpoint(state, tmp_path / "a").result()
    assert (path / "state.pt").stat().st_size < 350_000
    model = load_checkpoint(path).values["model"]
    model["head"][0] = 2.0
    assert model["embedding"][0] == 2.0
    assert model["half"].tolist() == [1.0] * 25_000


def test_the_next_save_waits_for_the_one_before(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        for step in range(4):
            async_save_checkpoint({"n": step}, tmp_path / str(step), keep_last=2)
        return str(latest_checkpoint(tmp_path))

    for outcome in run_ranks(2, program):
        assert outcome.value == str(tmp_path / "3")


def test_the_background_leaves_the_process_group_alone(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        for step in range(5):
            state = {"t": torch.ones(200_000) * step}
            pending = async_save_checkpoint(state, tmp_path / str(step), mode="sharded")
            finished = False
            while not finished:
                value = torch.tensor([1.0, float(pending.done())])
                dist.all_reduce(value)
                assert value[0].item() == 2.0
                finished = value[1].item() == 2.0
            pending.result()
        return "done"

    assert [outcome.value for outcome in run_ranks(2, program)] == ["done", "done"]


def fail_in_background(rank: int, root: Path) -> Any:
    save_checkpoint({"n": 1}, root / "good")
    if rank == 0:
        use(FailingLayer("write", DISK_FULL))
    return async_save_checkpoint({"n": 2}, root / "bad")


def test_a_failure_surfaces_at_the_next_call_on_all_ranks(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        fail_in_background(rank, tmp_path)
        first = attempt(lambda: agree(1, "x"))
        second = attempt(lambda: agree(1, "x"))
        return [first["error"], first["ranks"], first["cause"], second["status"]]

    zero, one = run_ranks(2, program)
    assert zero.value == ["RankFailedError", [0], "OSError", "returned"]
    assert one.value == ["RankFailedError", [0], "", "returned"]


def test_asking_for_the_result_on_all_ranks_settles_it(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        pending = fail_in_background(rank, tmp_path)
        with pytest.raises(RankFailedError, match="No space left"):
            pending.result()
        return agree(1, "x")

    assert [outcome.value for outcome in run_ranks(2, program)] == [1, 1]


def test_asking_on_one_rank_only_does_not_part_the_ranks(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        pending = fail_in_background(rank, tmp_path)
        if rank == 0:
            assert attempt(pending.result)["error"] == "RankFailedError"
        return [attempt(lambda: agree(1, "x")).get("error"), agree(1, "x")]

    assert [outcome.value for outcome in run_ranks(2, program)] == [["RankFailedError", 1]] * 2


@pytest.mark.parametrize(("asked", "status"), [(False, 1), (True, 0)])
def test_a_failure_nobody_asked_for_shows_at_exit(tmp_path: Path, asked: bool, status: int) -> None:
    code = f"""
        import sys
        sys.path[:0] = [{SHIM!r}, {str(Path(__file__).parent)!r}]
        from layers import DISK_FULL, FailingLayer, use
        import ckptlint_runtime as c
        use(FailingLayer("write", DISK_FULL))
        pending = c.async_save_checkpoint({{"n": 1}}, {str(tmp_path / "a")!r})
        if {asked}:
            try:
                pending.result()
            except c.RankFailedError:
                print("handled")
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == status, done.stderr
    assert ("last background save failed" in done.stderr) is not asked


def test_a_failure_nobody_asked_for_ends_every_rank_with_an_error(tmp_path: Path) -> None:
    code = f"""
        import sys
        sys.path[:0] = [{SHIM!r}, {str(Path(__file__).parent)!r}]
        import torch.distributed as dist
        from layers import DISK_FULL, FailingLayer, use
        import ckptlint_runtime as c
        dist.init_process_group("gloo")
        if dist.get_rank() == 0:
            use(FailingLayer("write", DISK_FULL))
        c.async_save_checkpoint({{"n": 1}}, {str(tmp_path / "a")!r})
    """
    ranks = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
            env={**os.environ, **variables},
            stderr=subprocess.PIPE,
            text=True,
        )
        for variables in launched(2)
    ]
    for process in ranks:
        _, printed = process.communicate(timeout=180)
        assert process.returncode == 1, printed
        assert "the last background save failed" in printed
        assert "rank 0 failed in the phase 'write'; nothing was published" in printed


def test_a_save_still_running_at_exit_is_finished(tmp_path: Path) -> None:
    code = f"""
        import sys
        sys.path.insert(0, {SHIM!r})
        import torch, ckptlint_runtime as c
        c.async_save_checkpoint({{"t": torch.ones(3_000_000)}}, {str(tmp_path / "a")!r})
    """
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], check=True, timeout=180
    )
    assert load_checkpoint(tmp_path / "a").values["t"].sum() == 3_000_000
