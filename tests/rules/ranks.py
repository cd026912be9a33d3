"""Runs programs as the ranks of jobs; it is started itself by torchrun, once on every rank.

``torchrun --nproc-per-node=2 ranks.py PLAN`` imports the frameworks once. Each program is then run
in a fork, so that a job costs a moment instead of an import. Every job has a store of its own,
in a process that does nothing else. What became of each rank stands in ``rankN.json`` in the job's
folder, what it printed in ``rankN.log``.

A job that is expected to stand still is ended as soon as it does: when every rank has trained, and
each that has not ended was asleep for a while. A rank of it that has ended stays, as one that
trains on would.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOWN = "Where it is:"
ASLEEP = 2.5  # seconds without work that tell a rank that stands still
LIMIT = 150.0  # seconds for one job
PATIENCE = 10.0  # seconds for a rank to notice that another one has failed
TOTAL = 400  # seconds for all jobs
WIDTH = 4  # jobs at a time


@dataclass(frozen=True)
class Job:
    """One run of a program: ``folder`` takes its reports, ``folder/out`` its checkpoint."""

    program: Path
    folder: Path
    world: int
    port: int
    ends: bool

    def report(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.json"

    def log(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.log"

    def question(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.where"

    @property
    def failed(self) -> bool:
        """Whether a rank has failed, for which the others may wait."""
        reports = [self.report(rank) for rank in range(self.world)]
        return any(json.loads(path.read_text()) == "raised" for path in reports if path.exists())

    def trained(self, rank: int) -> bool:
        return self.log(rank).exists() and f"rank {rank} trained" in self.log(rank).read_text()


@dataclass
class Running:
    """A rank of a job that has been started."""

    job: Job
    process: int
    started: float = field(default_factory=time.monotonic)


def put(path: Path, content: object) -> None:
    """Write JSON so that whoever looks sees all of it."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content))
    partial.replace(path)


