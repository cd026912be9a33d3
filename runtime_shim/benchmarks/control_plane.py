"""What the guard costs: seconds and store operations per save, by the number of ranks.

python control_plane.py [--ranks 2 4 8] [--saves 20]

Forks real ranks with a real TCPStore in a process of its own, as torchrun's agent hosts it, and
saves a state of a few bytes. Three durations per rank count, medians over the saves, of the rank
that took longest:

* save: everything, from the call to its return;
* write: what rank zero does to the disk in it, measured in the same save;
* control: the difference, which is the guard's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
import torch.distributed as dist

from ckptlint_runtime import files, save_checkpoint
from ckptlint_runtime.control_store import ControlStore

T = TypeVar("T")


class TimedLayer(files.FileLayer):
    """Adds up the seconds spent in file-system calls."""

    seconds = 0.0

    def perform(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        started = time.perf_counter()
        try:
            return action()
        finally:
            self.seconds += time.perf_counter() - started


def be_rank(rank: int, world: int, port: int, saves: int, root: Path) -> dict[str, list[float]]:
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    dist.init_process_group(
        "gloo", store=dist.PrefixStore(f"world{world}", store), rank=rank, world_size=world
    )
    layer = files.layer = TimedLayer()
    operations: list[str] = []
    inner = ControlStore._do

    def counted(self: ControlStore, operation: str, *arguments: object) -> object:
        operations.append(operation)
        return inner(self, operation, *arguments)

    ControlStore._do = counted  # type: ignore[method-assign]
    found: dict[str, list[float]] = {"save": [], "write": [], "all": [], "writes": []}
    for number in range(saves):
        dist.barrier()
        layer.seconds = 0.0
        operations.clear()
        started = time.perf_counter()
        save_checkpoint({"n": number}, root / str(world) / str(number))
        found["save"].append(time.perf_counter() - started)
        found["write"].append(layer.seconds)
        found["all"].append(float(len(operations)))
        asked = operations.count("compare_set") + operations.count("multi_get")
        found["writes"].append(float(len(operations) - asked))
    dist.barrier()
    return found


def fork(action: Callable[[], object]) -> tuple[int, int]:
    """Run ``action`` in a child; return its process and the pipe its result comes from."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        try:
            os.write(writer, (json.dumps(action()) + "\n").encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    return process, reader


def receive(reader: int) -> object:
    with os.fdopen(reader) as stream:
        return json.loads(stream.readline())


def measure(world: int, saves: int, root: Path) -> None:
    reader, writer = os.pipe()
    host = os.fork()
    if host == 0:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.write(writer, f"{store.port}\n".encode())
        time.sleep(600)
        os._exit(0)
    port = int(os.read(reader, 64))
    ranks = [
        fork(lambda rank=rank: be_rank(rank, world, port, saves, root)) for rank in range(world)
    ]
    results = [receive(pipe) for _, pipe in ranks]
    for process, _ in ranks:
        os.waitpid(process, 0)
    os.kill(host, 9)
    os.waitpid(host, 0)
    per_save = []
    for number in range(1, saves):  # the first one opens connections
        save = max(result["save"][number] for result in results)
        per_save.append((save, results[0]["write"][number]))
    save = statistics.median(save for save, _ in per_save)
    write = statistics.median(write for _, write in per_save)
    control = statistics.median(save - write for save, write in per_save)
    last = results[-1]
    print(
        f"{world:6} {save * 1e3:9.2f} {write * 1e3:9.2f} {control * 1e3:11.2f} "
        f"{statistics.median(results[0]['all']):12.0f} {statistics.median(last['all']):12.0f} "
        f"{statistics.median(last['writes']):10.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--saves", type=int, default=20)
    options = parser.parse_args()
    print(" ranks   save/ms  write/ms  control/ms  ops rank 0  ops another  of them writes")
    with tempfile.TemporaryDirectory() as root:
        for world in options.ranks:
            measure(world, options.saves, Path(root))


if __name__ == "__main__":
    main()
