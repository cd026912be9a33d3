"""Rank classes: the few ranks that stand for all of them.

A function is evaluated once per class, with every rank predicate folded to its value there. The
imagined job has two nodes of eight ranks, in groups of two neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckptlint.facts import Predicate

WORLD = {"global": 16, "node": 8, "group": 2}


@dataclass(frozen=True)
class RankClass:
    """One rank that stands for its kind. ``who`` is how a message calls it."""

    who: str
    global_rank: int
    node_rank: int
    local_rank: int
    group_rank: int

    def number(self, scope: str) -> int:
        """Return the rank's number within ``scope``."""
        return {
            "global": self.global_rank,
            "node": self.local_rank,
            "group": self.group_rank,
        }[scope]

    def value(self, predicate: Predicate) -> int | bool:
        """Fold a predicate to what it gives on this rank."""
        number = self.number(predicate.scope)
        match predicate.meaning:
            case "rank":
                return number
            case "first":
                return number == 0
            case "last":
                return number == WORLD[predicate.scope] - 1
            case "member":
                return self.group_rank == 0
            case "world":
                return WORLD[predicate.scope]
            case "distributed":
                return True


FIRST = RankClass("rank 0", 0, 0, 0, 0)
OTHER = RankClass("the other ranks", 3, 0, 3, 1)
NODE_LEADER = RankClass("the first rank of every other node", 8, 1, 0, 1)
GROUP_LEADER = RankClass("the first rank of every other group", 2, 0, 2, 0)
LAST = RankClass("the last rank", 15, 1, 7, 1)
SECOND = RankClass("rank 1", 1, 0, 1, 1)

ALWAYS = (FIRST, OTHER)
BY_SCOPE = {"node": NODE_LEADER, "group": GROUP_LEADER, "last": LAST, "second": SECOND}
