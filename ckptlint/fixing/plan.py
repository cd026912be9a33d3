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
    """Statements that stay under the guard."""

    statements: tuple[ast.stmt, ...]


@dataclass(frozen=True)
class Opened:
    """An ``if``, ``for``, ``with`` or ``try`` that every rank enters, its inside planned anew."""

    statement: ast.If | ast.With | ast.For | ast.Try
    body: Plan
    orelse: Plan = ()


Item: TypeAlias = Kept | Pulled | Guarded | Opened
Plan: TypeAlias = tuple[Item, ...]


def guarded_in(plan: Plan) -> list[Guarded]:
    """Return the groups that stay guarded, at any depth."""
    found: list[Guarded] = []
    for item in plan:
        if isinstance(item, Guarded):
            found.append(item)
        elif isinstance(item, Opened):
            found += guarded_in(item.body) + guarded_in(item.orelse)
    return found
