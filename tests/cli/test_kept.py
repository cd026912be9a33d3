"""What is kept of the files: however a project changes, a run finds what a fresh one finds."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest

from ckptlint import cache
from ckptlint.kept import files
from workspace import BAD, GOOD, Workspace, places

HELPER = """\
import deepspeed

def keep(engine: deepspeed.DeepSpeedEngine, out):
    engine.save_checkpoint(out)
"""
CALLER = """\
import torch.distributed as dist
from helper import keep

def train(engine, out):
    if dist.get_rank() == 0:
        keep(engine, out)
"""
LEADS = "import torch.distributed as dist\n\ndef leads():\n    return dist.get_rank() == 0\n"
HOLDER = """\
import torch.distributed as dist

class Holder:
    def __init__(self):
        self.leads = dist.get_rank() == 0

    def other(self):
        return 1
"""
# Each file with what may stand in it; None: it is not there. What one file says of the rank, of
# its callers, its bases or its imports changes what there is to find in another.
VERSIONS: dict[str, list[str | None]] = {
    "helper.py": [
        HELPER,
        HELPER.replace("engine.save_checkpoint(out)", "print(out)"),
        f"# moved down\n\n{HELPER}",
        "from inner import keep\n",
        "from inner import *\n",
        "def torn(:\n",
        None,
    ],
    "inner.py": [HELPER, HELPER.replace("keep", "hold"), None],
    "caller.py": [
        CALLER,
        CALLER.replace("if dist.get_rank() == 0", "if leads()").replace("keep\n", "keep, leads\n"),
        CALLER.replace("dist.get_rank() == 0", "out"),
        CALLER.replace("keep(engine, out)", "keep(engine, out)  # ckptlint: ignore[CKP101] known"),
        f"{CALLER}    else:\n        keep(engine, out)\n",
        None,
    ],
    "ranks.py": [
        LEADS,
        LEADS.replace("    return", "    answer = 1\n    return"),
        f"{LEADS}\ndef other():\n    return leads()\n",
        f"def other():\n    return 1\n\n{LEADS}",
        LEADS.replace("def leads", "from functools import cache\n\n@cache\ndef leads"),
        "def leads():\n    return True\n",
        None,
    ],
    "holder.py": [
        HOLDER,
        HOLDER.replace("return 1", "answer = 1\n        return answer"),
        HOLDER.replace("return 1", "self.leads = True"),
        HOLDER.replace("dist.get_rank() == 0", "False"),
        HOLDER.replace("    def other", "    @property\n    def other"),
        None,
    ],
    "user.py": [
        "from holder import Holder\nfrom helper import keep\n\ndef run(engine, out):\n"
        "    holder = Holder()\n    holder.other()\n"
        "    if holder.leads:\n        keep(engine, out)\n",
        None,
    ],
    "guarded.py": [
        "from ranks import leads\nfrom helper import keep\n\n"
        "def save(engine, out):\n    if leads():\n        keep(engine, out)\n",
        "from ranks import *\nfrom helper import *\n\n"
        "def save(engine, out):\n    if not leads():\n        return\n    keep(engine, out)\n",
        None,
    ],
    "half.py": [
        "import torch.distributed as dist\n\ndef wait():\n    if dist.get_rank() != 0:\n"
        "        dist.barrier()\n",
        None,
    ],
    "other_half.py": [
        "import torch.distributed as dist\nfrom half import wait\n\ndef main():\n    wait()\n"
        "    if dist.get_rank() == 0:\n        dist.barrier()\n",
        "from half import wait\n\ndef main():\n    wait()\n",
        None,
    ],
    "base.py": [
        "import torch.distributed as dist\n\nclass Trainer:\n    def run(self, out):\n"
        "        if dist.get_rank() == 0:\n            self.save(out)\n\n"
        "    def save(self, out):\n        print(out)\n",
        None,
    ],
    "heir.py": [
        "import torch.distributed as dist\nfrom base import Trainer\n\nclass Mine(Trainer):\n"
        "    def save(self, out):\n        dist.barrier()\n",
        "from base import Trainer\n\nclass Mine(Trainer):\n    pass\n",
        None,
    ],
    "script.py": [BAD, GOOD, None],
    "twin.py": [BAD.replace("6", "7"), GOOD, None],
    "config.json": ['{"zero_optimization": {"stage": 3}}', "{}", None],
}


@pytest.fixture
def project(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A project whose files have times that can be relied on at once."""
    monkeypatch.setattr(cache, "SETTLED", 0)
    monkeypatch.setattr(files, "SETTLED", 0)
    workspace.put("pyproject.toml", "[project]\nname = 'trainer'\n")
    for number in range(8):  # so many that a few changed files are few
        workspace.put(f"quiet_{number}.py", "def nothing():\n    return None\n")
    return workspace


