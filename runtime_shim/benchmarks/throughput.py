"""A large save against the bare write of the same bytes with the same durability.

python throughput.py [--mib 1024] [--pairs 7] [--ranks 1] [--root DIR]

full: torch.save and fsync of one file by one rank. sharded: dcp.save with fsync, each rank its
part. The two sides are measured in pairs, right after one another and in turns first, so that both
meet the same disk and the same other work. Of every pair the ratio is taken; the medians of the
ratios and of the seconds are printed, and the profile of the guarded side on rank zero:

* write: seconds in calls that write, and in waiting there for the checksum of the same bytes;
* fsync: seconds in calls that sync files and folders, at the end (what the helper thread syncs
  meanwhile is not waited for);
* rest: serialization, planning, and the guard.

``crc32`` is what the checksum of all bytes takes alone, on one core.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from control_plane import fork, receive

from ckptlint_runtime import files, save_checkpoint

T = TypeVar("T")


class ProfilingLayer(files.FileLayer):
    """Adds up the seconds spent in each kind of file-system call."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def perform(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        started = time.perf_counter()
        try:
            return action()
        finally:
            self.seconds[operation] += time.perf_counter() - started


def bare_full(state: dict[str, torch.Tensor], path: Path) -> None:
    if dist.get_rank() == 0:
        path.mkdir()
        with open(path / "state.pt", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
    dist.barrier()


def bare_sharded(state: dict[str, torch.Tensor], path: Path) -> None:
    dcp.save(state, storage_writer=dcp.FileSystemWriter(path, sync_files=True))


def timed(action: Callable[[], object], path: Path) -> float:
    """Seconds of ``action`` on this rank, from a clean disk queue and a common start."""
    if dist.get_rank() == 0:
        os.sync()
    dist.barrier()
    started = time.perf_counter()
    action()
    elapsed = time.perf_counter() - started
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(path)
    return elapsed


def be_rank(
    rank: int, ranks: int, mib: int, pairs: int, root: Path
) -> dict[str, list[list[float]]]:
    dist.init_process_group(
        "gloo", init_method=f"file://{root}/rendezvous", rank=rank, world_size=ranks
    )
    torch.manual_seed(0)
    state = {f"t{number}": torch.randn(mib * 1024 * 16) for number in range(16)}
    layer = files.layer = ProfilingLayer()
    path = root / "checkpoint"
    measured: dict[str, list[list[float]]] = {}
    for mode, bare in (("full", bare_full), ("sharded", bare_sharded)):
        measured[mode] = []
        for pair in range(pairs + 1):
            layer.seconds.clear()
            base = timed(lambda bare=bare: bare(state, path), path) if pair % 2 else 0.0
            ours = timed(lambda mode=mode: save_checkpoint(state, path, mode=mode), path)
            base = base or timed(lambda bare=bare: bare(state, path), path)
            write, sync = (
                layer.seconds["write"],
                layer.seconds["fsync"] + layer.seconds["fsync_dir"],
            )
            if pair:  # the first one meets cold memory
                measured[mode].append([base, ours, write, sync])
    if rank == 0:
        block = bytearray(mib << 20)
        started = time.perf_counter()
        zlib.crc32(block)
        measured["crc32"] = [[time.perf_counter() - started]]
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--root", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.root) as root:
        ranks = [
            fork(
                lambda rank=rank: be_rank(
                    rank, options.ranks, options.mib, options.pairs, Path(root)
                )
            )
            for rank in range(options.ranks)
        ]
        results = [receive(pipe) for _, pipe in ranks]
        for process, _ in ranks:
            os.waitpid(process, 0)
    print("mode      bare/s  guarded/s  ratio  (lowest-highest)   write/s  fsync/s  rest/s")
    for mode in ("full", "sharded"):
        report(mode, [result[mode] for result in results])
    print(f"crc32 of {options.mib} MiB alone: {results[0]['crc32'][0][0]:.2f} s")


def report(mode: str, per_rank: list[list[list[float]]]) -> None:
    """One line; a run takes as long as its slowest rank."""
    base = [max(rank[0] for rank in pair) for pair in zip(*per_rank, strict=True)]
    ours = [max(rank[1] for rank in pair) for pair in zip(*per_rank, strict=True)]
    ratios = [one / other for one, other in zip(ours, base, strict=True)]
    total, write, sync = (
        statistics.median(pair[column] for pair in per_rank[0]) for column in (1, 2, 3)
    )
    print(
        f"{mode:8} {statistics.median(base):7.2f} {statistics.median(ours):10.2f} "
        f"{statistics.median(ratios):6.2f}  ({min(ratios):.2f}-{max(ratios):.2f})"
        f"{write:18.2f} {sync:8.2f} {total - write - sync:7.2f}"
    )


if __name__ == "__main__":
    main()
