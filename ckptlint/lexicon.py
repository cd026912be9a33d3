"""The words of all files: which files can matter, without parsing one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from ckptlint.questions import Questions
from ckptlint.source import Source, words

_DEFINITION = re.compile(rb"def ([A-Za-z_\x80-\xff][\w\x80-\xff]*)")
_BASES = re.compile(rb"^[ \t]*class[ \t]+\w+[^\S\n]*\(([^)]*)\)", re.M)
# A comment or string that looks like an import adds an edge too many, which does no harm.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]*(\.*)[ \t]*([\w.]*)[ \t]+import\b[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\r?\n)*)"
    rb"|import[ \t]+([^\n#;]+))",
    re.M,
)
_NAME = re.compile(r"[^\W\d]\w*")
Target = tuple[str, int]  # a dotted name and its level


def defined(source: Source) -> frozenset[bytes]:
    """Return the names of the functions and methods that a file defines."""
    return frozenset(_DEFINITION.findall(source.code))


def bases(source: Source) -> frozenset[bytes]:
    """Return the words in which the classes of a file name their bases."""
    return words(b" ".join(_BASES.findall(source.code)))


def imports(source: Source) -> tuple[Target, ...]:
    """Return the modules that the import statements of a file may name.

    What is imported by ``*`` is the name ``*`` of its module, and comes in the order of the file.
    """
    return tuple(_imports(source.code))


def _imports(data: bytes) -> Iterator[Target]:
    for dots, module, names, plain in _IMPORT.findall(data):
        if plain:
            for part in plain.decode("utf-8", "replace").split(","):
                yield part.split()[0] if part.strip() else "", 0
            continue
        base = module.decode("utf-8", "replace")
        yield base, len(dots)
        if names.lstrip(b"( \t").startswith(b"*"):
            yield f"{base}.*" if base else "*", len(dots)
        for name in _NAME.findall(names.decode("utf-8", "replace")):
            yield f"{base}.{name}" if base else name, len(dots)


KINDS: Mapping[str, Callable[[Source], frozenset[bytes]]] = {
    "word": lambda source: words(source.code),
    "def": defined,
    "base": bases,
}


class Index(Protocol):
    """Which files hold which names, of three kinds: words, definitions, and the words in which
    classes name their bases."""

    def files(self, kind: str, name: bytes) -> Collection[Source]:
        """Return the files that hold a name."""

    def opaque(self) -> Collection[Source]:
        """Return the files whose words do not tell what is in them."""

    def imports(self, source: Source) -> tuple[Target, ...]:
        """Return the modules that the import statements of a file may name."""


class BuiltIndex:
    """An index made of the files themselves, each part when it is asked for."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._names: dict[str, dict[bytes, list[Source]]] = {}
        self._imports: dict[Source, tuple[Target, ...]] = {}

    def files(self, kind: str, name: bytes) -> Collection[Source]:
        """Return the files that hold a name."""
        return self.names(kind).get(name, ())

    def names(self, kind: str) -> Mapping[bytes, Sequence[Source]]:
        """Return all names of a kind with the files that hold them."""
        known = self._names.get(kind)
        if known is None:
            known = self._names[kind] = defaultdict(list)
            names = KINDS[kind]
            for source in self._sources:
                for name in names(source):
                    known[name].append(source)
        return known

    def opaque(self) -> Collection[Source]:
        """Return the files whose words do not tell what is in them."""
        return self._opaque

    @cached_property
    def _opaque(self) -> Collection[Source]:
        return [source for source in self._sources if source.opaque]

    def imports(self, source: Source) -> tuple[Target, ...]:
        """Return the modules that the import statements of a file may name."""
        known = self._imports.get(source)
        if known is None:
            known = self._imports[source] = imports(source)
        return known


class Lexicon:
    """Finds the files of a project by the words in them.

    Words of comments and strings are among them. They are taken from the bytes, so that files that
    cannot matter are never parsed. A file whose bytes do not tell its words, as in UTF-16, may
    hold any. Whatever order the files were found in, they come in that of their names.
    """

    def __init__(
        self, sources: Iterable[Source], questions: Questions, index: Index | None = None
    ) -> None:
        self.sources = tuple(sorted(sources, key=lambda source: source.display))
        self._order = {source: place for place, source in enumerate(self.sources)}
        self._questions = questions
        self._index = index or BuiltIndex(self.sources)

    def mentioning(self, names: Iterable[str]) -> Iterator[Source]:
        """Return the files in which one of some identifiers stands, or may stand, in order."""
        found = set(self._index.opaque())
        for name in names:
            found.update(self._asked("word", name))
        return iter(self._sorted(found))

    def count(self, name: str) -> int:
        """Count the files in which an identifier stands."""
        return len(self._asked("word", name))

    def inheriting(self, name: str) -> Sequence[Source]:
        """Return the files in which a class names one of this name among its bases."""
        return self._sorted(self._asked("base", name))

    def defining(self, name: str) -> Sequence[Source]:
        """Return the files in which a function or method of this name is defined."""
        return self._sorted(self._asked("def", name))

    def imports(self, source: Source) -> tuple[Target, ...]:
        """Return the modules that the import statements of a file may name (see above)."""
        self._questions.ask("imports", source.display)
        return self._index.imports(source)

    def _asked(self, kind: str, name: str) -> Collection[Source]:
        self._questions.ask(kind, name)
        return self._index.files(kind, name.encode())

    def _sorted(self, sources: Iterable[Source]) -> list[Source]:
        return sorted(sources, key=self._order.__getitem__)
