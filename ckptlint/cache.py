"""Outcomes of whole projects, kept on disk for the run in which nothing has changed.

An outcome is stored under everything that it depends on besides the files: this program's own
files, the settings, what was asked. It holds as long as every file of the project has the size and
the times that it had. What is on disk is JSON, replaced as a whole; what cannot be read, or was
damaged, counts as not there. What is kept of the single files is in the package ``kept``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from ckptlint import atomic
from ckptlint.evidence import inputs
from ckptlint.finding import Finding
from ckptlint.plain import finding_from

FOLDER = ".ckptlint_cache"
# A file that changed so shortly before the run may change again without another time to show it.
SETTLED = 2_000_000_000  # nanoseconds
_KEPT = 32  # outcomes of one project: of different settings, and of different files asked for
_KEPT_STORES = 4  # files with what is kept of the project's files, for different settings


@dataclass(frozen=True)
class Outcome:
    """What a run finds in one project, and the names of the files that could not be analysed."""

    findings: tuple[Finding, ...]
    failed: frozenset[str]


@dataclass(frozen=True)
class Stamp:
    """The sizes and times of files as one digest, and whether they can be relied on."""

    digest: str
    settled: bool


class Cache:
    """The outcomes of one project, in a folder of its root."""

    def __init__(self, root: Path, *parts: object) -> None:
        self._folder = root / FOLDER
        self._root = root
        self._path = self._folder / f"{_digest([_program(), sys.version, *parts])}.json"

    def stamp(self, files: Iterable[Path]) -> Stamp:
        """Look at the times of some files and of those that the evidence is taken from."""
        newest = 0
        marks: list[object] = []
        for path in (*files, *inputs(self._root)):
            try:
                status = os.stat(path)
            except OSError as error:
                marks.append((str(path), error.errno))
                continue
            newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
            marks.append((str(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        return Stamp(_digest(marks), newest + SETTLED < time.time_ns())

    def by_stamp(self, stamp: Stamp) -> Outcome | None:
        """Return the outcome of files that have the times that they had."""
        return self._outcome(stamp.digest) if stamp.settled else None

    def store(self, stamp: Stamp, outcome: Outcome) -> None:
        """Keep an outcome, and only the newest ones beside it."""
        document = {
            "stamp": stamp.digest if stamp.settled else "",
            "findings": [asdict(finding) for finding in outcome.findings],
            "failed": sorted(outcome.failed),
        }
        try:
            self._make_folder()
            atomic.replace(str(self._path), json.dumps(document).encode())
            for ending, number in (("json", _KEPT), ("db", _KEPT_STORES)):
                for path in sorted(self._folder.glob(f"*.{ending}"), key=_age)[:-number]:
                    path.unlink(missing_ok=True)
        except OSError:
            return  # a folder that nobody may write to has no cache

    def path(self, parts: Sequence[object]) -> Path:
        """Return the file for what is kept of the project's files, given what results depend on."""
        with suppress(OSError):
            self._make_folder()
        return self._folder / f"{_digest([_program(), sys.version, *parts])}.db"

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir()
            (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")

    def _outcome(self, digest: str) -> Outcome | None:
        try:
            document = json.loads(self._path.read_bytes())
            if document["stamp"] != digest:
                return None
            findings = tuple(finding_from(each) for each in document["findings"])
            return Outcome(findings, frozenset(document["failed"]))
        except (OSError, ValueError, LookupError, TypeError):
            return None


@cache
def _program() -> Sequence[object]:
    """Tell this very program from any other: the times of its own files."""
    import ckptlint_rules

    found: list[object] = []
    for package in (__file__, ckptlint_rules.__file__):
        for folder, _, names in os.walk(os.path.dirname(package)):
            for name in sorted(names):
                if name.endswith((".py", ".toml")):
                    status = os.stat(os.path.join(folder, name))
                    found.append((folder, name, status.st_size, status.st_mtime_ns))
    return found


def _digest(parts: Sequence[object]) -> str:
    text = repr([_plain(part) for part in parts])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _plain(value: object) -> object:
    """Return what is equal for equal values in every run: sets have an order of their own each."""
    if isinstance(value, Enum | str | int | float | None):
        return repr(value)
    if is_dataclass(value):
        return [(each.name, _plain(getattr(value, each.name))) for each in fields(value)]
    if isinstance(value, Mapping):
        return sorted((repr(_plain(key)), _plain(each)) for key, each in value.items())
    if isinstance(value, AbstractSet):
        return sorted(repr(_plain(each)) for each in value)
    if isinstance(value, Sequence):
        return [_plain(each) for each in value]
    return repr(value)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
