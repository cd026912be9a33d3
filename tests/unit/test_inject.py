"""What plants faults in correct code finds places for them, and sees that they are told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "corpus"
TRAINER = """\
import torch.distributed as dist


def save(model):
    print("saving")
    dist.barrier()
    print("saved")


def train(model):
    for step in range(10):
        model(step)
    save(model)
"""


def test_a_planted_fault_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CORPUS))
    monkeypatch.delitem(sys.modules, "inject", raising=False)
    import inject

    (tmp_path / "trainer.py").write_text(TRAINER, encoding="utf-8")
    package = inject.Package.read(tmp_path)
    places = list(inject.places(package))
    kinds = {(place.kind, place.line) for place in places}
    assert {("guard inside", 6), ("exit inside", 6), ("guard across", 13)} <= kinds
    for place in places:
        [finding] = inject.found(package, place, set())
        assert finding.code in ("CKP103", "CKP104")
