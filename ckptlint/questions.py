"""What was asked of the files of a project while something was found out.

An answer that was found holds as long as every question that was asked for it has the answer that
it had. A question names its kind:

- ``file:`` the syntax of a file, ``outline:`` what of it stands outside functions, ``said:`` the
  text of one function, ``imports:`` what it imports;
- ``word:``, ``def:`` and ``base:`` the files in which a name stands, is defined, or is the name of
  a base class;
- ``module:`` the file that an import finds by a dotted name, ``files:`` which files there are;
- ``ran:`` what was found out of the functions of a file that were executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Questions:
    """Collects the questions that are asked; inside ``apart`` those of one answer."""

    def __init__(self) -> None:
        self._open: set[str] = set()

    def ask(self, kind: str, *names: str) -> None:
        """Note a question of a kind about each of some names."""
        for name in names:
            self._open.add(f"{kind}:{name}")

    def repeat(self, questions: Iterable[str]) -> None:
        """Note what was asked for an answer that was remembered."""
        self._open.update(questions)

    @contextmanager
    def apart(self) -> Iterator[set[str]]:
        """Give what is asked meanwhile; it counts as asked outside too."""
        outer, self._open = self._open, set()
        try:
            yield self._open
        finally:
            outer |= self._open
            self._open = outer
