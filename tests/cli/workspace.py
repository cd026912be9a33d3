"""A project folder to work in, and the command line called in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from ckptlint.cli import cli

# A save that every rank must reach, under a rank test: CKP101 at line 6, column 9.
BAD = """\
import deepspeed
import torch.distributed as dist

def train(engine: deepspeed.DeepSpeedEngine, out):
    if dist.get_rank() == 0:
        engine.save_checkpoint(out)
"""
GOOD = BAD.replace("    if dist.get_rank() == 0:\n        engine", "    engine")


@dataclass(frozen=True)
class Workspace:
    """A project folder that is the current folder."""

    root: Path

    def write(self, **files: str | bytes) -> None:
        """Write files; ``__`` in a keyword stands for ``/``, and ``.py`` is added."""
        for name, content in files.items():
            self.put(name.replace("__", "/") + ".py", content)

    def put(self, name: str, content: str | bytes) -> Path:
        """Write one file, with the folders above it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        """Call the command line; an exception of our own fails the test."""
        result = CliRunner().invoke(cli, arguments, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def check(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        """Call ``ckptlint check`` with one line for each finding."""
        return self.run("check", "--output-format", "concise", *arguments, stdin=stdin)


def places(result: Result) -> list[str]:
    """Give the places and codes of a concise report: ``train.py:6:9 CKP101``."""
    found = re.finditer(r"^(\S[^\n]*?:\d+:\d+): (CKP\d+)", result.stdout, re.MULTILINE)
    return [f"{match[1]} {match[2]}" for match in found]
