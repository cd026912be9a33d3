"""What was asked of the files of a project while something was found out.

An answer that was found holds as long as every question that was asked for it has the answer that
it had. A question names its kind:

- ``file:`` the syntax of a file, ``outline:`` what of it stands outside functions, ``imports:``
  what it imports;
- ``text:`` the text of one function, ``said:`` the names by which it may lead to others;
- ``word:``, ``def:`` and ``base:`` the files in which a name stands, is defined, or is the name of
  a base class;
- ``module:`` the file that an import finds by a dotted name, ``files:`` which files there are;
- ``ran:`` what was found out of the functions of a file that were executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_FEW = 8  # questions
_K = TypeVar("_K")
_T = TypeVar("_T")


class Asked:
    """The questions that were asked for one answer: its own, and those for answers that it used."""

    __slots__ = ("others", "own")

    def __init__(self) -> None:
        self.own: set[str] = set()
        self.others: set[Asked] = set()

    def take(self, other: Asked) -> None:
        """Note that an answer was used for which other questions were asked; few are copied, so
        that there are not very many collections to go through."""
        if other.others or len(other.own) > _FEW:
            self.others.add(other)
        else:
            self.own |= other.own

    def all(self) -> frozenset[str]:
        """Return every question, at any depth."""
        found: set[str] = set()
        seen = {self}
        pending = [self]
        while pending:
            asked = pending.pop()
            found |= asked.own
            new = asked.others - seen
            seen |= new
            pending.extend(new)
        return frozenset(found)


Answers = dict[_K, tuple[_T, Asked]]


class Questions:
    """Collects the questions that are asked; inside ``apart`` those of one answer."""

    def __init__(self) -> None:
        self._open = Asked()

    def ask(self, kind: str, *names: str) -> None:
        """Note a question of a kind about each of some names."""
        for name in names:
            self._open.own.add(f"{kind}:{name}")

    def use(self, asked: Asked) -> None:
        """Note that an answer was used for which other questions were asked."""
        self._open.take(asked)

    @contextmanager
    def apart(self) -> Iterator[Asked]:
        """Collect what is asked meanwhile; it counts as asked outside too."""
        outer, self._open = self._open, Asked()
        try:
            yield self._open
        finally:
            outer.take(self._open)
            self._open = outer

    def remembered(self, answers: Answers[_K, _T], key: _K, find: Callable[[], _T]) -> _T:
        """Return an answer that was found before, or find it and remember what it asked."""
        known = answers.get(key)
        if known is None:
            with self.apart() as asked:
                known = answers[key] = (find(), asked)
        else:
            self._open.take(known[1])
        return known[0]
