"""Two verbs for tests of fixes: a program is fixed, or its fix is refused."""

from __future__ import annotations

from pathlib import Path

import ckptlint_rules
from ckptlint.engine import Request, analyse
from ckptlint.finding import Applicability, Confidence, Finding
from ckptlint.source import Source

FACTS = ckptlint_rules.facts()
PATH = Path(__file__).parent / "sample.py"
HEAD = """\
import os

import torch
import torch.distributed as dist
from accelerate import Accelerator
from deepspeed import DeepSpeedEngine
from lightning.pytorch import Callback, LightningModule
from lightning.pytorch.utilities import rank_zero_only
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

"""
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def analysed(source: Source, doubted: bool = False, runtime: bool = False) -> list[Finding]:
    """Return the findings that are shown by default, or with ``doubted`` all of them."""
    request = Request(
        sources=(source,),
        asked=frozenset({source.display}),
        root=PATH.parent,
        facts=FACTS,
        codes=tuple(ckptlint_rules.RULES),
        fixes=True,
        runtime=runtime,
    )
    return [f for f in analyse(request) if doubted or f.confidence is not Confidence.POSSIBLE]


def source_of(text: str | bytes) -> Source:
    data = text if isinstance(text, bytes) else (HEAD + text).encode()
    return Source(PATH, PATH.name, data)


def assert_refused(before: str) -> None:
    findings = analysed(source_of(before))
    assert findings, "nothing is found, so that refusing the fix says nothing"
    assert [finding.fix for finding in findings] == [None] * len(findings)


def assert_fixed(
    before: str | bytes,
    after: str | bytes,
    level: Applicability = SAFE,
    says: str = "",
    runtime: bool = False,
) -> None:
    source = source_of(before)
    [finding] = analysed(source, runtime=runtime)
    assert finding.fix is not None
    fixed = source.edited(finding.fix.edits)
    assert fixed.data.decode() == source_of(after).data.decode()
    assert finding.fix.applicability is level
    assert says in finding.fix.message
    assert analysed(fixed) == []
