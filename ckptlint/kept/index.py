"""The index from names to files, as it was kept, with the files that have changed taken anew."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from functools import cached_property

from ckptlint.kept.database import Database, Names, loaded
from ckptlint.kept.files import Changes
from ckptlint.lexicon import Target, imports
from ckptlint.source import Source


class KeptIndex:
    """The index on disk, with the files that have changed since taken anew."""

    def __init__(self, database: Database, changes: Changes, names: Mapping[str, Names]) -> None:
        self._database = database
        self._same = {row.id: source for source, row in changes.same.values()}
        self._rows = dict(changes.same.values())
        self._other = [(source, names[name]) for name, source in changes.other.items()]
        self._known: dict[tuple[str, bytes], Collection[Source]] = {}

    def files(self, kind: str, name: bytes) -> Collection[Source]:
        """Return the files that hold a name."""
        key = (kind, name)
        if key not in self._known:
            query = "select files from posting where kind = ? and name = ?"
            row = self._database.one(query, kind, name)
            places = array("I", row[0] if row is not None else b"")
            found = [self._same[place] for place in places if place in self._same]
            found += (source for source, names in self._other if name in names[kind])
            self._known[key] = found
        return self._known[key]

    def opaque(self) -> Collection[Source]:
        """Return the files whose words do not tell what is in them."""
        return self._opaque

    @cached_property
    def _opaque(self) -> Collection[Source]:
        every = (*self._rows, *(source for source, _ in self._other))
        return [source for source in every if source.opaque]

    def imports(self, source: Source) -> tuple[Target, ...]:
        """Return the modules that the import statements of a file may name."""
        row = self._rows.get(source)
        if row is None:
            return imports(source)
        return tuple((name, level) for name, level in loaded(row.imports))
