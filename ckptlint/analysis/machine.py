"""One project, executed as each rank class would: what is remembered serves all of its files."""

from __future__ import annotations

from ckptlint.analysis.interpreter import Interpreter
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common
from ckptlint.analysis.origins import Origins
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.world import World


class Machine:
    """The interpreters of one project, and what unknowns are numbered by in all of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.keys = Keys()
        self.origins = Origins(self.keys, world.knowledge, world.holders.names)
        self._common = Common()
        self._interpreters: dict[RankClass, Interpreter] = {}

    def interpreter(self, ranks: RankClass) -> Interpreter:
        """Return what executes functions as one rank class."""
        found = self._interpreters.get(ranks)
        if found is None:
            found = self._interpreters[ranks] = Interpreter(
                self.world, ranks, self.keys, self._common
            )
        return found
