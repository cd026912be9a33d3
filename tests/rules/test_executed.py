"""Programs are run before and after their fix: the bad one stands still, the fixed one ends.

Every program of ``tests/programs`` is run by two ranks under torchrun (gloo) as it stands, as
``ckptlint check --fix`` leaves it, and so again by one rank alone. It takes the folder to save in,
prints ``rank N trained`` before the save and ``rank N done`` at its end. What two ranks saved must
hold what one process alone saves.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cases import Case, Told, findings
from ckptlint.cli import cli

PROGRAMS = Path(__file__).parents[1] / "programs"
_LIMIT = 420.0
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "DS_ACCELERATOR": "cpu",
    "HF_HUB_OFFLINE": "1",
    "PYTHONWARNINGS": "ignore",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Group:
    """Programs that one launch runs, since they import the same."""

    name: str
    imports: tuple[str, ...]
    readers: Mapping[str, str]

    def programs(self) -> Iterator[Program]:
        for name, reader in self.readers.items():
            path = PROGRAMS / f"{name}.py"
            yield Program(name, path if path.exists() else path.with_suffix(""), reader)


@dataclass(frozen=True)
class Program:
    """One program, a file or a folder with a ``train.py``, and how its checkpoint is read.

    A folder may have settings of its own, such as the style of fixes.
    """

    name: str
    path: Path
    reader: str

    @cached_property
    def case(self) -> Case:
        return Case(self.path)

    @property
    def main(self) -> str:
        return "train.py" if self.path.is_dir() else self.path.name

    @property
    def waits(self) -> list[int]:
        """Lines where it stands still when that is not where the finding is."""
        lines = self.case.files[self.main].decode().splitlines()
        return [number for number, line in enumerate(lines, 1) if line.endswith("# waits here")]


GROUPS = [
    Group(
        "torch",
        (
            "torch.distributed.checkpoint.state_dict",
            "torch.distributed.fsdp",
            "torch.nn.parallel",
        ),
        {
            "torch/barrier_in_guard": "file",
            "torch/early_return": "file",
            "torch/continue_in_loop": "sharded",
            "torch/fsdp1_full_state": "file",
            "torch/fsdp1_optimizer_state": "file",
            "torch/fsdp2_model_state": "file",
            "torch/dcp_save": "sharded",
            "torch/dcp_async_save": "sharded",
            "torch/helper_in_other_file": "sharded",
            "torch/runtime_save": "file",
            "torch/runtime_value": "sharded",
            "torch/runtime_work": "file",
        },
    ),
    Group(
        "lightning",
        ("lightning", "lightning.pytorch.strategies", "lightning.fabric.strategies"),
        {
            "lightning/after_fit_ddp": "file",
            "lightning/after_fit_fsdp": "sharded",
            "lightning/rank_zero_hook": "file",
            "lightning/fabric_ddp": "file",
            "lightning/fabric_fsdp": "sharded",
        },
    ),
    Group(
        "deepspeed",
        ("deepspeed", "accelerate", "transformers.trainer", "transformers.models.bert"),
        {
            "deepspeed/zero1_save": "zero",
            "deepspeed/zero3_save": "zero",
            "deepspeed/zero3_weights": "file",
            "deepspeed/zero3_early_return": "zero",
            "deepspeed/zero3_gathered": "file",
            "accelerate/state_ddp": "accelerate",
            "accelerate/barrier_ddp": "file",
            "accelerate/state_deepspeed": "zero",
            "accelerate/state_fsdp": "sharded",
            "accelerate/weights_deepspeed": "file",
            "transformers/trainer_deepspeed": "safe",
        },
    ),
]
ALL = [program for group in GROUPS for program in group.programs()]


@dataclass(frozen=True)
class Outcome:
    """What became of the ranks of one job, and what they printed."""

    folder: Path

    def status(self, rank: int) -> str:
        path = self.folder / f"rank{rank}.json"
        return json.loads(path.read_text()) if path.exists() else "never started"

    def output(self, rank: int) -> str:
        path = self.folder / f"rank{rank}.log"
        return path.read_text() if path.exists() else ""

    def stack(self, rank: int) -> str:
        """Where a rank stands that does not go on, or has failed."""
        text = self.output(rank)
        return text.rpartition("Where it is:" if "Where it is:" in text else "Traceback")[2]

    @property
    def told(self) -> str:
        return "\n".join(f"rank {n}: {self.status(n)}\n{self.output(n)}" for n in (0, 1))


@dataclass(frozen=True)
class Results:
    """What became of the programs of one group, by name; ``output`` is what torchrun printed."""

    folder: Path
    output: str

    def of(self, program: Program, variant: str) -> Outcome:
        return Outcome(self.folder / program.name / variant)

    def comparison(self, program: Program, variant: str) -> str:
        path = self.folder / program.name / f"{variant}.equal.json"
        return str(json.loads(path.read_text())) if path.exists() else f"none: {self.output}"


def fixed(program: Program, folder: Path) -> Path:
    """Copy a program and let the command fix it."""
    if program.path.is_dir():
        shutil.copytree(program.path, folder)
    else:
        folder.mkdir(parents=True)
        shutil.copy(program.path, folder)
    for path in folder.glob("*.py"):
        path.write_text(re.sub(r"[ \t]*# (expect: .*|waits here)", "", path.read_text()))
    settings = folder / "ckptlint.toml"
    whose = ["--config", str(settings)] if settings.exists() else ["--isolated"]
    arguments = ["check", *whose, "--fix", "--unsafe-fixes", str(folder)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return folder / program.main


def plan(group: Group, folder: Path) -> dict[str, Any]:
    """Lay out the jobs of a group: every program bad, fixed, and fixed on one rank."""
    jobs: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []
    for program in group.programs():
        home = folder / program.name
        bad = program.path / program.main if program.path.is_dir() else program.path
        right = fixed(program, home / "source")
        for variant, path, world in (("bad", bad, 2), ("right", right, 2), ("alone", right, 1)):
            (home / variant / "out").mkdir(parents=True)
            job = {"program": str(path), "folder": str(home / variant), "world": world}
            jobs.append({**job, "ends": variant != "bad"})
        for variant in ("right", "bad"):
            folders = [str(home / each / "out") for each in (variant, "alone")]
            report = str(home / f"{variant}.equal.json")
            comparisons.append({"reader": program.reader, "folders": folders, "report": report})
    imports = list(group.imports)
    return {"folder": str(folder), "imports": imports, "jobs": jobs, "comparisons": comparisons}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Group], Results]:
    """Return what became of a group's programs, each run once."""
    known: dict[str, Results] = {}

    def of(group: Group) -> Results:
        if group.name not in known:
            known[group.name] = launched(group, tmp_path_factory.mktemp(group.name))
        return known[group.name]

    return of


