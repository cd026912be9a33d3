"""What a value was made of: the rank, the clock, chance, files, this rank's share of the data.

Unknowns are numbered by what they were computed from, so the numbers tell. What a collective gave
to all ranks alike was made of nothing that differs.
"""

from __future__ import annotations

import re
from collections.abc import Container

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.values import Choice, Items, Value
from ckptlint.knowledge import Knowledge

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHARES = re.compile(
    "(batch|chunk|dataloader|dataset|example|input|loader|prompt|sample|sampler|shard)s?|sharded"
)
_RANKS = re.compile(
    "chief|device|gpu|host|hostname|leader|master|node|pid|primary|proc|process|ranks?|shard|thread"
    "|worker"
)
_FIRST = frozenset({"main", "root", "saver", "writer", "zero"})  # of `is_root`, not of a path's
_AGREES = re.compile("agree|allgather|allreduce|bcast|broadcast|synced|synchronized?")
_NOTHING: frozenset[str] = frozenset()
RANKS = frozenset({"global", "node", "group", "member", "last", "second"})
_GIVES = ("gather", "collective")
NAMED, SHARE, RESULT, HELD = "a name", "a share", "a result", "a holder"


class Origins:
    """Looks up what the values of one project were made of.

    An origin is a scope of ranks (``global``, ``node``, ``group``, ``member``, ``last``), the
    reason that the facts give for a result that differs likely, ``NAMED`` for what only a name says
    to be of this rank, ``HELD`` for what bears the name of something that differs elsewhere in the
    project, ``SHARE`` for what only a name says to be data of this rank, or ``RESULT``
    for what a collective gathered, which may be there on some ranks only. ``holders`` are names
    that hold the rank somewhere in the project. Ranks may agree on what
    is made of one of ``close``.
    """

    def __init__(self, keys: Keys, knowledge: Knowledge, holders: Container[str] = ()) -> None:
        self._keys = keys
        self._holders = holders
        self._knowledge = knowledge
        self._known: dict[int, frozenset[str]] = {}
        self.close = frozenset(d.reason for d in knowledge.divergent.values() if d.close) | {HELD}
        self._alike_in_number = frozenset(
            d.reason for d in knowledge.divergent.values() if not d.counts
        )
        self._agreeing = frozenset(
            full
            for full, records in knowledge.calls.items()
            if any(r.who in ("all", "group") and r.effect in _GIVES for r in records)
        )

    def of(self, value: Value) -> frozenset[str]:
        """Return everything that a value was made of."""
        own = value.rank.scopes if value.rank is not None else _NOTHING
        match value:
            case Choice():
                return own | self._of(value.key) | self.of(value.yes) | self.of(value.no)
            case Items():
                return own.union(*map(self.of, value.items))
        return own | self._of(self._keys.of(value))

    def of_key(self, key: int) -> frozenset[str]:
        """Return everything that a condition was made of."""
        return self._of(key)

    def _of(self, key: int) -> frozenset[str]:
        known = self._known.get(key)
        if known is None:
            self._known[key] = _NOTHING  # a number is never made of itself, but be safe
            known = self._known[key] = self._made_of(self._keys.made_of(key))
        return known

    def _made_of(self, parts: tuple[object, ...]) -> frozenset[str]:
        kind, rest = parts[0], parts[1:]
        if kind == "ranked":
            return frozenset(str(scope) for scope in rest)
        if kind == "named":
            if rest[0] == "input":  # what a person answers, not data of this rank
                return _NOTHING
            source = self._knowledge.divergent.get(self._knowledge.canonical(str(rest[0])))
            return (
                frozenset({source.reason}) if source and source.likely else self._said(str(rest[0]))
            )
        if kind == "function":
            return self._said(str(getattr(rest[0], "name", "")))
        if kind == "call" and isinstance(rest[0], int) and self._agrees(rest[0]):
            return frozenset({RESULT})
        found = _NOTHING.union(*(self._of(part) for part in rest if isinstance(part, int)))
        if kind == "index" and found & self._alike_in_number:
            found = found - self._alike_in_number | {SHARE}  # every rank counts as far
        if kind in ("name", "parameter", "attribute"):
            found |= self._said(str(rest[-1]))
        elif kind in ("computed", "global"):  # by what, was not looked at: a place, and a name
            found |= self._said(str(rest[1])) & {NAMED}
        return found

    def _agrees(self, callee: int) -> bool:
        """Say whether a called function gives the same to every rank, by the facts or by name."""
        parts = self._keys.made_of(callee)
        name = str(parts[-1])
        if parts[0] == "named" and self._knowledge.canonical(name) in self._agreeing:
            return True
        if parts[0] not in ("named", "name", "attribute"):
            return False
        words = words_of(name.rpartition(".")[2])
        return (
            any(map(_AGREES.fullmatch, words))
            or {"all", "gather"} <= words
            or {"all", "reduce"} <= words
        )

    def _said(self, name: str) -> frozenset[str]:
        """Return what the last part of a name says of a value."""
        last = name.rpartition(".")[2]
        words = words_of(last)
        found: set[str] = set()
        if any(map(_RANKS.fullmatch, words)) or ("is" in words and words & _FIRST):
            found.add(NAMED)
        elif last in self._holders:
            found.add(HELD)
        if any(map(_SHARES.fullmatch, words)):
            found.add(SHARE)
        return frozenset(found)


def words_of(name: str) -> frozenset[str]:
    """Return the words that a name is put together from."""
    return frozenset(word.lower() for word in _WORD.findall(name))
