"""The training scripts that ship with the project: each shows its faults, a right one none."""

from __future__ import annotations

from pathlib import Path

from cases import analysed
from ckptlint.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "accelerate_finetune.py": ["CKP101", "CKP102"],
    "barrier_after_return.py": ["CKP104"],
    "correct.py": [],
    "deepspeed_pretrain.py": ["CKP101"],
    "fsdp_two_files/saving.py": [],
    "fsdp_two_files/train.py": ["CKP102"],
    "lightning_classifier.py": ["CKP105"],
}


def test_each_example_shows_its_faults_and_no_other() -> None:
    sources = {
        name: Source(path, name, path.read_bytes())
        for path in sorted(EXAMPLES.rglob("*.py"))
        if (name := path.relative_to(EXAMPLES).as_posix())
    }
    found = analysed(EXAMPLES, sources)
    assert {
        name: [finding.code for finding in found if finding.span.path == name] for name in sources
    } == EXPECTED