def change(project: Workspace, name: str, version: str | None) -> None:
    if version is None:
        (project.root / name).unlink(missing_ok=True)
    else:
        project.put(name, version)


def report(project: Workspace, *arguments: str) -> str:
    shown = ("--confidence", "possible", "--extend-select", "ALL", "--output-format", "json")
    return project.run("check", *shown, *arguments).stdout


@pytest.mark.parametrize("seed", range(12))
def test_a_run_finds_what_a_fresh_one_finds(project: Workspace, seed: int) -> None:
    chance = random.Random(seed)
    for name, versions in VERSIONS.items():
        change(project, name, chance.choice(versions))
    report(project)
    for step in range(10):
        for name in chance.sample(sorted(VERSIONS), chance.choice([1, 1, 1, 2, 4])):
            change(project, name, chance.choice(VERSIONS[name]))
        asked = chance.choice([(), (), ("caller.py", "script.py", "helper.py")])
        there = [name for name in asked if (project.root / name).exists()]
        jobs = str(chance.choice([1, 2]))
        kept = report(project, "--jobs", jobs, *there)
        assert json.loads(kept) == json.loads(report(project, "--no-cache", *there)), step


def database(project: Workspace) -> Path:
    [path] = (project.root / cache.FOLDER).glob("*.db")
    return path


def doctored(project: Workspace) -> None:
    """Write another message into what is kept of each file, so that it shows where it is used."""
    with sqlite3.connect(database(project)) as connection:
        query = "update answer set value = replace(value, 'the job hangs', 'taken from the store')"
        connection.execute(query)
    connection.close()


def test_what_did_not_change_is_not_found_out_again(project: Workspace) -> None:
    project.write(train=BAD)
    project.check()
    doctored(project)
    project.put("quiet_1.py", "def nothing():\n    return 1\n")
    assert "taken from the store" in project.check().stdout
    project.put("train.py", f"{BAD}\n")
    assert "taken from the store" not in project.check().stdout


def test_an_edit_in_a_function_concerns_those_that_execute_it(project: Workspace) -> None:
    beside = "\ndef beside(steps):\n    return steps\n"
    project.put("ranks.py", LEADS + beside)
    project.put("helper.py", HELPER)
    caller = CALLER.replace("dist.get_rank() == 0", "leads()")
    project.put("caller.py", f"from ranks import leads\n{caller}")
    project.check()
    doctored(project)
    project.put("ranks.py", LEADS + beside.replace("return", "twice = 2 * steps\n    return"))
    assert "taken from the store" in project.check().stdout
    project.put("ranks.py", LEADS.replace("return", "answer = 1\n    return") + beside)
    assert "taken from the store" not in project.check().stdout


def test_nor_are_the_same_contents_with_other_times(project: Workspace) -> None:
    project.write(train=BAD)
    project.check()
    doctored(project)
    project.put("train.py", BAD)
    assert "taken from the store" in project.check().stdout


def test_a_file_asked_for_by_name_takes_what_a_whole_run_found(project: Workspace) -> None:
    project.write(train=BAD)
    project.check()
    doctored(project)
    assert "taken from the store" in project.check("train.py").stdout


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_made_anew_in_silence(project: Workspace, damage: bytes) -> None:
    project.write(train=BAD)
    project.check()
    database(project).write_bytes(damage)
    project.put("train.py", f"\n{BAD}")
    result = project.check()
    assert (places(result), result.stderr) == (["train.py:7:9 CKP101"], "")
    doctored(project)
    project.put("quiet_1.py", "")
    assert "taken from the store" in project.check().stdout


def test_damage_that_shows_late_is_no_harm(project: Workspace) -> None:
    project.write(train=BAD)
    project.check()
    with sqlite3.connect(database(project)) as connection:
        connection.execute("drop table answer")
    connection.close()
    project.put("quiet_1.py", "")
    result = project.check()
    assert (places(result), result.stderr) == (["train.py:6:9 CKP101"], "")


def test_a_run_does_not_wait_for_one_that_writes(project: Workspace) -> None:
    project.write(train=BAD)
    project.check()
    other = sqlite3.connect(database(project), isolation_level=None)
    other.execute("begin immediate")
    project.put("train.py", f"\n{BAD}")
    assert places(project.check()) == ["train.py:7:9 CKP101"]
    other.execute("rollback")
    other.close()
    assert places(project.check()) == ["train.py:7:9 CKP101"]


def test_a_torn_file_that_was_mended_is_no_longer_told(project: Workspace) -> None:
    project.write(train=BAD, torn="def broken(rank:\n")
    assert project.check().exit_code == 2
    project.write(torn="def whole(rank):\n    return rank\n")
    result = project.check()
    assert places(result) == ["train.py:6:9 CKP101"]