def fork(work: Callable[[], object]) -> int:
    """Run ``work`` in a process of its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def be_rank(job: Job, rank: int) -> None:
    """Be one rank of a job, until it ends or is ended."""
    log = os.open(job.log(rank), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    threading.Thread(target=show_when_asked, args=(job.question(rank),), daemon=True).start()
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(job.world),
        LOCAL_WORLD_SIZE=str(job.world),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(job.port),
    )
    sys.argv = [str(job.program), str(job.folder / "out")]
    sys.path.insert(0, str(job.program.parent))
    os.chdir(job.folder)
    status = "returned"
    try:
        runpy.run_path(str(job.program), run_name="__main__")
    except BaseException:
        traceback.print_exc()
        status = "raised"
    sys.stdout.flush()
    put(job.report(rank), status)
    while not job.ends and not all(job.report(r).exists() for r in range(job.world)):
        time.sleep(0.05)


def show_when_asked(question: Path) -> None:
    """Print where every thread is, once. Frameworks take all signals for themselves."""
    while not question.exists():
        time.sleep(0.2)
    print(SHOWN, file=sys.__stderr__, flush=True)
    faulthandler.dump_traceback(file=2, all_threads=True)
    question.unlink()


def work_of(process: int) -> tuple[bool, int]:
    """Say whether any thread of a process runs or is about to, and the clock ticks used."""
    busy, ticks = False, 0
    for task in Path(f"/proc/{process}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        busy = busy or fields[0] in "RD"
        ticks += int(fields[11]) + int(fields[12])
    return busy, ticks


class Ranks:
    """One rank of every job, as torchrun started it."""

    def __init__(self, rank: int, jobs: list[Job]) -> None:
        self.rank = rank
        self.waiting = list(jobs)
        self.running: list[Running] = []
        self.asleep: dict[tuple[Path, int], tuple[int, float]] = {}

    def run(self) -> None:
        """Run all jobs. Ranks take them in the same order, so that each meets its others."""
        while self.waiting or self.running:
            while self.waiting and len(self.running) < WIDTH:
                self._start(self.waiting.pop(0))
            time.sleep(0.05)
            self.running = [running for running in self.running if not self._over(running)]

    def end(self) -> None:
        """End what still runs."""
        for running in self.running:
            os.kill(running.process, signal.SIGKILL)

    def _start(self, job: Job) -> None:
        if self.rank < job.world:
            running = Running(job, fork(lambda: be_rank(job, self.rank)))
            put(job.folder / f"rank{self.rank}.pid", running.process)
            self.running.append(running)

    def _over(self, running: Running) -> bool:
        job = running.job
        ended, _ = os.waitpid(running.process, os.WNOHANG)
        if ended:
            if not job.report(self.rank).exists():
                put(job.report(self.rank), "killed")
            return True
        if job.report(self.rank).exists():
            return False  # it waits for the others
        if job.failed:
            running.started = min(running.started, time.monotonic() - LIMIT + PATIENCE)
        late = time.monotonic() - running.started > LIMIT
        if not late and (job.ends or not self._stands_still(job)):
            return False
        self._ask(running)
        os.kill(running.process, signal.SIGKILL)
        os.waitpid(running.process, 0)
        put(job.report(self.rank), "late" if late else "stood")
        return True

    def _ask(self, running: Running) -> None:
        """Let a rank print where it is."""
        question = running.job.question(self.rank)
        question.touch()
        for _ in range(100):
            if not question.exists():
                return
            time.sleep(0.1)

    def _stands_still(self, job: Job) -> bool:
        """Say whether all ranks have trained and those that have not ended have been asleep."""
        if not all(job.trained(rank) for rank in range(job.world)):
            return False
        ranks = [rank for rank in range(job.world) if not job.report(rank).exists()]
        asleep = [self._sleeps(job, rank) for rank in ranks]
        return all(asleep)

    def _sleeps(self, job: Job, rank: int) -> bool:
        now = time.monotonic()
        process = json.loads((job.folder / f"rank{rank}.pid").read_text())
        try:
            busy, ticks = work_of(process)
        except OSError:
            return True  # it was ended in this moment
        before, since = self.asleep.get((job.folder, rank), (-1, now))
        if busy or ticks > before + 2:
            before, since = ticks, now
        self.asleep[job.folder, rank] = before, since
        return now - since > ASLEEP


def keep_stores(count: int, path: Path) -> int:
    """Open stores in a process of their own; write their ports."""

    def work() -> None:
        from torch.distributed import TCPStore

        signal.alarm(TOTAL)
        stores = [
            TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) for _ in range(count)
        ]
        put(path, [store.port for store in stores])
        signal.pause()

    return fork(work)


def until_written(path: Path) -> Any:
    """Return the content of a file once it stands there."""
    while not path.exists():
        time.sleep(0.02)
    return json.loads(path.read_text())


def jobs_of(plan: dict[str, Any], ports: Iterator[int]) -> Iterator[Job]:
    """Yield the jobs of a plan: each program as it is, fixed, and fixed on one rank alone."""
    for entry in plan["jobs"]:
        yield Job(
            program=Path(entry["program"]),
            folder=Path(entry["folder"]),
            world=entry["world"],
            port=next(ports),
            ends=entry["ends"],
        )


def prepare() -> None:
    """Make the frameworks take the processor: DeepSpeed would compile a faster path first, for a
    minute; Accelerate offers FSDP and DeepSpeed to a GPU alone, so that this is one for it."""
    if "deepspeed" in sys.modules:
        sys.modules["deepspeed"].ops.__compatible_ops__["deepspeed_shm_comm"] = False
    if "accelerate" in sys.modules:
        from accelerate.utils import DistributedType

        def backend(_: object, cpu: bool = False, *__: object) -> tuple[str, DistributedType]:
            return "gloo", DistributedType.MULTI_CPU if cpu else DistributedType.MULTI_GPU

        sys.modules["accelerate"].PartialState._prepare_backend = backend
        os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"


def main() -> None:
    """Run the jobs of a plan as the rank that torchrun says."""
    signal.alarm(TOTAL)
    plan = json.loads(Path(sys.argv[1]).read_text())
    rank = int(os.environ["RANK"])
    for name in plan["imports"]:
        importlib.import_module(name)
    prepare()
    ports = Path(plan["folder"]) / "ports.json"
    keeper = keep_stores(len(plan["jobs"]), ports) if rank == 0 else 0
    ranks = Ranks(rank, list(jobs_of(plan, iter(until_written(ports)))))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        ranks.run()
        # The stores are there until every rank is done with them.
        put(Path(plan["folder"]) / f"done{rank}.json", True)
        until_written(Path(plan["folder"]) / f"done{1 - rank}.json")
        if rank == 0:
            compare(plan)
    finally:
        ranks.end()
        if keeper:
            os.kill(keeper, signal.SIGKILL)


def compare(plan: dict[str, Any]) -> None:
    """Read the checkpoints of the plan back, each comparison in a process of its own."""
    import readers

    for entry in plan["comparisons"]:
        report = Path(entry["report"])

        def work(entry: dict[str, Any] = entry, report: Path = report) -> None:
            try:
                readers.compare(entry["reader"], *map(Path, entry["folders"]))
                put(report, "equal")
            except Exception as error:
                put(report, f"{type(error).__name__}: {error}")

        os.waitpid(fork(work), 0)


if __name__ == "__main__":
    main()
