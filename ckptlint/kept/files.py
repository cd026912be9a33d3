"""The files of a project, and how they differ from what is kept of them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from ckptlint.cache import SETTLED
from ckptlint.finding import Edit
from ckptlint.kept.database import Row
from ckptlint.project import display_path
from ckptlint.source import Source, SourceError

_FEW = 50  # changed files, besides a third of all: with more of them everything is found out anew
Reader = Callable[[Path, Path], Source]


class KeptSource(Source):
    """A file that has not changed since it was read: it is read again when its text is needed."""

    def __init__(self, path: Path, display: str, row: Row, read: Callable[[], Source]) -> None:
        vars(self).update(path=path, display=display, _row=row, _read=read)

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file. Raises SourceError when it can no longer be read."""
        read: Callable[[], Source] = vars(self)["_read"]
        return read().data

    @property
    def opaque(self) -> bool:
        """Whether the words of the file do not tell what is in it."""
        row: Row = vars(self)["_row"]
        return row.opaque

    @property
    def suppresses(self) -> bool:
        """Whether a comment in the file may silence a finding."""
        row: Row = vars(self)["_row"]
        return row.suppresses

    def edited(self, edits: Sequence[Edit]) -> Source:
        """Return the source with edits spliced in."""
        return Source(self.path, self.display, self.data).edited(edits)


@dataclass
class Changes:
    """How the files of a project differ from what is kept of them.

    ``same`` are those with the contents that they had, by name, ``other`` those that are new or
    have other contents; ``gone`` are those that are no more. ``stamps`` are by name, "" where one
    cannot be relied on. ``failures`` are files that cannot be read.
    """

    same: dict[str, tuple[Source, Row]] = field(default_factory=dict)
    other: dict[str, Source] = field(default_factory=dict)
    gone: dict[str, Row] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    failures: dict[str, SourceError] = field(default_factory=dict)

    @classmethod
    def found(
        cls, rows: Mapping[str, Row], paths: Iterable[Path], cwd: Path, reader: Reader
    ) -> Changes:
        """Look at the files; only those are read whose times and sizes are other ones now."""
        changes = cls(gone=dict(rows))
        settled = time.time_ns() - SETTLED
        for path in paths:
            name = display_path(path, cwd)
            row = changes.gone.pop(name, None)
            stamp = changes.stamps[name] = _stamp(path, settled)
            plain = path.suffix == ".py"  # of a notebook more is needed than its bytes
            if row is not None and stamp and row.stamp == stamp and plain:
                read = partial(reader, path, cwd)
                changes.same[name] = (KeptSource(path, name, row, read), row)
                continue
            try:
                source = reader(path, cwd)
            except SourceError as error:
                changes.failures[name] = error
                if row is not None:
                    changes.gone[name] = row
                continue
            if row is not None and row.digest == digest(source):
                changes.same[name] = (source, row)
            else:
                changes.other[name] = source
                if row is not None:
                    changes.gone[name] = row
        return changes

    @property
    def sources(self) -> dict[str, Source]:
        """All files that can be read, by name."""
        return {**{name: source for name, (source, _) in self.same.items()}, **self.other}

    @property
    def few(self) -> bool:
        """Whether it is worth while to go on from what is kept."""
        different = len(self.other.keys() | self.gone.keys())
        opaque = any(source.opaque for source in self.other.values())
        opaque = opaque or any(row.opaque for row in self.gone.values())
        return bool(self.same) and not opaque and different <= max(_FEW, len(self.same) // 3)


def digest(source: Source) -> bytes:
    """Return what is equal for equal contents."""
    return hashlib.blake2b(source.data, digest_size=16).digest()


def _stamp(path: Path, settled: int) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    if max(status.st_mtime_ns, status.st_ctime_ns) > settled:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
