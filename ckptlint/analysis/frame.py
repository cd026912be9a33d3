"""The state of one function while it is executed on one rank class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ckptlint.analysis.sequences import Item, Test, Trace
from ckptlint.analysis.values import Closure, Settings, Value
from ckptlint.project import Function, Module

NEXT, EXIT, RAISE = "next", "exit", "raise"


@dataclass(eq=False)
class Frame:
    """Variables, known conditions, guards and the trace so far.

    ``facts`` holds unknown conditions whose truth is fixed on the current path. Attributes of
    local objects are variables with a dotted name (``self.rank``). ``stopped`` is set by an
    expression that never returns (``sys.exit()``). ``failed_at`` is the statement of the body that
    ended in an exception. ``catching`` counts the ``try`` blocks around the statement that catch,
    ``forgiving`` those that catch what comes of a file that is gone, or there already; ``looks``
    are calls that look for the name of a new file.
    ``shared`` are the names that the function declares ``global``.
    """

    module: Module
    function: Function | None
    closure: Closure | None = None
    bound: Value | None = None
    variables: dict[str, Value] = field(default_factory=dict)
    facts: dict[int, bool] = field(default_factory=dict)
    guards: list[Test] = field(default_factory=list)
    trace: list[Item] = field(default_factory=list)
    returns: list[tuple[dict[int, bool], Value]] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)
    stopped: bool = False
    failed_at: ast.stmt | None = None
    catching: int = 0
    forgiving: int = 0
    looks: set[ast.AST] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)

    @property
    def settings(self) -> Settings:
        """What the function has put into variables of its module so far."""
        return {
            (self.module, name): self.variables[name]
            for name in self.shared
            if name in self.variables
        }

    @contextmanager
    def capture(self) -> Iterator[list[Item]]:
        """Collect the items of a block apart from the rest."""
        outer, self.trace = self.trace, []
        try:
            yield self.trace
        finally:
            self.trace = outer

    @contextmanager
    def guarded(self, test: Test) -> Iterator[None]:
        """Execute a block that a rank-dependent test let this rank into."""
        self.guards.append(test)
        self.scopes |= test.rank.scopes
        try:
            yield
        finally:
            self.guards.pop()

    def scope(self) -> Closure:
        """What a nested function sees."""
        return Closure(self.variables, self.closure)


@dataclass(frozen=True)
class Arguments:
    """What a call passes. ``complete`` is false when ``*args`` or ``**kwargs`` of unknown content
    are among it; ``nodes`` are the positional expressions."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    nodes: tuple[ast.expr, ...] = ()
    complete: bool = True

    def get(self, name: str, position: int = -1) -> Value | None:
        """Return an argument by keyword or position."""
        for keyword, value in self.keywords:
            if keyword == name:
                return value
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return None


@dataclass(frozen=True)
class Outcome:
    """How a block ended, and the value that it gave when it was an expression."""

    status: str
    value: Value


@dataclass(frozen=True)
class Result:
    """What a function did on one rank class."""

    trace: Trace
    value: Value
    status: str
    scopes: frozenset[str]
    attributes: dict[str, Value]
    settings: Settings = field(default_factory=dict)
