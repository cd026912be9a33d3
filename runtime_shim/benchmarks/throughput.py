"""A large save against the bare write of the same bytes with the same durability.

python throughput.py [--mib 1024] [--repeat 5] [--root DIR]

full: torch.save and fsync of one file. sharded: dcp.save with fsync, in one process. The two sides
take turns, so that both meet the same disk; medians and their ratio are printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp

from ckptlint_runtime import save_checkpoint


def bare_full(state: dict[str, torch.Tensor], path: Path) -> None:
    path.mkdir()
    with open(path / "state.pt", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def bare_sharded(state: dict[str, torch.Tensor], path: Path) -> None:
    dcp.save(state, storage_writer=dcp.FileSystemWriter(path, sync_files=True))


def timed(action: Callable[[], object], path: Path) -> float:
    os.sync()
    started = time.perf_counter()
    action()
    elapsed = time.perf_counter() - started
    shutil.rmtree(path)
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--root", default=None)
    options = parser.parse_args()
    state = {f"t{number}": torch.randn(options.mib * 1024 * 16) for number in range(16)}
    with tempfile.TemporaryDirectory(dir=options.root) as root:
        path = Path(root) / "checkpoint"
        for mode, bare in (("full", bare_full), ("sharded", bare_sharded)):
            base, ours = [], []
            for _ in range(options.repeat):
                base.append(timed(lambda bare=bare: bare(state, path), path))
                ours.append(timed(lambda mode=mode: save_checkpoint(state, path, mode=mode), path))
            one, other = statistics.median(base), statistics.median(ours)
            print(
                f"{mode:8} bare {one:6.2f} s  guarded {other:6.2f} s  ratio {other / one:5.2f}"
                f"  of the best {min(ours) / min(base):5.2f}"
                f"  (bare {min(base):.2f}-{max(base):.2f}, guarded {min(ours):.2f}-{max(ours):.2f})"
            )


if __name__ == "__main__":
    main()
