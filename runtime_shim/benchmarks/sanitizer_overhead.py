"""What the sanitizer adds to one collective.

python sanitizer_overhead.py [--ranks 2 4] [--calls 200]

A barrier-like all_reduce of one number between forked gloo ranks, without and with the check:
medians, in milliseconds, on rank zero.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
from control_plane import fork, receive

from ckptlint_runtime.sanitize import sanitize


def be_rank(rank: int, world: int, port: int, calls: int) -> list[float]:
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    dist.init_process_group(
        "gloo", store=dist.PrefixStore(f"world{world}", store), rank=rank, world_size=world
    )
    bare = all_reduces(calls)
    only = sanitize(only_checkpoints=True)
    elsewhere = all_reduces(calls)
    only.stop()
    with sanitize():
        checked = all_reduces(calls)
    dist.barrier()
    return [bare, elsewhere, checked]


def all_reduces(calls: int) -> float:
    tensor, seconds = torch.zeros(1), []
    for _ in range(calls):
        started = time.perf_counter()
        dist.all_reduce(tensor)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    reader, writer = os.pipe()
    host = os.fork()
    if host == 0:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.write(writer, f"{store.port}\n".encode())
        time.sleep(600)
        os._exit(0)
    port = int(os.read(reader, 64))
    print(" ranks   bare/ms  only checkpoints/ms  checked/ms")
    for world in options.ranks:
        ranks = [
            fork(lambda rank=rank, world=world: be_rank(rank, world, port, options.calls))
            for rank in range(world)
        ]
        results = [receive(pipe) for _, pipe in ranks]
        bare, elsewhere, checked = (value * 1e3 for value in results[0])
        for process, _ in ranks:
            os.waitpid(process, 0)
        print(f"{world:6} {bare:9.3f} {elsewhere:20.3f} {checked:11.3f}")
    os.kill(host, 9)
    os.waitpid(host, 0)


if __name__ == "__main__":
    main()
