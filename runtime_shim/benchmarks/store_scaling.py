"""Store operations per rank, and the first rank's work, with hundreds of members.

python store_scaling.py [--members 64 128 256 512]

One real TCPStore, one real client per member, all in this process, each member a thread that makes
one guarded call of three phases. What the ranks do meanwhile is left out, so an operation that a
member makes more than in a smaller world would be the protocol's. Asking again while waiting
depends on time, not on the world; it is counted apart.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from typing import Any

import torch.distributed as dist

from ckptlint_runtime.calls import Call
from ckptlint_runtime.channel import Channel
from ckptlint_runtime.control_store import ControlStore

_local = threading.local()


def count_operations() -> None:
    inner = ControlStore._do

    def counted(self: ControlStore, operation: str, *arguments: Any) -> Any:
        _local.made[operation] += 1
        if operation == "multi_get":
            _local.made["values read"] += len(arguments[0])
        return inner(self, operation, *arguments)

    ControlStore._do = counted  # type: ignore[method-assign]


def measure(members: int, port: int) -> None:
    made: list[Counter[str]] = [Counter() for _ in range(members)]
    start = threading.Barrier(members)
    seconds = [0.0] * members

    def member(index: int) -> None:
        _local.made = Counter()
        client = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
        store = ControlStore(client, f"members{members}")
        channel = Channel(store, tuple(range(members)), index)
        for attempt in range(2):  # the first one connects
            start.wait()
            _local.made.clear()
            started = time.perf_counter()
            call = Call(channel, "measure", 120.0, 120.0)
            call.enter({"path": "a", "step": attempt})
            call.phase("state_dict")
            call.phase("write", lambda: {"files": {}}, lambda reports: len(reports))
            call.leave()
            seconds[index] = time.perf_counter() - started
        made[index] = Counter(_local.made)

    threads = [threading.Thread(target=member, args=(index,)) for index in range(members)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waiting = ("compare_set",)
    others = [
        sum(count for name, count in found.items() if name not in (*waiting, "values read"))
        for found in made[1:]
    ]
    asked = [sum(found[name] for name in waiting) for found in made[1:]]
    first = sum(
        count for name, count in made[0].items() if name not in (*waiting, "add", "values read")
    )
    print(
        f"{members:8} {max(seconds):9.3f} {min(others):6}-{max(others):<6} "
        f"{sum(asked) / len(asked):10.1f} {first:12} {made[0]['values read']:12}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, nargs="+", default=[64, 128, 256, 512])
    options = parser.parse_args()
    count_operations()
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    print(" members   seconds  ops/rank   asked/rank  ops rank 0  values read by rank 0")
    for members in options.members:
        measure(members, server.port)


if __name__ == "__main__":
    main()
