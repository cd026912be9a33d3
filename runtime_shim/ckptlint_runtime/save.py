"""``save_checkpoint``: enter, agree, collect, write, commit, publish."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist

from .calls import Call
from .channel import open_channel
from .commit import discard, prepare
from .engines import engine_of
from .request import Progress, SaveRequest
from .settings import resolve_timeouts
from .sharded import write_sharded_save
from .signals import report_sigterm
from .state import State, collect, parts_of
from .terminal import shown
from .verdicts import compare
from .write import write_engine_save, write_full_save


def save_checkpoint(
    state: State,
    path: str | os.PathLike[str],
    *,
    step: int | None = None,
    mode: str = "full",
    group: dist.ProcessGroup | None = None,
    timeout: float | None = None,
    work_timeout: float | None = None,
    overwrite: bool = False,
    keep_last: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Save ``state`` as the checkpoint folder ``path``. Call it on every rank of ``group``.

    ``state`` is a mapping of named parts (objects with ``state_dict``, plain values), one such
    object, a callable that returns a mapping, or an engine (DeepSpeedEngine, Accelerator,
    Lightning Trainer, ``(fabric, mapping)``), whose own collective save then runs.

    ``mode="full"`` writes one file on the group's first rank; ``"sharded"`` writes each rank's
    part. ``timeout`` and ``work_timeout`` are seconds to wait for a rank to come, and for it to
    collect or write; ``keep_last`` deletes all but the newest complete checkpoints beside
    ``path``, after the commit. ``progress`` is called on ranks that write; without it a save of
    more than a second shows a line on the first rank if that has a terminal.

    Returns the absolute path once the checkpoint is durable and visible under its name, on every
    rank. Raises MissingRanksError, RanksDisagreeError or RankFailedError on every rank that is
    still there; then nothing new stands under ``path``, and what stood there before still does.
    """
    asked = SaveRequest.of(path, step, mode, overwrite, keep_last, progress)
    channel, limits = open_channel(group), resolve_timeouts(timeout, work_timeout)
    with (
        channel.lock,
        report_sigterm(channel.linger),
        shown(asked, channel.decides) as request,
    ):
        call = Call(channel, "save_checkpoint", limits.enter, limits.work)
        begin(call, request, state)
        try:
            engine = engine_of(state)
            if engine is not None:
                write_engine_save(call, request, engine)
                return request.path
            tree: dict[str, Any] = {}
            call.phase("state_dict", lambda: tree.update(collect_state(state, mode)))
            write_content(call, request, tree)
        except BaseException:
            discard(call, request)
            raise
    return request.path


def begin(call: Call, request: SaveRequest, state: State, *, engines: bool = True) -> None:
    """Everybody is here and means the same save; the first rank has made room for it."""
    call.enter(request.facts())
    call.title = f"{call.kind}({str(request.path)!r})"

    def check() -> str:
        request.check()
        engine = engine_of(state)
        if engine is None:
            return "parts"
        if not engines:
            raise TypeError("an engine's state cannot be copied: use save_checkpoint for it")
        if dist.is_initialized() and call.channel.world_size != dist.get_world_size():
            raise ValueError("an engine's save involves every rank: do not give it a group")
        return engine.mode

    def conclude(kinds: list[str]) -> None:
        if len(set(kinds)) > 1:
            found = compare(call.channel.ranks, [{"state": kind} for kind in kinds])
            raise TypeError(f"the ranks give different kinds of state: {found['state']}")
        prepare(call, request)

    call.phase("prepare", check, conclude)


def collect_state(state: State, mode: str) -> dict[str, Any]:
    """The tree to write. Runs the caller's ``state_dict`` methods, on every rank."""
    return collect(parts_of(state), mode)


def write_content(call: Call, request: SaveRequest, tree: dict[str, Any]) -> None:
    """Everything after the state is collected, in this thread or in another."""
    if request.mode == "full":
        write_full_save(call, request, tree)
    else:
        write_sharded_save(call, request, tree)
