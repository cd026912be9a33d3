"""The file on disk."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckptlint.lexicon import KINDS

_PATIENCE = 2.0  # seconds to wait for another run that writes
_TABLES = """
create table file (id integer primary key, name blob unique, stamp text, digest blob, imports text,
    opaque integer, suppresses integer, word blob, def blob, base blob, outline text);
create table posting (kind text, name blob, files blob, primary key (kind, name)) without rowid;
create table answer (key blob primary key, value text, questions blob) without rowid;
create table state (name text primary key, value text) without rowid;
"""
Names = Mapping[str, frozenset[bytes]]  # by their kinds


def stored(name: str) -> bytes:
    """Return a name as it is stored: that of a file need not be text."""
    return name.encode("utf-8", "surrogatepass")


def text(name: bytes) -> str:
    """Return a name that was stored."""
    return name.decode("utf-8", "surrogatepass")


class DamagedError(Exception):
    """What is kept cannot be read."""


def loaded(document: str) -> Any:
    """Return what a JSON document holds. Raises DamagedError."""
    try:
        return json.loads(document)
    except ValueError as error:
        raise DamagedError from error


@dataclass(frozen=True)
class Row:
    """What is kept of one file."""

    id: int
    stamp: str
    digest: bytes
    imports: str
    opaque: bool
    suppresses: bool


class Database:
    """The file on disk. Raises DamagedError where it cannot be read.

    A run sees it as it was at its beginning: it reads in one transaction.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections: dict[int, sqlite3.Connection] = {}
        if not self.all("select name from sqlite_master"):
            with suppress(sqlite3.Error):
                self._connection.execute("rollback")
                self._connection.executescript(f"begin immediate; {_TABLES} commit;")
                self._connection.execute("begin")
        self.generation = self.state("generation")

    @property
    def _connection(self) -> sqlite3.Connection:
        """The connection of this process: a copy of it (``fork``) must have one of its own."""
        known = self._connections.get(os.getpid())
        if known is None:
            known = sqlite3.connect(
                self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            known.execute("begin")
            self._connections[os.getpid()] = known
        return known

    def all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise DamagedError from error

    def one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        """Return the first row of a query."""
        return next(iter(self.all(query, *values)), None)

    def state(self, name: str) -> Any:
        """Return what is kept under a name, or None."""
        row = self.one("select value from state where name = ?", name)
        return None if row is None else loaded(row[0])

    def rows(self) -> dict[str, Row]:
        """Return what is kept of the files, by their names."""
        query = "select name, id, stamp, digest, imports, opaque, suppresses from file"
        return {
            text(name): Row(place, stamp, digest, imports, bool(opaque), bool(suppresses))
            for name, place, stamp, digest, imports, opaque, suppresses in self.all(query)
        }

    def names(self, row: Row) -> Names:
        """Return the names that a file held."""
        found = self.one("select word, def, base from file where id = ?", row.id)
        blobs = zip(KINDS, found or (), strict=False)
        try:
            return {kind: frozenset(zlib.decompress(blob).split(b"\0")) for kind, blob in blobs}
        except zlib.error as error:
            raise DamagedError from error

    def outline(self, name: str) -> Mapping[str, str]:
        """Return the outline that a file had, empty where nobody asked for it."""
        found = self.one("select outline from file where name = ?", stored(name))
        outline: Mapping[str, str] = loaded(found[0]) if found is not None else {}
        return outline

    def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Change the file all at once; leave it where another run has changed it meanwhile, or
        nobody may write to it."""
        with suppress(sqlite3.Error, DamagedError):
            self._connection.execute("rollback")
            self._connection.execute("begin immediate")
            if self.state("generation") == self.generation:
                change(self._connection)
                self.keep("generation", (self.generation or 0) + 1)
                self._connection.execute("commit")

    def keep(self, name: str, value: Any) -> None:
        """Keep something under a name."""
        query = "insert or replace into state values (?, ?)"
        self._connection.execute(query, (name, json.dumps(value)))

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._connection.close()
