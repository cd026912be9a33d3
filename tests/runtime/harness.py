"""Run a function as N ranks of a gloo job and see what became of each of them.

Ranks are forked from the test process, which has imported torch already, so a job of two ranks
costs tens of milliseconds. A process of its own hosts the store, as torchrun's agent does: so a
rank, rank zero too, may be killed without taking the store with it.
"""

from __future__ import annotations

import atexit
import faulthandler
import itertools
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

#: Hard limit of one job, in seconds.
LIMIT = 20.0

_jobs = itertools.count()
_port: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of one rank: ``status`` is returned, raised, killed or hung."""

    rank: int
    status: str
    value: Any = None
    error: str = ""
    ranks: tuple[int, ...] = ()
    phase: str = ""
    name: str = ""
    cause: str = ""
    message: str = ""


def run_ranks(
    world: int,
    program: Callable[[int], Any],
    *,
    process_group: bool = True,
    limit: float = LIMIT,
    group_timeout: float = 60.0,
) -> list[Outcome]:
    """Run ``program(rank)`` on ``world`` ranks, its result JSON, for ``limit`` seconds at most."""
    port, job = _store_port(), next(_jobs)
    ranks: dict[int, tuple[int, str]] = {}
    for rank in range(world):
        descriptor, report = tempfile.mkstemp(prefix=f"rank{rank}-")
        os.close(descriptor)
        process = os.fork()
        if process == 0:
            _be_rank(rank, world, port, job, program, report, process_group, limit, group_timeout)
        ranks[rank] = (process, report)
    return [
        _collect(rank, process, report, time.monotonic() + limit)
        for rank, (process, report) in ranks.items()
    ]


def _be_rank(
    rank: int,
    world: int,
    port: int,
    job: int,
    program: Callable[[int], Any],
    report: str,
    process_group: bool,
    limit: float,
    group_timeout: float,
) -> None:
    status: dict[str, Any] = {"status": "returned"}
    code = 0
    try:
        # What the test process registered, such as deleting folders, is not a rank's to run.
        atexit._clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.dump_traceback_later(limit - 1, file=sys.__stderr__)
        torch.set_num_threads(1)
        if process_group:
            store = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
            dist.init_process_group(
                "gloo",
                store=dist.PrefixStore(f"job{job}", store),
                rank=rank,
                world_size=world,
                timeout=timedelta(seconds=group_timeout),
            )
            dist.barrier()  # one that ends at once would break the others' joining
        status["value"] = program(rank)
    except BaseException as error:
        status = describe(error)
        if not hasattr(error, "ranks") and not hasattr(error, "values"):
            traceback.print_exc(file=sys.__stderr__)
    try:
        with open(report, "w", encoding="utf-8") as file:
            json.dump(status, file)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        code = 1
    os._exit(code)


def launched(world: int) -> list[dict[str, str]]:
    """For each rank of a new job the variables that torchrun would set for it."""
    shared = {
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        # A store of its own, which is there already, as the launcher's is.
        "MASTER_PORT": str(_start_store()),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": "tests",
    }
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world)]


def wait_for(path: Path) -> None:
    """Inside a rank: wait until another one has made ``path``. The job's limit bounds it."""
    while not path.exists():
        time.sleep(0.01)


def describe(error: BaseException) -> dict[str, Any]:
    """An error as an outcome holds it."""
    cause = error.__cause__
    values = getattr(error, "values", None)
    return {
        "status": "raised",
        "value": {key: list(ranks) for key, ranks in values.items()} if values else None,
        "error": type(error).__name__,
        "ranks": list(getattr(error, "ranks", ())),
        "phase": getattr(error, "phase", ""),
        "name": getattr(error, "name", "") or "",
        "cause": type(cause).__name__ if cause else "",
        "message": str(error),
    }


def attempt(action: Callable[[], Any]) -> dict[str, Any]:
    """Run ``action`` inside a rank and describe how it ended, without ending the rank."""
    try:
        value = action()
    except BaseException as error:
        return describe(error)
    return {"status": "returned", "value": str(value)}


def _collect(rank: int, process: int, report: str, deadline: float) -> Outcome:
    try:
        while True:
            done, code = os.waitpid(process, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                return Outcome(rank, "hung")
            time.sleep(0.005)
        if os.WIFSIGNALED(code):
            return Outcome(rank, "killed", os.WTERMSIG(code))
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        found["ranks"] = tuple(found.get("ranks", ()))
        return Outcome(rank, **found)
    finally:
        os.unlink(report)


def _store_port() -> int:
    global _port
    if _port is None:
        _port = _start_store()
    return _port


def _start_store() -> int:
    """The port of a new store, in a process that ends with this one."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.write(writer, f"{store.port}\n".encode())
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)
    ready, _, _ = select.select([reader], [], [], LIMIT)
    assert ready, "the store did not start"
    port = int(os.read(reader, 64))
    os.close(reader)
    os.close(writer)
    atexit.register(_stop, process, os.getpid())
    return port


def _stop(process: int, owner: int) -> None:
    if os.getpid() == owner:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
