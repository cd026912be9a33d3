"""What the guard costs the store, and what ranks see when the store or a rank is gone."""

from __future__ import annotations

import atexit
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from harness import attempt, run_ranks

from ckptlint_runtime import (
    agree,
    async_save_checkpoint,
    coordination,
    latest_checkpoint,
    load_checkpoint,
    run_on_rank_zero,
    save_checkpoint,
)
from ckptlint_runtime.channel import open_channel
from ckptlint_runtime.control_store import Pause
from ckptlint_runtime.interception import Interception
from ckptlint_runtime.rounds import Round


def test_the_store_does_not_fill_up(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        counts = []
        for step in range(6):
            save_checkpoint({"n": step}, tmp_path / str(step), mode="sharded")
            dist.barrier()
            counts.append(dist.distributed_c10d._get_default_store().num_keys())
            dist.barrier()
        return counts

    counts = run_ranks(2, program)[0].value
    assert counts[2] == counts[-1]


def test_every_rank_posts_the_same_number_of_keys_whatever_the_world(tmp_path: Path) -> None:
    """Asking again while waiting is left out: it depends on time, not on the world."""

    def program(rank: int) -> Any:
        store = open_channel().store
        made: list[str] = []
        inner = type(store)._do

        def counted(self: Any, operation: str, *arguments: Any) -> Any:
            made.append(operation)
            return inner(self, operation, *arguments)

        type(store)._do = counted  # type: ignore[method-assign]
        agree(1, "warm-up")
        made.clear()
        save_checkpoint({"n": 1}, tmp_path / str(dist.get_world_size()))
        return {name: made.count(name) for name in ("set", "delete_key")}

    small, large = run_ranks(2, program), run_ranks(5, program)
    assert small[1].value == large[1].value == large[4].value


def test_no_value_is_pickled(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        store = dist.distributed_c10d._get_default_store()
        posted: list[str] = []
        inner = Round._post

        def noted(self: Round, report: Any) -> None:
            inner(self, report)
            raw = self.store._store.get(self.store._key(self._report_key(self.channel.index)))
            posted.append(json.dumps(json.loads(raw)))

        Round._post = noted  # type: ignore[method-assign]
        save_checkpoint({"n": 1}, tmp_path / "a", mode="sharded")
        assert store is not None
        return len(posted)

    assert [outcome.value for outcome in run_ranks(2, program)] == [5, 5]


def test_no_call_makes_a_collective(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        made: list[str] = []
        watch = Interception(lambda name, _arguments: made.append(name))
        watch.install()
        for mode in ("full", "sharded"):
            path = save_checkpoint({"n": 1, "t": torch.ones(3)}, tmp_path / mode, mode=mode)
            load_checkpoint(path)
            async_save_checkpoint({"n": 1}, tmp_path / f"{mode}2", mode=mode).result()
        agree(1, "x")
        run_on_rank_zero(dict)
        assert latest_checkpoint(tmp_path) == tmp_path / "sharded2"
        assert made == []
        dist.barrier()
        return made

    assert [outcome.value for outcome in run_ranks(2, program)] == [["barrier"]] * 2


@pytest.mark.parametrize("victim", [0, 1])
def test_an_interrupt_while_waiting_reaches_the_others(tmp_path: Path, victim: int) -> None:
    """Rank 2 is slow to collect; a rank that waits for it is interrupted meanwhile."""

    def program(rank: int) -> Any:
        def state() -> dict[str, int]:
            if rank == 2:
                time.sleep(1.0)
            return {"n": rank}

        if rank == victim:
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.4)
        return attempt(lambda: save_checkpoint(state, tmp_path / "a"))

    for outcome in run_ranks(3, program):
        found = outcome.value
        assert (found["error"], found["ranks"]) == ("RankFailedError", [victim])
        assert found["cause"] == ("KeyboardInterrupt" if outcome.rank == victim else "")
    assert latest_checkpoint(tmp_path) is None


def test_a_handler_of_the_programs_own_decides_about_sigterm(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        noted: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, frame: noted.append(number))

        def state() -> dict[str, int]:
            os.kill(os.getpid(), signal.SIGTERM)
            return {"n": rank}

        save_checkpoint(state, tmp_path / "a")
        return len(noted)

    assert [outcome.value for outcome in run_ranks(2, program)] == [1, 1]


def test_when_the_host_of_the_store_dies_its_rank_is_named(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        join_store_of_rank_zero(rank, tmp_path)

        def state() -> dict[str, int]:
            if rank == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return {"n": rank}

        return attempt(lambda: save_checkpoint(state, tmp_path / "a"))

    zero, one = run_ranks(2, program, process_group=False)
    assert zero.status == "killed"
    assert (one.value["error"], one.value["ranks"]) == ("MissingRanksError", [0])
    assert "hosts it is gone" in one.value["message"]


def test_the_first_rank_stays_until_the_others_have_its_answer(tmp_path: Path) -> None:
    """Rank zero hosts the store and leaves right after its last call, as scripts do."""

    def program(rank: int) -> Any:
        join_store_of_rank_zero(rank, tmp_path)
        if rank == 1:
            Pause.SHORTEST = Pause.LONGEST = 0.5  # asks for the answer half a second late
        path = save_checkpoint({"n": 1}, tmp_path / "a")
        atexit._run_exitfuncs()
        return str(path)

    for outcome in run_ranks(2, program, process_group=False):
        assert outcome.value == str(tmp_path / "a"), outcome.message


def join_store_of_rank_zero(rank: int, root: Path) -> None:
    """A job whose store lives in rank zero, as without torchrun."""
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        (root / "fresh").write_text(str(store.port))
        os.rename(root / "fresh", root / "port")
    else:
        while not (root / "port").exists():
            time.sleep(0.01)
        port = int((root / "port").read_text())
        store = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)


def test_a_root_that_is_not_shared_is_a_disagreement(tmp_path: Path) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a")

    def program(rank: int) -> Any:
        if rank == 1:
            coordination.complete = lambda folder: None
        return attempt(lambda: latest_checkpoint(tmp_path))

    for outcome in run_ranks(2, program):
        found = outcome.value
        assert (found["error"], found["name"]) == ("RanksDisagreeError", "latest checkpoint")
        assert [1] in found["value"].values()
