"""Lining up what the columns of a picture do: which items share a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ckptlint.analysis.sequences import Branch, Exit, Item, Loop, Operation, Scope, Test

Line = dict[int, "Node"]
"""The items of one row, by the number of their column."""


@dataclass(frozen=True)
class Node:
    """An item together with the calls that lead to it and the rank tests around those calls."""

    item: Item
    chain: tuple[Scope, ...]
    around: tuple[tuple[tuple[Scope, ...], Test], ...] = ()

    @property
    def tests(self) -> tuple[tuple[tuple[Scope, ...], Test], ...]:
        """Every rank test that let the column in, each with the calls that lead to it."""
        item = self.item
        guards = _before(item) if isinstance(item, Branch) else getattr(item, "guards", ())
        return self.around + tuple((self.chain, test) for test in guards)

    @property
    def place(self) -> tuple[str, int, int]:
        """File, line and column."""
        assert isinstance(self.item, Operation | Exit | Branch | Loop | Scope)
        return self.item.site.key


def _before(branch: Branch) -> tuple[Test, ...]:
    """Return the rank tests that stand before a choice, taken from what stands in its arms."""
    for item in (*branch.yes, *branch.no):
        guards = _before(item) if isinstance(item, Branch) else getattr(item, "guards", ())
        if guards:
            return tuple(test for test in guards if test.site.key < branch.site.key)
    return ()


def nodes(items: Sequence[Item], chain: tuple[Scope, ...]) -> list[Node]:
    """Wrap the items that a picture shows."""
    return [Node(item, chain) for item in items if shown(item)]


def shown(item: Item) -> bool:
    """Say whether an item has anything to draw."""
    if isinstance(item, Branch):
        arms = (item.yes, item.no)
        return any(arm.matters or arm.exits for arm in arms)
    if isinstance(item, Loop | Scope):
        return item.body.matters
    return isinstance(item, Operation | Exit)


def lined_up(columns: Sequence[Sequence[Node]], apart: Callable[[Node], bool]) -> list[Line]:
    """Give each row of a picture the items that belong side by side.

    Items for which ``apart`` is true are known to meet nothing but themselves. A call that only
    some columns make stays whole, unless the others have something of their own there: then its
    body is what may meet that.
    """
    lines = _lines(columns, apart)
    opened = _to_open(lines)
    if not opened:
        return lines
    return lined_up([[part for n in c for part in _opened(n, opened)] for c in columns], apart)


def _lines(columns: Sequence[Sequence[Node]], apart: Callable[[Node], bool]) -> list[Line]:
    lines: list[Line] = [{0: node} for node in columns[0]]
    for index, column in enumerate(columns[1:], 1):
        lines = _joined(lines, index, column, apart)
    return lines


def _joined(
    lines: list[Line], index: int, column: Sequence[Node], apart: Callable[[Node], bool]
) -> list[Line]:
    """Bring one more column in: the pairing with the highest score, else by line number."""
    meets = [[_meets(line, node, apart) for node in column] for line in lines]
    best = [[0] * (len(column) + 1) for _ in range(len(lines) + 1)]
    for i in range(len(lines) - 1, -1, -1):
        for j in range(len(column) - 1, -1, -1):
            together = best[i + 1][j + 1] + meets[i][j] if meets[i][j] else 0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    result: list[Line] = []
    i = j = 0
    while i < len(lines) or j < len(column):
        if i == len(lines):
            result.append({index: column[j]})
            j += 1
        elif j == len(column):
            result.append(lines[i])
            i += 1
        elif meets[i][j] and best[i][j] == best[i + 1][j + 1] + meets[i][j]:
            result.append({**lines[i], index: column[j]})
            i, j = i + 1, j + 1
        elif (best[i + 1][j], _earlier(lines[i], column[j])) > (best[i][j + 1], False):
            result.append(lines[i])
            i += 1
        else:
            result.append({index: column[j]})
            j += 1
    return result


def _earlier(line: Line, node: Node) -> bool:
    first = min(other.place for other in line.values())
    return first[0] != node.place[0] or first <= node.place


def _meets(line: Line, node: Node, apart: Callable[[Node], bool]) -> int:
    return max(_score(other, node, apart) for other in line.values())


def _score(one: Node, two: Node, apart: Callable[[Node], bool]) -> int:
    """Score a pair: 0 when it shares no row, more when it surely does."""
    a, b = one.item, two.item
    same = one.place == two.place
    if type(a) is not type(b) or isinstance(a, Branch) != isinstance(b, Branch):
        return 0
    if isinstance(a, Branch) and isinstance(b, Branch):
        return 2 + same if a.key == b.key else 0
    if isinstance(a, Exit):
        return int(same)
    if isinstance(a, Operation) and not same and (apart(one) or apart(two)):
        return 0
    if a.shape == b.shape:
        return 2 + same
    return 2 * same if isinstance(a, Loop | Scope) else 0


def _to_open(lines: Sequence[Line]) -> set[tuple[str, int, int]]:
    """Return the places of calls whose bodies may meet what other columns do beside them."""
    sets = [frozenset(line) for line in lines if _acts(line)]
    return {
        next(iter(line.values())).place
        for line in lines
        if _calls(line) and any(other - line.keys() and line.keys() - other for other in sets)
    }


def _acts(line: Line) -> bool:
    return any(not isinstance(node.item, Exit) for node in line.values())


def _calls(line: Line) -> bool:
    items = [node.item for node in line.values()]
    return all(isinstance(i, Scope) and i.body.acts and not i.body.returns for i in items)


def _opened(node: Node, places: set[tuple[str, int, int]]) -> list[Node]:
    item = node.item
    if not isinstance(item, Scope) or node.place not in places or item.body.returns:
        return [node]
    inner = nodes(item.body.items, (*node.chain, item))
    return [replace(each, around=node.tests) for each in inner]
