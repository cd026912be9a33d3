"""The words of all files: which files can matter, without parsing one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from ckptlint.source import Source


class Lexicon:
    """Finds the files of a project by the words in them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)

    def mentioning(self, names: Collection[str]) -> Iterator[Source]:
        """Yield the files in which one of some identifiers stands, or may stand."""
        wanted = {name.encode() for name in names}
        wanted |= {b"def " + name for name in wanted}
        for source in self.sources:
            if source.opaque or not wanted.isdisjoint(source.words.split(b"\n")):
                yield source

    def defining(self, name: str) -> Sequence[Source]:
        """Return the files in which a function or method of this name is defined."""
        return self._defined.get(name.encode(), ())

    @cached_property
    def _defined(self) -> Mapping[bytes, list[Source]]:
        found: dict[bytes, list[Source]] = defaultdict(list)
        for source in self.sources:
            for word in source.words.split(b"\n"):
                if word.startswith(b"def "):
                    found[word[4:]].append(source)
        return found
