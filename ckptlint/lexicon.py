"""The words of all files: which files can matter, without parsing one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ckptlint.source import Source, words

_DEFINITION = re.compile(rb"def ([A-Za-z_\x80-\xff][\w\x80-\xff]*)")
_BASES = re.compile(rb"^[ \t]*class[ \t]+\w+[^\S\n]*\(([^)]*)\)", re.M)


class Lexicon:
    """Finds the files of a project by the words in them.

    Words of comments and strings are among them. They are taken from the bytes, so that files that
    cannot matter are never parsed. A file whose bytes do not tell its words, as in UTF-16, may
    hold any. Whatever order the files were found in, they come in that of their names.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sorted(sources, key=lambda source: source.display))
        self._bases: dict[Source, frozenset[bytes]] = {}

    def mentioning(self, names: Iterable[str]) -> Iterator[Source]:
        """Yield the files in which one of some identifiers stands, or may stand, in order."""
        found = set(self._opaque)
        for name in names:
            found.update(self._files.get(name.encode(), ()))
        return (self.sources[index] for index in sorted(found))

    def count(self, name: str) -> int:
        """Count the files in which an identifier stands."""
        return len(self._files.get(name.encode(), ()))

    def inheriting(self, name: str) -> Sequence[Source]:
        """Return the files in which a class names one of this name among its bases."""
        word = name.encode()
        files = (self.sources[index] for index in self._files.get(word, ()))
        return [source for source in files if word in self._named_as_bases(source)]

    def _named_as_bases(self, source: Source) -> frozenset[bytes]:
        known = self._bases.get(source)
        if known is None:
            known = words(b" ".join(_BASES.findall(source.code)))
            self._bases[source] = known
        return known

    def defining(self, name: str) -> Sequence[Source]:
        """Return the files in which a function or method of this name is defined."""
        return self._defined.get(name.encode(), ())

    @cached_property
    def _opaque(self) -> Collection[int]:
        return [index for index, source in enumerate(self.sources) if source.opaque]

    @cached_property
    def _files(self) -> Mapping[bytes, list[int]]:
        """The places in ``sources`` of the files that hold each word."""
        found: dict[bytes, list[int]] = defaultdict(list)
        for index, source in enumerate(self.sources):
            for word in words(source.code):
                found[word].append(index)
        return found

    @cached_property
    def _defined(self) -> Mapping[bytes, list[Source]]:
        found: dict[bytes, list[Source]] = defaultdict(list)
        for source in self.sources:
            for word in set(_DEFINITION.findall(source.code)):
                found[word].append(source)
        return found
