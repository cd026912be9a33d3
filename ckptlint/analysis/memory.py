"""What calls gave, remembered as far as recursion let them be seen.

A recursion is cut short where it comes around. What was executed below the cut has seen only part
of the function there, so its result is remembered until that function has ended, and no longer.
Otherwise it would be executed anew on every way to it, and the ways double with each function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from ckptlint.project import Function

_DEPTH = 20
_T = TypeVar("_T")

# Where something was cut short: at a level, at a place in the stack of that level. The level
# itself (while it is being found out what the objects of a class hold) is place -1.
Place = tuple[int, int]


class Memory(Generic[_T]):
    """Results of calls by their keys, and the functions that are being executed.

    At each ``level`` a stack of its own begins: what the objects of a class hold is found out once,
    whatever happens to be executed when it is asked.
    """

    def __init__(self) -> None:
        self.level = 0
        self.cuts: set[Place] = set()
        self._stack: list[Function] = []
        self._complete: dict[object, _T] = {}
        self._partial: dict[object, tuple[_T, frozenset[Place]]] = {}
        self._until: dict[Place, list[Callable[[], object]]] = {}

    @property
    def deep(self) -> bool:
        """Whether no further function is to be executed inside those that are."""
        return len(self._stack) > _DEPTH

    def known(self, key: object) -> _T | None:
        """Return the result for a key, if there is one that holds here."""
        found = self._complete.get(key)
        if found is None and key in self._partial:
            found, cuts = self._partial[key]
            self.cuts |= cuts
        return found

    def cuts_short(self, function: Function) -> bool:
        """Say whether a function must not be executed here, because of recursion or depth."""
        if function in self._stack:
            self.cuts.add((self.level, self._stack.index(function)))
            return True
        if self.deep:
            self.cuts.add((self.level, 0))
            return True
        return False

    def remembered(self, key: object, function: Function, execute: Callable[[], _T]) -> _T:
        """Execute a function and remember what it gives."""
        place = (self.level, len(self._stack))
        outer, self.cuts = self.cuts, set()
        self._stack.append(function)
        try:
            result = execute()
        finally:
            self._stack.pop()
            self.end(place)
            cuts = frozenset(self.cuts - {place})
            self.cuts = outer | cuts
        if cuts:
            self._partial[key] = (result, cuts)
            self.until(max(cuts), lambda: self._partial.pop(key, None))
        else:
            self._complete[key] = result
        return result

    def until(self, place: Place, forget: Callable[[], object]) -> None:
        """Have something forgotten when what stands at a place has ended."""
        self._until.setdefault(place, []).append(forget)

    def end(self, place: Place) -> None:
        """Forget what was seen only in part because of what stood at a place."""
        for forget in self._until.pop(place, ()):
            forget()

    @contextmanager
    def next_level(self) -> Iterator[Place]:
        """Begin a stack of its own; gives the place of the new level."""
        outer = self._stack, self.cuts
        self._stack, self.cuts = [], set()
        self.level += 1
        try:
            yield (self.level, -1)
        finally:
            self.level -= 1
            self._stack, self.cuts = outer
