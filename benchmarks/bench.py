"""Times ckptlint beside other tools on a pinned tree of training code.

``python benchmarks/bench.py [--runs N] [--folder DIR] [--tree NAME]`` downloads the packages below
with pip (once), unpacks them and runs the tools in turn, so that whatever else the machine does
meets all of them alike. ckptlint is timed without a cache, with one when nothing has changed, and
when one file that tests the rank has another line at its end. It prints a Markdown table of
medians: seconds on the wall, their ratio to ruff, peak memory in MiB. ruff must be installed;
ast-grep is timed where its command is found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "transformers==5.24.0",
    "diffusers==0.42.1",
    "accelerate==1.15.0",
    "pytorch-lightning==2.6.6",
    "trl==1.16.0",
    "peft==0.21.2",
    "mosaicml==0.32.1",
    "speechbrain==1.1.2",
)
# The whole tree, and parts of it whose sizes are about a half and a quarter of one another.
SCALES = {
    "everything": (".",),
    "diffusers and speechbrain": ("diffusers", "speechbrain"),
    "speechbrain": ("speechbrain",),
    "accelerate and composer": ("accelerate", "composer"),
}


COLD, WARM, CHANGED = "ckptlint", "ckptlint, nothing changed", "ckptlint, one file changed"
_SETTLING = 2.1  # seconds after which the time of a file can be relied on


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds on the wall, and peak memory in MiB."""

    seconds: float
    memory: float


def unpacked(folder: Path) -> Path:
    """Return the tree of all packages, made on first use."""
    tree = folder / "tree"
    if not tree.exists():
        wheels = folder / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--quiet", "--dest", str(wheels), *PACKAGES], check=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            for wheel in sorted(wheels.glob("*.whl")):
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(scratch)
            shutil.copytree(scratch, tree)
    return tree


def measured(command: list[str], cwd: Path) -> Run:
    """Run a command to its end; exit status 1 says that something was found."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    start = os.times().elapsed
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = os.times().elapsed - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024)


def lines(tree: Path, parts: tuple[str, ...]) -> int:
    """Count the lines of all Python files."""
    files = (path for part in parts for path in (tree / part).rglob("*.py"))
    return sum(path.read_bytes().count(b"\n") for path in files)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(".bench"))
    parser.add_argument("--tree", choices=SCALES, help="one of the trees alone")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    tree = unpacked(options.folder.resolve())
    check = [sys.executable, "-m", "ckptlint", "check", "--isolated", "--exit-zero"]
    tools = {
        "ruff --select F": ["ruff", "check", "--select", "F", "--no-cache", "--isolated", "-q"],
        COLD: [*check, "--no-cache"],
        WARM: check,
        CHANGED: check,
    }
    if shutil.which("ast-grep"):
        tools["ast-grep"] = ["ast-grep", "run", "-l", "py", "-p", "$X.save_state($$$A)"]
    print("| tree | lines | tool | seconds | to ruff | MiB |")
    print("| --- | ---: | --- | ---: | ---: | ---: |")
    for name, parts in SCALES.items():
        if options.tree not in (None, name):
            continue
        with projects(tree, parts):
            runs = in_turns(tools, tree, parts, options.runs)
        count = lines(tree, parts)
        median = {
            tool: statistics.median(run.seconds for run in each) for tool, each in runs.items()
        }
        for tool, each in runs.items():
            ratio = median[tool] / median["ruff --select F"]
            memory = max(run.memory for run in each)
            row = (name, f"{count:,}", tool, f"{median[tool]:.2f}", f"{ratio:.1f}", f"{memory:.0f}")
            print(f"| {' | '.join(row)} |", flush=True)


def in_turns(
    tools: dict[str, list[str]], tree: Path, parts: tuple[str, ...], times: int
) -> dict[str, list[Run]]:
    """Run each tool some times, one after the other."""
    runs: dict[str, list[Run]] = {tool: [] for tool in tools}
    for _ in range(times):
        for tool, command in tools.items():
            if tool == WARM:
                measured([*command, *parts], tree)  # fills the cache
                time.sleep(_SETTLING)
                measured([*command, *parts], tree)  # with times that can be relied on
            with edited(tree, parts) if tool == CHANGED else nullcontext():
                runs[tool].append(measured([*command, *parts], tree))
    return runs


@contextmanager
def projects(tree: Path, parts: tuple[str, ...]) -> Iterator[None]:
    """Mark the parts as projects for a while: only those have a cache."""
    markers = [tree / part / "pyproject.toml" for part in parts]
    for marker in markers:
        marker.touch()
    try:
        yield
    finally:
        for marker in markers:
            marker.unlink()
            shutil.rmtree(marker.parent / ".ckptlint_cache", ignore_errors=True)


@contextmanager
def edited(tree: Path, parts: tuple[str, ...]) -> Iterator[None]:
    """Give one file that tests the rank another line at its end, for a while."""
    files = [path for part in parts for path in sorted((tree / part).rglob("*.py"))]
    tests = (b"is_main_process", b"get_rank")
    path = next(path for test in tests for path in files if test in path.read_bytes())
    before = path.read_bytes()
    path.write_bytes(before + b"\n_MARKED = 1\n")
    time.sleep(_SETTLING)
    try:
        yield
    finally:
        path.write_bytes(before)


if __name__ == "__main__":
    main()
