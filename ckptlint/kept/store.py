"""What is kept of one project: opened at the beginning of a run, written at its end."""

from __future__ import annotations

import json
import sqlite3
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckptlint.analysis.outlines import OUTSIDE, TORN, outline, outside
from ckptlint.kept.answers import KeptMemo
from ckptlint.kept.database import DamagedError, Database, Names, stored
from ckptlint.kept.files import Changes, Reader, digest
from ckptlint.kept.index import KeptIndex
from ckptlint.lexicon import KINDS, BuiltIndex, imports
from ckptlint.project import Project
from ckptlint.source import Source

_FILE = f"insert or replace into file values ({', '.join('?' * 11)})"


class Store:
    """What is kept of one project. ``path`` is the file; ``paths`` are the project's files, which
    ``reader`` reads.

    ``changes`` tells how they differ from what is kept; where that is too much, or nothing is kept,
    ``index`` is made anew and no answer holds. ``memory`` is anything else to be kept, by name;
    ``outlines`` are those of the files of which somebody asked for one.
    """

    def __init__(self, path: Path, paths: Iterable[Path], cwd: Path, reader: Reader) -> None:
        self._cwd = cwd
        self._database = _opened(path)
        self.changes = Changes.found(self._database.rows(), paths, cwd, reader)
        self.memory: dict[str, Any] = {}
        self.outlines: dict[str, Mapping[str, str]] = {}
        self.anew = not self.changes.few
        self._memo: KeptMemo | None = None
        self._names: dict[str, Names] = {}
        self.index: KeptIndex | BuiltIndex
        if self.anew:
            self.index = BuiltIndex(self.changes.sources.values())
        else:
            for name, source in self.changes.other.items():
                self._names[name] = {kind: names(source) for kind, names in KINDS.items()}
            self.index = KeptIndex(self._database, self.changes, self._names)

    def memo(self, project: Project) -> KeptMemo:
        """Return the answers that are kept of the project of these files."""
        kept = None if self.anew else self._database
        self._memo = KeptMemo(kept, project.questions, () if self.anew else self._changed(project))
        return self._memo

    def remembered(self, name: str) -> Any:
        """Return what is kept under a name, or None."""
        return None if self.anew else self._database.state(name)

    def _changed(self, project: Project) -> Iterator[str]:
        """Yield the questions that have another answer than they had."""
        for name in self.changes.gone.keys() | self.changes.other.keys():
            yield f"file:{name}"
            row, source = self.changes.gone.get(name), self.changes.other.get(name)
            for kind, names in self._differences(name).items():
                yield from (f"{kind}:{each.decode('utf-8', 'replace')}" for each in names)
            if row is None or source is None:
                yield f"module:{project.dotted(str(self._cwd / name))}"
                yield f"imports:{name}"
                yield "files:all"
            elif row.imports != _plain(source):
                yield f"imports:{name}"
            before = self._database.outline(name)
            if before:
                module = project.parsed(source) if source is not None else None
                now = outside(module) if module is not None else TORN[OUTSIDE]
                if before[OUTSIDE] != now:
                    yield f"outline:{name}"

    def changed_inside(self, project: Project, telling: Collection[str]) -> Iterator[str]:
        """Yield the questions about functions that have another answer than they had, where these
        words lead somewhere by themselves."""
        if self.anew:
            return
        for name in self.changes.gone.keys() | self.changes.other.keys():
            before, source = self._database.outline(name), self.changes.other.get(name)
            if not before:
                continue
            module = project.parsed(source) if source is not None else None
            now = outline(module, telling) if module is not None else TORN
            self.outlines[name] = now
            for each in (before.keys() | now.keys()) - {OUTSIDE}:
                old, new = (parts.get(each, " ").split(" ") for parts in (before, now))
                for kind, one, two in zip(("text", "said"), old, new, strict=True):
                    if one != two:
                        yield f"{kind}:{name}:{each}"

    def every_question(self, name: str) -> Iterator[str]:
        """Yield the questions about a file and its parts."""
        yield f"file:{name}"
        for each in self._database.outline(name):
            if each == OUTSIDE:
                yield f"outline:{name}"
            else:
                yield from (f"text:{name}:{each}", f"said:{name}:{each}")

    def _differences(self, name: str) -> Names:
        """Return the names that a file holds now and did not, or held and does not now."""
        row = self.changes.gone.get(name)
        before = self._database.names(row) if row is not None else {}
        after = self._names.get(name, {})
        none = frozenset[bytes]()
        return {kind: before.get(kind, none) ^ after.get(kind, none) for kind in KINDS}

    def save(self) -> None:
        """Write what this run found out, where that is possible."""
        if self._memo is not None:
            self._database.write(self._write_all if self.anew else self._write_changes)
        self._database.close()

    def _write_all(self, connection: sqlite3.Connection) -> None:
        assert isinstance(self.index, BuiltIndex)
        for table in ("file", "posting", "answer", "state"):
            connection.execute(f"delete from {table}")
        sources = self.changes.sources
        places = {source: place for place, source in enumerate(sources.values(), 1)}
        held: dict[Source, dict[str, list[bytes]]] = defaultdict(lambda: defaultdict(list))
        for kind in KINDS:
            names = self.index.names(kind)
            connection.executemany(
                "insert into posting values (?, ?, ?)",
                (
                    (kind, name, array("I", [places[source] for source in names[name]]).tobytes())
                    for name in sorted(names)
                ),
            )
            for name, those in names.items():
                for source in those:
                    held[source][kind].append(name)
        connection.executemany(
            _FILE,
            (
                self._row(place, source, {kind: held[source][kind] for kind in KINDS})
                for source, place in places.items()
            ),
        )
        self._write_answers(connection)

    def _write_changes(self, connection: sqlite3.Connection) -> None:
        changes = self.changes
        [(last,)] = connection.execute("select coalesce(max(id), 0) from file")
        for name in sorted(changes.gone.keys() | changes.other.keys()):
            row, source = changes.gone.get(name), changes.other.get(name)
            if row is None:
                last += 1
            place = row.id if row is not None else last
            for kind, names in self._differences(name).items():
                for each in names:
                    _turn(connection, kind, each, place)
            if source is None:
                connection.execute("delete from file where id = ?", (place,))
            else:
                connection.execute(_FILE, self._row(place, source, self._names[name]))
        connection.executemany(
            "update file set stamp = ? where id = ?",
            (
                (changes.stamps[name], row.id)
                for name, (_, row) in changes.same.items()
                if changes.stamps[name] != row.stamp
            ),
        )
        connection.executemany(
            "update file set outline = ? where name = ?",
            (
                (json.dumps(outline), stored(name))
                for name, outline in self.outlines.items()
                if name in changes.same
            ),
        )
        self._write_answers(connection)

    def _write_answers(self, connection: sqlite3.Connection) -> None:
        assert self._memo is not None
        lost = [(stored(key),) for key in self._memo.lost()]
        connection.executemany("delete from answer where key = ?", lost)
        connection.executemany(
            "insert or replace into answer values (?, ?, ?)",
            ((stored(key), *answer) for key, answer in self._memo.kept.items()),
        )
        for name, value in self.memory.items():
            self._database.keep(name, value)

    def _row(
        self, place: int, source: Source, names: Mapping[str, Iterable[bytes]]
    ) -> tuple[object, ...]:
        name = source.display
        blobs = (zlib.compress(b"\0".join(sorted(names[kind])), 1) for kind in KINDS)
        return (
            place,
            stored(name),
            self.changes.stamps[name],
            digest(source),
            _plain(source),
            source.opaque,
            source.suppresses,
            *blobs,
            json.dumps(self.outlines.get(name, {})),
        )


def _opened(path: Path) -> Database:
    try:
        return Database(path)
    except DamagedError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return Database(path)


def _plain(source: Source) -> str:
    return json.dumps(imports(source))


def _turn(connection: sqlite3.Connection, kind: str, name: bytes, place: int) -> None:
    """Put a file among those that hold a name, or take it from them."""
    query = "select files from posting where kind = ? and name = ?"
    found = connection.execute(query, (kind, name)).fetchone()
    places = set(array("I", found[0] if found is not None else b"")) ^ {place}
    blob = array("I", sorted(places)).tobytes()
    connection.execute("insert or replace into posting values (?, ?, ?)", (kind, name, blob))
