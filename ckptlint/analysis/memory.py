"""What executing gave, remembered so that it holds wherever it is used again.

A result depends on the program alone, not on what asked for it first: the results of one file are
used for the next. Two things could get in the way. A recursion is cut short where it comes around,
and so is a chain of calls that is too long; what was executed below the cut has seen only part of
the function there. So with each result it is kept what was gone through for it: it is used only
where none of that is being executed, and where all of it has room; otherwise it is found anew. What
was cut short is remembered until that has ended in which it was cut, and no longer. Otherwise it
would be executed anew on every way to it, and the ways double with each function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ckptlint.analysis.met import Met
from ckptlint.project import Function
from ckptlint.questions import Asked, Questions

_LONGEST = 21  # calls inside one another
_ROUNDS = 2  # with four, the findings in the packages that were compared were the same
_T = TypeVar("_T")


@dataclass(slots=True)
class _Extent:
    """What was gone through for a result: the functions that were executed, and what else was found
    out, each a bit; how many calls stood inside one another; how many rounds it took, and whether
    there were none left; whether the rank was asked for; and the places at which something was cut
    short."""

    called: int = 0
    found: int = 0
    calls: int = 0
    rounds: int = 0
    spent: bool = False
    ranked: bool = False
    cuts: set[int] = field(default_factory=set)

    def add(self, other: _Extent) -> None:
        """Take in what was gone through inside."""
        self.called |= other.called
        self.found |= other.found
        self.calls = max(self.calls, other.calls)
        self.rounds = max(self.rounds, other.rounds)
        self.spent |= other.spent
        self.ranked |= other.ranked
        self.cuts |= other.cuts


@dataclass(frozen=True, slots=True)
class _Known(Generic[_T]):
    """A result, what was gone through for it, what was asked and what was met meanwhile."""

    result: _T
    extent: _Extent
    asked: Asked
    met: Met


class _Results:
    """What is known, by keys; and what holds only where so many rounds are left."""

    def __init__(self) -> None:
        self.full: dict[object, _Known[Any]] = {}
        self.spent: dict[tuple[object, int], _Known[Any]] = {}


class Common:
    """What rank classes share: what came out without anybody asking for the rank."""

    def __init__(self) -> None:
        self.results = _Results()
        self.bits: dict[object, int] = {}
        self.count = 0  # of what all rank classes have remembered


class Memory:
    """Results of one rank class by their keys, and what is being executed.

    Four kinds of things are executed. A *call* ends in what it is cut short to where the function
    is being executed already. What is found out *aside* has a place in the chain of calls, but is
    no call: the value of a name. What is found out *apart* begins a chain of its own, for it is
    found out whatever happens to be executed when it is asked: the variables of a module. So is
    what takes a *round*: what the objects of a class hold. Classes hold objects of one another, in
    circles; each time around a round less is left, and where none is left nothing is known.

    A place is the number of things that are being executed where something begins.
    """

    def __init__(self, questions: Questions, common: Common) -> None:
        self.met = Met()
        self._questions = questions
        self._common = common
        self._own = _Results()
        self._partial: dict[tuple[object, int], _Known[Any]] = {}
        self._until: dict[int, list[tuple[object, int]]] = {}
        self._extent = _Extent()
        self._place = 0
        self._rounds = _ROUNDS  # left
        # The chain of functions that are being executed, and what is being found out in this round,
        # with their places; and both as bits.
        self._calls: dict[Function, int] = {}
        self._sought: dict[object, int] = {}
        self._calling = self._seeking = 0

    def call(self, key: object, function: Function, execute: Callable[[], _T], short: _T) -> _T:
        """Execute a call, or return what it is known to give; ``short`` where it is cut short."""
        known: _Known[_T] | None = self._usable(key)
        if known is not None:
            return self._use(known)
        place = self._calls.get(function)
        if place is None and len(self._calls) >= _LONGEST:
            place = next(iter(self._calls.values()))
        if place is not None:
            self._extent.cuts.add(place)
            return short
        bit = self._bit(function)
        self._calls[function] = self._place
        self._calling |= bit
        try:
            known = self._execute(key, execute)
        finally:
            self._calling ^= bit
            del self._calls[function]
        known.extent.called |= bit
        known.extent.calls += 1
        return self._use(known)

    def aside(self, key: object, find: Callable[[], _T], short: Callable[[], _T]) -> _T:
        """Find something out, or return it; what ``short`` gives where it is being found out."""
        return self._once(key, find, short, self._execute)

    def apart(self, key: object, find: Callable[[], _T], short: Callable[[], _T]) -> _T:
        """Find something out whatever is being executed, or return it; what ``short`` gives where
        it is being found out."""
        return self._once(key, find, short, self._execute_apart)

    def _once(
        self,
        key: object,
        find: Callable[[], _T],
        short: Callable[[], _T],
        execute: Callable[[object, Callable[[], _T]], _Known[_T]],
    ) -> _T:
        known: _Known[_T] | None = self._usable(key)
        if known is not None:
            return self._use(known)
        if key in self._sought:
            self._extent.cuts.add(self._sought[key])
            return short()
        with self._seek(key):
            known = execute(key, find)
        known.extent.found |= self._bit(key)
        return self._use(known)

    def round(self, key: object, find: Callable[[], _T], nothing: _T) -> _T:
        """Find something out with a round less, or return it; ``nothing`` if none is left."""
        known: _Known[_T] | None = self._usable(key)
        if known is not None:
            return self._use(known)
        if not self._rounds:
            self._extent.spent = True
            return nothing
        outer = self._sought, self._seeking
        self._sought, self._seeking = {}, 0
        try:
            known = self._execute_apart(key, find, 1)
        finally:
            self._sought, self._seeking = outer
        known.extent.found = 0
        return self._use(known)

    def _execute_apart(self, key: object, find: Callable[[], _T], rounds: int = 0) -> _Known[_T]:
        """Execute something in a chain of calls of its own."""
        outer = self._calls, self._calling
        self._calls, self._calling = {}, 0
        try:
            known = self._execute(key, find, rounds)
        finally:
            self._calls, self._calling = outer
        known.extent.called, known.extent.calls = 0, 0
        return known

    def rank_was_asked(self) -> None:
        """Note that what is being executed may come out differently for other rank classes."""
        self._extent.ranked = True

    def _bit(self, task: object) -> int:
        return 1 << self._common.bits.setdefault(task, len(self._common.bits))

    def _usable(self, key: object) -> _Known[Any] | None:
        for results in (self._common.results, self._own):
            known = results.full.get(key)
            if known is not None and self._has_room(known.extent):
                return known
        exact = (key, self._rounds)
        for table in (self._common.results.spent, self._own.spent, self._partial):
            known = table.get(exact)
            if known is not None and self._has_room(known.extent):
                return known
        return None

    def _has_room(self, extent: _Extent) -> bool:
        return not (
            extent.called & self._calling
            or extent.found & self._seeking
            or len(self._calls) + extent.calls > _LONGEST
            or extent.rounds > self._rounds
        )

    def _use(self, known: _Known[_T]) -> _T:
        self._extent.add(known.extent)
        self._questions.use(known.asked)
        self.met.use(known.met)
        return known.result

    @contextmanager
    def _seek(self, key: object) -> Iterator[None]:
        bit = self._bit(key)
        self._sought[key] = self._place
        self._seeking |= bit
        try:
            yield
        finally:
            self._seeking ^= bit
            del self._sought[key]

    def _execute(self, key: object, execute: Callable[[], _T], rounds: int = 0) -> _Known[_T]:
        """Execute something with so many rounds less; remember what it gives."""
        place = self._place
        outer, met = self._extent, self.met
        self._extent, self.met = _Extent(), Met()
        self._place += 1
        self._rounds -= rounds
        try:
            with self._questions.apart() as asked:
                result = execute()
            known = _Known(result, self._extent, asked, self.met)
        finally:
            self._place = place
            self._rounds += rounds
            self._extent, self.met = outer, met
            self._forget(place)
        extent = known.extent
        extent.rounds += rounds
        extent.cuts.discard(place)
        exact = (key, self._rounds)
        self._common.count += 1
        results = self._own if extent.ranked else self._common.results
        if extent.cuts:
            self._partial[exact] = known
            self._until.setdefault(max(extent.cuts), []).append(exact)
        elif extent.spent:
            results.spent[exact] = known
        else:
            results.full[key] = known
        return known

    def _forget(self, place: int) -> None:
        """Forget what was seen only in part because of what stood at a place."""
        for key in self._until.pop(place, ()):
            self._partial.pop(key, None)
