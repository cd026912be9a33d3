"""The server looks at part of a project and finds in the open file what a whole run finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ckptlint import catalogue
from ckptlint.engine import Request, analyse
from ckptlint.server.narrow import narrowed
from ckptlint.source import Source
from ckptlint_rules import facts

ROOT = Path("/project")
PROJECT = {
    "saving.py": "def keep(engine, out):\n    engine.save_checkpoint(out)\n",
    "middle.py": "from saving import keep\n\n\ndef save(engine, out):\n    keep(engine, out)\n",
    "train.py": """\
import deepspeed
import torch.distributed as dist
from middle import save


def train(engine: deepspeed.DeepSpeedEngine, out):
    if dist.get_rank() == 0:
        save(engine, out)
""",
    "half.py": """\
import torch.distributed as dist


def wait():
    if dist.get_rank() != 0:
        dist.barrier()
""",
    "balanced.py": """\
import torch.distributed as dist
from half import wait


def main():
    wait()
    if dist.get_rank() == 0:
        dist.barrier()
""",
    "unrelated.py": "def train(engine):\n    return engine\n",
}


def request(files: Mapping[str, str], *asked: str) -> Request:
    sources = [Source(ROOT / name, name, text.encode()) for name, text in files.items()]
    return Request(sources, asked, ROOT, facts(), frozenset(catalogue.rules()))


@pytest.mark.parametrize(
    ("asked", "near", "within"),
    [
        ("train.py", {"train.py", "middle.py", "saving.py"}, {"train.py"}),
        (
            "saving.py",
            {"train.py", "middle.py", "saving.py"},
            {"train.py", "middle.py", "saving.py"},
        ),
        ("half.py", {"half.py", "balanced.py"}, {"half.py", "balanced.py"}),
        ("unrelated.py", {"unrelated.py"}, {"unrelated.py"}),
    ],
)
def test_what_a_file_needs_is_looked_at(asked: str, near: set[str], within: set[str]) -> None:
    part = narrowed(request(PROJECT, asked), frozenset())
    assert {source.display for source in part.sources} == near
    assert part.within == within


def test_the_findings_are_those_of_a_whole_run() -> None:
    shown = frozenset({"deepspeed"})
    whole = analyse(replace(request(PROJECT, *PROJECT), backends=shown))
    assert [finding.span.path for finding in whole] == ["train.py"]
    for name in PROJECT:
        part = analyse(narrowed(request(PROJECT, name), shown))
        assert part == tuple(finding for finding in whole if finding.span.path == name)
