"""Every fault on every kind of rank in every mode: nothing half-done shows, all hear the same.

A cell saves a first checkpoint that is good, then a second one during which one rank has the
fault. Afterwards the first still loads, no partial folder has a final name, and every rank that
is alive has raised the same class of error and named the same ranks.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import Outcome, attempt, run_ranks
from layers import (
    DISK_FULL,
    IO_ERROR,
    FailingLayer,
    KillingLayer,
    needs_shards_in_the_layer,
    use,
)

from ckptlint_runtime import (
    async_save_checkpoint,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from ckptlint_runtime.manifest import complete

MODES = ("full", "sharded", "async", "async-sharded")
#: Seconds. Nobody goes missing in most cells, and then no rank may be thought to be.
PATIENT = 15.0
#: Where one does, the cell lasts as long as this.
IMPATIENT = 1.5


class Part:
    """A part of a state whose ``state_dict`` does what the cell wants."""

    def __init__(self, value: float, before: Callable[[], None] = lambda: None) -> None:
        self.value, self.before = value, before

    def state_dict(self) -> dict[str, Any]:
        self.before()
        return {"t": torch.full((1000,), self.value)}


@dataclass(frozen=True)
class Cell:
    """One cell: the fault, the rank that has it, the mode, the number of ranks."""

    fault: str
    victim: int
    mode: str
    world: int

    @property
    def writes(self) -> bool:
        """Whether the victim writes files in this mode."""
        return self.victim == 0 or "sharded" in self.mode


#: Fault -> (error, phase or name) that every survivor must raise; None: the save succeeds.
EXPECTED: dict[str, tuple[str, str] | None] = {
    "absent": ("MissingRanksError", "enter"),
    "raises in state_dict": ("RankFailedError", ""),
    "raises in write": ("RankFailedError", ""),
    "killed in write": ("MissingRanksError", "write"),
    "slow": None,
    "wrong path": ("RanksDisagreeError", "path"),
    "wrong step": ("RanksDisagreeError", "step"),
    "rename fails": ("RankFailedError", ""),
    "disk full": ("RankFailedError", ""),
    "second save to one path": ("RankFailedError", ""),
    "interrupted": ("RankFailedError", ""),
    "terminated": ("RankFailedError", ""),
}
MISSING = [found for found in EXPECTED.values() if found and found[0] == "MissingRanksError"]
NEEDS_OTHERS = {"absent", "wrong path", "wrong step"}
NEEDS_A_WRITER = {"raises in write", "killed in write", "disk full"}
ON_THE_FIRST_RANK = {"rename fails", "second save to one path"}


def heavy(cell: Cell) -> bool:
    """Cells of the slow remainder: four ranks, and what two modes together cover on two."""
    return cell.world == 4 or (cell.world == 2 and cell.mode == "async-sharded")


def cells() -> Iterator[Any]:
    """All cells that can exist."""
    for world in (1, 2, 4):
        for mode in MODES:
            for fault in EXPECTED:
                for victim in (0, world - 1) if world > 1 else (0,):
                    cell = Cell(fault, victim, mode, world)
                    if world == 1 and fault in NEEDS_OTHERS:
                        continue
                    if victim and fault in ON_THE_FIRST_RANK:
                        continue
                    if fault in NEEDS_A_WRITER and not cell.writes:
                        continue
                    marks = [pytest.mark.slow] if heavy(cell) else []
                    if fault in NEEDS_A_WRITER and "sharded" in mode:
                        marks.append(needs_shards_in_the_layer)
                    name = f"{fault}-rank{victim}-{mode}-world{world}"
                    yield pytest.param(cell, id=name.replace(" ", "_"), marks=marks)


@pytest.mark.parametrize("cell", list(cells()))
def test_cell(tmp_path: Path, cell: Cell) -> None:
    outcomes = run_ranks(cell.world, lambda rank: play(cell, rank, tmp_path))
    survivors = [outcome for outcome in outcomes if outcome.status != "killed"]
    killed = [outcome.rank for outcome in outcomes if outcome.status == "killed"]
    assert not [outcome for outcome in outcomes if outcome.status in ("hung", "raised")], outcomes
    assert killed == ([cell.victim] if cell.fault in ("killed in write", "terminated") else [])
    if cell.fault == "absent":
        survivors = [outcome for outcome in survivors if outcome.rank != cell.victim]
    check_survivors(cell, survivors)
    check_folder(cell, tmp_path)


def play(cell: Cell, rank: int, root: Path) -> Any:
    save(cell.mode, state(cell, rank, Part(1.0)), root / "step_1", 1, PATIENT)
    mine = rank == cell.victim
    path, step, before = root / "step_2", 2, lambda: None
    if mine:
        match cell.fault:
            case "absent":
                return None
            case "raises in state_dict":
                before = fail
            case "interrupted":
                before = interrupt
            case "terminated":
                before = terminate
            case "slow":
                before = wait
            case "raises in write":
                use(FailingLayer("write", IO_ERROR))
            case "disk full":
                use(FailingLayer("write", DISK_FULL, after=2))
            case "killed in write":
                use(KillingLayer(operation="write"))
            case "rename fails":
                use(FailingLayer("rename", IO_ERROR))
            case "wrong path":
                path = root / "elsewhere"
            case "wrong step":
                step = 3
    if cell.fault == "second save to one path":
        path = root / "step_1"
    patience = IMPATIENT if EXPECTED[cell.fault] in MISSING else PATIENT
    content = state(cell, rank, Part(2.0, before))
    return attempt(lambda: save(cell.mode, content, path, step, patience))


def state(cell: Cell, rank: int, part: Part) -> dict[str, Part]:
    """``part``, replicated; and where each rank writes, a part of its own, so that each does."""
    return {"part": part, f"own{rank}": part} if "sharded" in cell.mode else {"part": part}


def save(mode: str, content: Any, path: Path, step: int, patience: float) -> Path:
    limits = {"timeout": patience, "work_timeout": patience}
    if mode.startswith("async"):
        plain = "sharded" if mode == "async-sharded" else "full"
        pending = async_save_checkpoint(content, path, step=step, mode=plain, **limits)
        return pending.result()
    return save_checkpoint(content, path, step=step, mode=mode, **limits)


def check_survivors(cell: Cell, survivors: list[Outcome]) -> None:
    expected = EXPECTED[cell.fault]
    for outcome in survivors:
        found = outcome.value
        if expected is None:
            assert found["status"] == "returned", found["message"]
            continue
        error, detail = expected
        assert found["error"] == error, found
        if error == "RanksDisagreeError":
            assert found["name"] == detail
            assert [cell.victim] in found["value"].values()
        else:
            blamed = [cell.victim]
            if cell.fault == "second save to one path":
                blamed = [0]
            assert found["ranks"] == blamed, found
            assert f"rank {blamed[0]}" in found["message"]
        if error == "MissingRanksError":
            assert found["phase"] == detail
        if error == "RankFailedError":
            if cell.fault == "disk full":
                assert "No space left" in found["message"]
            assert bool(found["cause"]) == (outcome.rank == found["ranks"][0])


def check_folder(cell: Cell, root: Path) -> None:
    plain = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    succeeded = EXPECTED[cell.fault] is None
    assert plain == {"step_1", "latest"} | ({"step_2"} if succeeded else set())
    for name in plain - {"latest"}:
        assert complete(root / name) is not None
    assert latest_checkpoint(root) == root / ("step_2" if succeeded else "step_1")
    value = load_checkpoint(root / "step_1").values["part"]["t"]
    assert torch.equal(value, torch.ones(1000))


def fail() -> None:
    raise ValueError("no such tensor")


def interrupt() -> None:
    raise KeyboardInterrupt


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)


def wait() -> None:
    time.sleep(0.4)
