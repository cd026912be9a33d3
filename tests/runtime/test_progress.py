"""What a save tells while it goes on, and the record it leaves."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import run_ranks
from layers import needs_shards_in_the_layer

import ckptlint_runtime
from ckptlint_runtime import Progress, async_save_checkpoint, load_checkpoint, save_checkpoint

SHIM = str(Path(ckptlint_runtime.__file__).parents[1])


def test_one_record_per_save_says_bytes_seconds_and_phases(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="ckptlint_runtime"):
        save_checkpoint({"n": 1}, tmp_path / "a", step=3)
    (record,) = [found for found in caplog.records if hasattr(found, "checkpoint")]
    body = record.checkpoint
    assert json.loads(record.getMessage()) == body
    assert (body["event"], body["step"], body["world_size"]) == ("checkpoint_saved", 3, 1)
    assert body["bytes"] == (tmp_path / "a" / "state.pt").stat().st_size
    phases = [timing["phase"] for timing in body["phases"]]
    assert phases == ["enter", "prepare", "state_dict", "write"]
    assert body["seconds"] >= sum(timing["seconds"] for timing in body["phases"])


@pytest.mark.parametrize("background", [False, True])
def test_the_record_names_the_slowest_rank_of_each_phase(tmp_path: Path, background: bool) -> None:
    def program(rank: int) -> Any:
        records: list[Any] = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.checkpoint)  # type: ignore[attr-defined]
        logger = logging.getLogger("ckptlint_runtime")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)

        def state() -> dict[str, int]:
            if rank == 1:
                time.sleep(0.5)
            return {"n": rank}

        if background:
            async_save_checkpoint(state, tmp_path / "a").result()
        else:
            save_checkpoint(state, tmp_path / "a")
        return records

    zero, one = run_ranks(2, program)
    assert one.value == []
    (record,) = zero.value
    (collected,) = [found for found in record["phases"] if found["phase"] == "state_dict"]
    assert collected["slowest_rank"] == 1
    assert collected["seconds"] >= 0.5


@pytest.mark.parametrize("mode", ["full", pytest.param("sharded", marks=needs_shards_in_the_layer)])
@pytest.mark.parametrize("background", [False, True])
def test_a_callback_hears_of_every_write(tmp_path: Path, mode: str, background: bool) -> None:
    told: list[Progress] = []
    shared = torch.zeros(1_000_000)
    state = {"t": shared, "view": shared[:10], "other": torch.zeros(30), "n": 1}
    path = tmp_path / "a"
    if background:
        async_save_checkpoint(state, path, mode=mode, progress=told.append).result()
    else:
        save_checkpoint(state, path, mode=mode, progress=told.append)
    assert {progress.path for progress in told} == {path}
    amounts = [progress.bytes for progress in told]
    assert amounts == sorted(amounts)
    files = [file for file in path.iterdir() if file.name != "manifest.json"]
    assert amounts[-1] == sum(file.stat().st_size for file in files)
    tensors = 4_000_000 + (0 if mode == "full" and not background else 40) + 120
    assert {progress.total for progress in told} == {tensors}


def test_a_sparse_tensor_is_saved_and_counted_too(tmp_path: Path) -> None:
    told: list[Progress] = []
    sparse = torch.eye(10).to_sparse()
    path = async_save_checkpoint({"t": sparse}, tmp_path / "a", progress=told.append).result()
    assert torch.equal(load_checkpoint(path).values["t"].to_dense(), torch.eye(10))
    assert told[-1].total == 400


def test_what_a_callback_raises_fails_the_save_and_nothing_is_published(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        def refuse(progress: Progress) -> None:
            raise ValueError("no more of this")

        with pytest.raises(ckptlint_runtime.RankFailedError, match="no more of this"):
            save_checkpoint({"t": torch.zeros(9)}, tmp_path / "a", progress=refuse)
        return sorted(path.name for path in tmp_path.iterdir())

    assert run_ranks(2, program)[0].value == []


def on_a_terminal(root: Path, call: str) -> str:
    """What a slow save of 400 bytes writes to its standard error, a terminal."""
    code = f"""
        import sys, time
        sys.path.insert(0, {SHIM!r})
        import torch
        from ckptlint_runtime import async_save_checkpoint, files, save_checkpoint, terminal

        class Slow(files.FileLayer):
            def perform(self, operation, path, action):
                result = action()
                if operation == "write" and path.name == "state.pt":
                    time.sleep(0.05)
                return result

        files.layer = Slow()
        terminal.DELAY = 0.04
        {call}
    """
    leader, follower = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), str(root / "step_7")],
            check=True,
            timeout=180,
            stdout=subprocess.DEVNULL,
            stderr=follower,
        )
        os.close(follower)
        return _drain(leader)
    finally:
        os.close(leader)


def _drain(descriptor: int) -> str:
    text = b""
    try:
        while block := os.read(descriptor, 4096):
            text += block
    except OSError:  # how a terminal says that nobody holds its other end
        pass
    return text.decode()


def test_a_long_save_shows_a_line_on_a_terminal_and_erases_it(tmp_path: Path) -> None:
    text = on_a_terminal(tmp_path, "save_checkpoint({'t': torch.zeros(100)}, sys.argv[1])")
    assert "\rsaving step_7: " in text
    assert " of 400 bytes, " in text
    assert text.split("\r")[-2].strip() == ""
    assert text.endswith("\r")
    assert "\n" not in text


@pytest.mark.parametrize(
    "call",
    [
        "save_checkpoint({'t': torch.zeros(100)}, sys.argv[1], progress=lambda progress: None)",
        "async_save_checkpoint({'t': torch.zeros(100)}, sys.argv[1])",
    ],
)
def test_a_callback_or_a_background_save_leaves_the_terminal_alone(
    tmp_path: Path, call: str
) -> None:
    assert on_a_terminal(tmp_path, call) == ""
