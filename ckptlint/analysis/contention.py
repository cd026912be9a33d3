"""What ranks do to each other's files, or fail to: one fault, before it is put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import Access
from ckptlint.analysis.visits import Visit

FileKind = Literal[
    "all", "two", "node", "order", "parts", "path", "name", "load", "root", "shard", "state"
]


@dataclass(frozen=True)
class Contention:
    """Ranks get in each other's way at ``visit``.

    ``kind``: ``all`` ranks do what one should, or ``two`` do; the first rank of each ``node`` does;
    no ``order`` between it and ``other``, or none between the ``parts`` of all ranks and who uses
    them; the ``path`` of a collective differs by its ``origins``; each looks
    for a free ``name`` by itself; a ``load`` on some ranks only;
    what only the ``root`` has is used by others; a ``shard`` or a ``state`` of one rank is saved
    for all. ``shown`` says that the function itself tells ranks apart or communicates; when it is
    false only its surroundings do. ``meeting`` is a collective that all ranks reach, which shows
    that all of them get there; ``reason`` says what is incomplete in what is written or used, with
    ``backends`` where one of them is in use only.
    """

    kind: FileKind
    visit: Visit
    present: tuple[RankClass, ...]
    shown: bool
    other: Visit | None = None
    origins: frozenset[str] = frozenset()
    meeting: Visit | None = None
    reason: str = ""
    backends: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two of them the same fault."""
        other = self.other.item.site.key if self.other is not None else None
        return (self.kind, self.visit.item.site.key, other)


def changes(visit: Visit) -> bool:
    """Say whether a file is not the same afterwards, and one rank is enough to do it."""
    item = visit.item
    return isinstance(item, Access) and item.call.who == "one" and item.call.effect != "read"


def races(visit: Visit) -> bool:
    """Say whether ranks that do the same at the same time are in each other's way."""
    return changes(visit) and not (isinstance(visit.item, Access) and visit.item.forgiven)
