"""One project, executed as each rank class would: what is remembered serves all of its files."""

from __future__ import annotations

from ckptlint.analysis.interpreter import Interpreter
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common
from ckptlint.analysis.origins import Origins
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.world import World

_MANY = 50_000  # results, about a gigabyte


class Machine:
    """The interpreters of one project, and what unknowns are numbered by in all of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._empty()

    def _empty(self) -> None:
        self.keys = Keys()
        self.origins = Origins(self.keys, self.world.knowledge, self.world.holders.names)
        self._common = Common()
        self._interpreters: dict[RankClass, Interpreter] = {}

    def begin(self) -> None:
        """Begin with another file. Where very much is remembered it is forgotten, so that memory
        does not grow with the project; what comes out is the same."""
        if self._common.count > _MANY:
            self._empty()

    def interpreter(self, ranks: RankClass) -> Interpreter:
        """Return what executes functions as one rank class."""
        found = self._interpreters.get(ranks)
        if found is None:
            found = self._interpreters[ranks] = Interpreter(
                self.world, ranks, self.keys, self._common
            )
        return found
