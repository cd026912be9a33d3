"""What an engineer reads in the log of the first rank that raised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from harness import attempt, run_ranks
from layers import KillingLayer, needs_shards_in_the_layer, use

from ckptlint_runtime import CheckpointError, load_checkpoint, save_checkpoint


def messages(world: int, program: Any) -> list[str]:
    """The text of the error that each rank's call ended with; none of a rank that died."""
    outcomes = run_ranks(world, lambda rank: attempt(lambda: program(rank)))
    return [
        outcome.value.get("message", "") for outcome in outcomes if outcome.status == "returned"
    ]


def test_a_rank_that_does_not_come(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        return None if rank == 2 else save_checkpoint({}, tmp_path / "step_7", timeout=1.5)

    texts = messages(4, program)
    assert texts[2] == ""
    for text in texts[:2] + texts[3:]:
        lines = text.splitlines()
        assert lines[0].startswith(f"save_checkpoint('{tmp_path / 'step_7'}'): rank 2 did not ")
        assert "reach the phase 'enter' within 1.5 s (waited for since " in lines[0]
        assert len(lines) == 3
        assert lines[1].startswith("  waiting: ranks 0-1, 3 at ")
        assert lines[1].endswith(" in program")
        assert "keeps rank 2 from this call" in lines[2]


@needs_shards_in_the_layer
def test_a_rank_that_dies_while_it_writes(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        if rank == 1:
            use(KillingLayer(operation="write"))
        state = {f"own{rank}": torch.ones(2)}
        return save_checkpoint(state, tmp_path / "a", mode="sharded", work_timeout=1.5)

    for text in messages(2, program):
        assert "rank 1 did not reach the phase 'write' within 1.5 s" in text
        assert "whether the process of rank 1 was killed (out of memory, preempted node)" in text


def test_a_rank_that_raises(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        def state() -> Any:
            raise KeyError("layers.3.weight")

        return save_checkpoint(state if rank == 1 else {}, tmp_path / "a")

    for text in messages(2, program):
        first, second, *_ = text.splitlines()
        assert first.endswith("rank 1 failed in the phase 'state_dict'; nothing was published")
        assert second.startswith("  rank 1 at ")
        assert second.endswith(" in state: KeyError: 'layers.3.weight'")


def test_ranks_that_mean_different_paths(tmp_path: Path) -> None:
    texts = messages(3, lambda rank: save_checkpoint({}, tmp_path / f"run_{rank // 2}"))
    for text in texts:
        assert "nothing was done; the ranks disagree about the path" in text
        assert f'  path "{tmp_path / "run_0"}" on ranks 0-1' in text
        assert f'  path "{tmp_path / "run_1"}" on rank 2' in text
        assert "make it on one rank and broadcast it" in text


def test_a_torn_file_names_itself_and_the_line_that_loads_it(tmp_path: Path) -> None:
    path = save_checkpoint({"t": torch.ones(100)}, tmp_path / "a")
    with open(path / "state.pt", "r+b") as file:
        file.truncate(100)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    first, second, *_ = str(caught.value).splitlines()
    assert first == f"load_checkpoint({str(path)!r}): rank 0 failed in the phase 'verify'"
    assert "test_runtime_messages.py:" in second
    assert f"{path / 'state.pt'}: 100 bytes, " in second
    assert "(torn file)" in second
