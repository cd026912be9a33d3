"""ckpt-chaos kills the examples at file-system events of their saves, and resumes them.

It judges from outside: each run that was killed must resume from the newest complete checkpoint,
and end with the values of a run that nobody killed. ``make chaos`` installs it and runs these.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ckptlint_runtime

SHIM = Path(ckptlint_runtime.__file__).parents[1]
#: Points at which a run dies; each costs two starts of Python with torch per rank.
POINTS = os.environ.get("CKPTLINT_CHAOS_POINTS", "400")
RESULT = """
import sys
from ckptlint_runtime import load_checkpoint
print(load_checkpoint(sys.argv[1]).values)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "ranks", "victim", "arguments", "last"),
    [
        ("ddp", 1, 0, ["--epochs", "3"], "epoch_2"),
        ("ddp", 2, 0, ["--epochs", "2", "--keep-last", "9"], "epoch_1"),
        ("fsdp2", 2, 0, ["--steps", "2", "--keep-last", "9"], "step_1"),
        ("fsdp2", 2, 1, ["--steps", "2", "--keep-last", "9"], "step_1"),
    ],
)
@pytest.mark.parametrize("mode", ["before", "term"])
def test_every_kill_is_survived(
    tmp_path: Path,
    script: str,
    ranks: int,
    victim: int,
    arguments: list[str],
    last: str,
    mode: str,
) -> None:
    pytest.importorskip("ckpt_chaos", reason="ckpt-chaos is not installed: make chaos does that")
    (tmp_path / "result.py").write_text(RESULT)
    result = f"{sys.executable} -W ignore {tmp_path / 'result.py'} {{out}}/{last}"
    verdicts = ["HARD_FAIL", "SILENT_DIVERGENCE", "CONTROL_FAIL"]
    command = [sys.executable, "-m", "ckpt_chaos", "run", "--work", str(tmp_path / "runs")]
    command += ["--modes", mode, "--max-points", POINTS, "--result-cmd", result]
    command += ["--ranks", str(ranks), "--crash-rank", str(victim)]
    command += ["--step-regex", r"resumed from step (\d+)"]
    if "--keep-last" in arguments:  # it cannot follow checkpoints that the program itself deletes
        # Sizes are those of the manifest, which differ by a digit between runs.
        command += ["--checkpoint-glob", "{out}/*_*", "--ckpt-ignore-size"]
        verdicts.append("LOST_WORK")
    command += ["--fail-on", ",".join(verdicts)]
    command += ["--", sys.executable, str(SHIM / "examples" / f"{script}.py")]
    command += ["--root", "{out}", *arguments]
    single = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    path = os.pathsep.join(filter(None, [str(SHIM), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **single, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: " in done.stdout
