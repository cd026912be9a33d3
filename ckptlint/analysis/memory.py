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
_LEVELS = 8
_T = TypeVar("_T")


@dataclass(slots=True)
class _Extent:
    """What was gone through for a result: the functions that were executed, and what else was found
    out, each a bit; how many calls stood inside one another, how many levels; and the places at
    which something was cut short."""

    called: int = 0
    found: int = 0
    calls: int = 0
    levels: int = 0
    cuts: set[int] = field(default_factory=set)

    def add(self, other: _Extent) -> None:
        """Take in what was gone through inside."""
        self.called |= other.called
        self.found |= other.found
        self.calls = max(self.calls, other.calls)
        self.levels = max(self.levels, other.levels)
        self.cuts |= other.cuts


@dataclass(frozen=True, slots=True)
class _Known(Generic[_T]):
    """A result, what was gone through for it, what was asked and what was met meanwhile."""

    result: _T
    extent: _Extent
    asked: Asked
    met: Met


class Memory:
    """Results by their keys, and what is being executed.

    Three kinds of things are executed. A *call* ends in what it is cut short to where the function
    is being executed already. What is found out *aside* has a place in the chain of calls, but is
    no call: the value of a name. What is found out *apart* begins a chain of its own, at the next
    level, for it is found out whatever happens to be executed when it is asked: the variables of a
    module, what the objects of a class hold.

    A place is the number of things that are being executed where something begins.
    """

    def __init__(self, questions: Questions) -> None:
        self.met = Met()
        self._questions = questions
        self._known: dict[object, _Known[Any]] = {}
        self._partial: dict[object, _Known[Any]] = {}
        self._until: dict[int, list[object]] = {}
        self._bits: dict[object, int] = {}
        self._extent = _Extent()
        self._place = 0
        self._calls: dict[Function, int] = {}  # being executed at this level, with their places
        self._calling = 0  # the same as bits
        self._sought: dict[object, int] = {}  # being found out at any level
        self._seeking = 0
        self._levels: list[int] = []  # the places where levels began

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
        known: _Known[_T] | None = self._usable(key)
        if known is not None:
            return self._use(known)
        if key in self._sought:
            self._extent.cuts.add(self._sought[key])
            return short()
        with self._seek(key):
            known = self._execute(key, find)
        known.extent.found |= self._bit(key)
        return self._use(known)

    def apart(self, key: object, find: Callable[[], _T], short: Callable[[], _T]) -> _T:
        """Find something out at the next level, or return it; what ``short`` gives where it is
        being found out, or where there are too many levels."""
        known: _Known[_T] | None = self._usable(key)
        if known is not None:
            return self._use(known)
        place = self._sought.get(key)
        if place is None and len(self._levels) >= _LEVELS:
            place = self._levels[0]
        if place is not None:
            self._extent.cuts.add(place)
            return short()
        outer = self._calls, self._calling
        self._calls, self._calling = {}, 0
        self._levels.append(self._place)
        try:
            with self._seek(key):
                known = self._execute(key, find)
        finally:
            self._levels.pop()
            self._calls, self._calling = outer
        extent = known.extent
        extent.called, extent.calls = 0, 0
        extent.found |= self._bit(key)
        extent.levels += 1
        return self._use(known)

    def asked_again(self, key: object) -> bool:
        """Say whether what is being found out was asked for meanwhile; forget what saw it so."""
        place = self._sought[key]
        if place not in self._extent.cuts:
            return False
        self._extent.cuts.discard(place)
        self._forget(place)
        return True

    def _bit(self, task: object) -> int:
        return 1 << self._bits.setdefault(task, len(self._bits))

    def _usable(self, key: object) -> _Known[Any] | None:
        known = self._known.get(key)
        if known is None or not self._has_room(known.extent):
            known = self._partial.get(key)
            if known is None or not self._has_room(known.extent):
                return None
        return known

    def _has_room(self, extent: _Extent) -> bool:
        return not (
            extent.called & self._calling
            or extent.found & self._seeking
            or len(self._calls) + extent.calls > _LONGEST
            or len(self._levels) + extent.levels > _LEVELS
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

    def _execute(self, key: object, execute: Callable[[], _T]) -> _Known[_T]:
        place = self._place
        outer, met = self._extent, self.met
        self._extent, self.met = _Extent(), Met()
        self._place += 1
        try:
            with self._questions.apart() as asked:
                result = execute()
            known = _Known(result, self._extent, asked, self.met)
        finally:
            self._place = place
            self._extent, self.met = outer, met
            self._forget(place)
        cuts = known.extent.cuts
        cuts.discard(place)
        if cuts:
            self._partial[key] = known
            self._until.setdefault(max(cuts), []).append(key)
        else:
            self._known[key] = known
        return known

    def _forget(self, place: int) -> None:
        """Forget what was seen only in part because of what stood at a place."""
        for key in self._until.pop(place, ()):
            self._partial.pop(key, None)
