"""Check the corpus, and show how the findings differ from those that were read and marked.

``python corpus/compare.py FOLDER [NAME...]`` runs ckptlint over the unpacked packages of ``FOLDER``
(all of them, or those named), and compares what it shows with ``corpus/findings.toml``, in which
each finding has a mark (``right``, ``wrong`` or ``arguable``) and one line of reason. The packages
are pinned, so a finding is known by its place and its code. ``+`` is a finding that nobody has
read, ``-`` one that is gone, ``~`` one that is worded differently now. In the packages of
``harmless.toml``, which train nothing, there is to be none. ``--update`` writes the file anew:
marks are kept, what is new is marked ``unread``. The exit status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fetch import Package, listed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
FINDINGS = HERE / "findings.toml"
LISTS = (HERE / "packages.toml", HERE / "harmless.toml")
# Who reaches which collective and what ranks do to files, by default.
_CODES = (*range(101, 110), *range(201, 205), *range(301, 305))
RULES = ",".join(f"CKP{number}" for number in _CODES)
MARKS = ("right", "arguable", "wrong", "unread")


@dataclass(frozen=True, order=True)
class Marked:
    """A finding of the corpus, and what a reader of the source thinks of it."""

    package: str
    path: str
    line: int
    code: str
    message: str
    mark: str = "unread"
    reason: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What a finding is known by."""
        return (self.package, self.path, self.line, self.code)

    def __str__(self) -> str:
        return f"{self.package}/{self.path}:{self.line}: {self.code} {self.message}"


def marked() -> list[Marked]:
    """Read the findings that were marked."""
    table = tomllib.loads(FINDINGS.read_text(encoding="utf-8"))
    return [Marked(**entry) for entry in table.get("finding", ())]


def found(package: Package, folder: Path) -> list[Marked]:
    """Check one package as its user would, in its folder and without settings."""
    command = [sys.executable, "-m", "ckptlint", "check", ".", "--isolated", "--select", RULES]
    done = subprocess.run(
        [*command, "--output-format", "json"],
        cwd=folder / package.folder,
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1, 2) or not done.stdout:
        raise SystemExit(f"{package.folder}: {done.stderr.strip()}")
    return [
        Marked(package.folder, each["path"], each["line"], each["code"], each["message"])
        for each in json.loads(done.stdout)["findings"]
    ]


def write(findings: Iterable[Marked]) -> None:
    """Write the file of marked findings."""
    lines = ["# The default findings of the corpus, each read and marked. See docs/precision.md."]
    for each in sorted(findings):
        lines.append("\n[[finding]]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in vars(each).items()]
    FINDINGS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the corpus with the marked findings.")
    parser.add_argument("folder", type=Path, help="where the packages are unpacked")
    parser.add_argument("names", nargs="*", help="packages to check; all of them if none is named")
    parser.add_argument("--update", action="store_true", help="write the findings file anew")
    arguments = parser.parse_args()
    packages = [package for path in LISTS for package in listed(path)]
    unknown = set(arguments.names) - {package.name for package in packages}
    if unknown:
        parser.error(f"not in the lists: {', '.join(sorted(unknown))}")
    known = {each.key: each for each in marked()}
    kept: dict[tuple[object, ...], Marked] = {}
    differences = 0
    for package in packages:
        before = {key: each for key, each in known.items() if each.package == package.folder}
        if arguments.names and package.name not in arguments.names:
            kept |= before
            continue
        now = {each.key: each for each in found(package, arguments.folder)}
        signs = [("+", now[key]) for key in now.keys() - before.keys()]
        signs += [("-", before[key]) for key in before.keys() - now.keys()]
        signs += [
            ("~", now[key])
            for key in now.keys() & before.keys()
            if now[key].message != before[key].message
        ]
        for sign, each in sorted(signs, key=lambda pair: pair[1]):
            print(sign, each, flush=True)
        differences += len(signs)
        for key, each in now.items():
            old = before.get(key, each)
            kept[key] = replace(each, mark=old.mark, reason=old.reason)
    if arguments.update:
        write(kept.values())
    marks = Counter(each.mark for each in kept.values())
    print(", ".join(f"{marks[mark]} {mark}" for mark in MARKS), f"of {len(kept)} findings")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
