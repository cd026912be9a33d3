"""Fixtures that are programs are run by two ranks: the bad one loses files, the others do not.

Every ``bad_run_NAME.py`` of the fixtures, with its ``ok_run_NAME.py`` and ``fixed_run_NAME.py``
if there is one, takes a folder to save in. One rank is delayed, so that each run goes the same way.
A bad program fails on a rank or leaves a folder that is not what ``CHECKS`` asks for.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from cases import FIXTURES

PROGRAMS = sorted(FIXTURES.glob("CKP[23]*/*_run_*.py"))
_LIMIT = 420.0
_IMPORTS = (
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.fsdp",
    "torch.nn.parallel",
)


def _loaded(path: Path) -> object:
    import torch

    return torch.load(path, weights_only=True)


def _one_folder(out: Path) -> bool:
    (metadata,) = out.rglob(".metadata")
    return len(list(metadata.parent.glob("*.distcp"))) == 2


def _first_rank_only(out: Path) -> bool:
    return str(_loaded(out / "model.pt")) == "{'seen': tensor([10.])}"


def _equal_weights(out: Path) -> bool:
    return str(_loaded(out / "rank-0.pt")) == str(_loaded(out / "rank-1.pt"))


def _whole_model(out: Path) -> bool:
    state = _loaded(out / "model.pt")
    return isinstance(state, dict) and {type(each).__name__ for each in state.values()} == {
        "Tensor"
    }


def _state_for_each(out: Path) -> bool:
    state = _loaded(out / "random.pt")
    return isinstance(state, dict) and len(state["states"]) == 2


def _nothing(out: Path) -> bool:
    return True


CHECKS: Mapping[str, Callable[[Path], bool]] = {
    "CKP201/torn": lambda out: json.loads((out / "metrics.json").read_text()) == [1] * 5,
    "CKP201/folder": lambda out: (out / "step-3").is_dir(),
    "CKP201/rotation": lambda out: not (out / "step-1").exists(),
    "CKP201/rename": lambda out: (out / "model.pt").exists(),
    "CKP201/log": lambda out: (out / "log.txt").read_text() == "epoch 1\n",
    "CKP201/last_writer": _first_rank_only,
    "CKP201/link": lambda out: os.readlink(out / "latest") == "step-3",
    "CKP202/read_back": _nothing,
    "CKP202/removal": _nothing,
    "CKP202/final_name": _nothing,
    "CKP203/clock": _one_folder,
    "CKP203/uuid": _one_folder,
    "CKP203/rank": _one_folder,
    "CKP204/folder": lambda out: (out / "step-3").is_dir(),
    "CKP301/fully_shard": _whole_model,
    "CKP302/full_state": _nothing,
    "CKP303/states": _state_for_each,
    "CKP304/resume": _equal_weights,
}


pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(
        not Path("/proc/self/task").exists(), reason="this system does not tell what a process does"
    ),
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all programs under torchrun, once; return the folder of their reports."""
    folder = tmp_path_factory.mktemp("races")
    jobs = []
    for program in PROGRAMS:
        home = folder / program.parent.name / program.stem
        (home / "out").mkdir(parents=True)
        jobs.append({"program": str(program), "folder": str(home), "world": 2, "ends": True})
    plan = folder / "plan.json"
    content = {"folder": str(folder), "imports": _IMPORTS, "jobs": jobs, "comparisons": []}
    plan.write_text(json.dumps(content))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    process = subprocess.Popen(
        [*command, str(Path(__file__).with_name("ranks.py")), str(plan)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    (folder / "output.txt").write_text(output)
    return folder


def test_every_program_has_a_check() -> None:
    names = {f"{path.parent.name}/{path.stem.partition('_run_')[2]}" for path in PROGRAMS}
    assert names == set(CHECKS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_bad_program_loses_files_and_a_right_one_does_not(program: Path, reports: Path) -> None:
    home = reports / program.parent.name / program.stem
    told = "\n".join(path.read_text() for path in (*home.glob("rank*"), reports / "output.txt"))
    status = [json.loads((home / f"rank{rank}.json").read_text()) for rank in (0, 1)]
    check = CHECKS[f"{program.parent.name}/{program.stem.partition('_run_')[2]}"]
    role = program.stem.partition("_")[0]
    if role == "bad":
        assert "raised" in status or (
            status == ["returned"] * 2 and not _right(check, home / "out")
        )
    else:
        assert status == ["returned"] * 2, told
        assert check(home / "out"), told


def _right(check: Callable[[Path], bool], out: Path) -> bool:
    """Say whether a folder holds what it should, and can be read at all."""
    try:
        return check(out)
    except Exception:
        return False
