"""A fix is judged by what it changes, whatever faults the files around have."""

from __future__ import annotations

from pathlib import Path

from ckptlint import catalogue
from ckptlint.engine import Request, analyse
from ckptlint.source import Source
from ckptlint_rules import facts

ROOT = Path("/project")
PROJECT = {
    "train.py": """\
import torch.distributed as dist

from loading import load


def train(model):
    if dist.get_rank() == 0:
        dist.barrier()
    load(model)
""",
    "loading.py": """\
import torch.distributed as dist


def load(model):
    if dist.get_rank() != 0:
        return None
    flag = model.read()
    dist.broadcast(flag, 0)
    return flag
""",
}


def test_a_fault_in_a_called_file_refuses_no_fix() -> None:
    sources = [Source(ROOT / name, name, text.encode()) for name, text in PROJECT.items()]
    request = Request(sources, PROJECT, ROOT, facts(), frozenset(catalogue.rules()), fixes=True)

    found = {finding.span.path: finding for finding in analyse(request)}

    assert set(found) == {"loading.py", "train.py"}
    assert all(finding.fix is not None for finding in found.values())
