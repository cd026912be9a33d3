"""The words of all files: which files can matter, without parsing one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from ckptlint.source import Source

# For so few words a search in the text is quicker than a set of all its words.
_FEW = 6
_BASES = re.compile(rb"^[ \t]*class[ \t]+\w+[^\S\n]*\(([^)]*)\)", re.M)
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")


class Lexicon:
    """Finds the files of a project by the words in them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)

    def mentioning(self, names: Collection[str]) -> Iterator[Source]:
        """Yield the files in which one of some identifiers stands, or may stand."""
        wanted = {prefix + name.encode() for name in names for prefix in (b"", b"def ")}
        lines = [b"\n%b\n" % word for word in wanted]
        few = len(wanted) <= _FEW
        for source in self.sources:
            words = source.words
            if (
                source.opaque
                or (few and any(line in words for line in lines))
                or (not few and not wanted.isdisjoint(words.split(b"\n")))
            ):
                yield source

    def inheriting(self, name: str) -> Sequence[Source]:
        """Return the files in which a class names one of this name among its bases."""
        return self._heirs.get(name.encode(), ())

    @cached_property
    def _heirs(self) -> Mapping[bytes, list[Source]]:
        found: dict[bytes, dict[Source, None]] = defaultdict(dict)
        for source in self.sources:
            for bases in _BASES.findall(source.code):
                for word in _WORD.findall(bases):
                    found[word][source] = None
        return {word: list(sources) for word, sources in found.items()}

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