def launched(group: Group, folder: Path) -> Results:
    """Run a group under torchrun."""
    (folder / "plan.json").write_text(json.dumps(plan(group, folder)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    script = Path(__file__).with_name("ranks.py")
    process = subprocess.Popen(
        [*command, "--nproc-per-node=2", str(script), str(folder / "plan.json")],
        env={**os.environ, **_ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun then ends its ranks, and they theirs
        try:
            output, _ = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return Results(folder, output)


def each_program() -> pytest.MarkDecorator:
    pairs = [(group, program) for group in GROUPS for program in group.programs()]
    return pytest.mark.parametrize(
        ("group", "program"), pairs, ids=[program.name for _, program in pairs]
    )


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_the_finding_is_the_one_that_the_program_announces(program: Program) -> None:
    told = [Told.of(finding) for finding in findings(program.case)]
    assert told
    assert told == program.case.wanted("expect")


def test_every_program_is_run() -> None:
    there = {path.parent if path.name == "train.py" else path for path in PROGRAMS.rglob("*.py")}
    there = {path for path in there if path.parent.parent == PROGRAMS}
    assert there == {program.path for program in ALL}


@each_program()
def test_the_bad_program_fails_and_the_fixed_one_saves_what_one_process_saves(
    group: Group, program: Program, results: Callable[[Group], Results]
) -> None:
    for name in ("torch", *group.imports):
        if find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"{name} is not installed: its programs are not run here")
    if not Path("/proc/self/task").exists():
        pytest.skip("this system does not tell what a process does: programs are not run here")
    found = results(group)

    right = found.of(program, "right")
    for rank in (0, 1):
        assert right.status(rank) == "returned", f"{right.told}\n{found.output}"
        assert f"rank {rank} done" in right.output(rank), right.told
    assert found.comparison(program, "right") == "equal"

    bad = found.of(program, "bad")
    for rank in (0, 1):
        assert f"rank {rank} trained" in bad.output(rank), bad.told
    (finding,) = findings(program.case)
    if "incomplete" in finding.message:
        assert found.comparison(program, "bad") != "equal"
        return
    assert "hang" in finding.message
    assert {bad.status(0), bad.status(1)} & {"stood", "raised"}, bad.told
    stacks = "".join(bad.stack(rank) for rank in (0, 1))
    lines = [int(number) for number in re.findall(rf'{program.main}", line (\d+),? in', stacks)]
    where = {*range(finding.span.line, finding.span.end_line + 1), *program.waits}
    assert where & set(lines), f"it does not stand where the finding is\n{bad.told}"
