"""What was met while something was executed: rank tests, and functions inside functions."""

from __future__ import annotations

from collections.abc import Iterator

from ckptlint.analysis.values import Value
from ckptlint.project import Function, FunctionNode

Place = tuple[str, int, int]
Nested = dict[FunctionNode, tuple[Function, Value]]


class Met:
    """Rank tests with the truths that they had on this rank class, by place, and definitions inside
    functions; and what was met in what was executed inside."""

    __slots__ = ("inner", "nested", "tests")

    def __init__(self) -> None:
        self.tests: dict[Place, set[bool]] = {}
        self.nested: Nested = {}
        self.inner: dict[Met, None] = {}

    def use(self, other: Met) -> None:
        """Take in what was met inside."""
        if other.tests or other.nested or other.inner:
            self.inner[other] = None

    def every(self, done: set[Met]) -> Iterator[Met]:
        """Yield this and everything inside but ``done``, to which it is added; innermost first."""
        pending: list[tuple[Met, Iterator[Met]]] = [(self, iter(self.inner))]
        while pending:
            met, rest = pending[-1]
            below = next((each for each in rest if each not in done), None)
            if below is not None:
                done.add(below)
                pending.append((below, iter(below.inner)))
            else:
                pending.pop()
                yield met
