"""The plan of a rewrite: what runs on every rank, and what stays guarded."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Kept:
    """A statement that runs on every rank as it stands. ``free`` ones have no effect and may
    change places with their neighbours."""

    statement: ast.stmt
    free: bool = False


@dataclass(frozen=True)
class Pulled:
    """A call that is made on every rank beforehand, its result kept under a new name."""

    call: ast.Call
    name: str


@dataclass(frozen=True)
class Guarded:
    """Statements that stay under the guard.

    One that is not of the file is an ``if`` of the file with what of its block stays guarded.
    """

    statements: tuple[ast.stmt, ...]


@dataclass(frozen=True)
class Opened:
    """A statement with blocks that every rank enters, its inside planned anew.

    ``handlers`` are the plans of those of a ``try``, in order.
    """

    statement: ast.If | ast.With | ast.For | ast.While | ast.Try
    body: Plan
    orelse: Plan = ()
    handlers: tuple[Plan, ...] = ()
    finalbody: Plan = ()

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of all blocks."""
        return (self.body, self.orelse, *self.handlers, self.finalbody)


Item: TypeAlias = Kept | Pulled | Guarded | Opened
Plan: TypeAlias = tuple[Item, ...]


def guarded_in(plan: Plan) -> list[Guarded]:
    """Return the groups that stay guarded, at any depth."""
    found: list[Guarded] = []
    for item in plan:
        if isinstance(item, Guarded):
            found.append(item)
        elif isinstance(item, Opened):
            for plan in item.plans:
                found += guarded_in(plan)
    return found
