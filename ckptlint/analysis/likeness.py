"""Whether a rank does the same before and after a rewrite, wherever the lines have gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.sequences import Branch, Exit, Item, Loop, Scope, Trace
from ckptlint.analysis.values import Choice, Const, Value

_Tree = tuple[object, ...]
_MAX_ITEMS = 20_000


def likeness(trace: Trace, keys: Keys) -> str | None:
    """Return what two traces of one function have in common when they make the same calls.

    Compound conditions are taken apart into single ones, and those are numbered in the order in
    which they are met, since their own numbers depend on where they stand. What follows an early
    exit is the other arm of its condition. A trace with too many ways is like no other: None.
    """
    try:
        return repr(_numbered(_Reader(keys).calls(trace.items, {}, "return"), {}))
    except _TooManyError:
        return None


class _TooManyError(Exception):
    """There are too many ways through a function to look at each."""


class _Reader:
    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.left = _MAX_ITEMS

    def calls(self, items: Sequence[Item], facts: Mapping[int, bool], end: str) -> _Tree:
        """Return the calls of a sequence, of which an exit of kind ``end`` is just the end."""
        found: list[object] = []
        for index, item in enumerate(items):
            self.left -= 1
            if self.left < 0:
                raise _TooManyError
            if isinstance(item, Exit):
                return tuple(found) if item.kind == end else (*found, item.kind)
            if isinstance(item, Branch):
                rest: Sequence[Item] = ()
                if item.yes.exits or item.no.exits:
                    rest = items[index + 1 :]
                yes, no = (Trace((*arm.items, *rest)) for arm in (item.yes, item.no))
                test = self.keys.meanings.get(item.key, Choice(item.key, Const(True), Const(False)))
                found.extend(self._either(test, yes, no, facts, end))
                if item.yes.exits or item.no.exits:
                    break
            elif isinstance(item, Scope):
                found.extend(self.calls(item.body.items, facts, "return"))
            elif isinstance(item, Loop):
                found.append(("loop", self.calls(item.body.items, facts, "continue")))
            else:
                found.append(item.shape)
        return tuple(found)

    def _either(
        self, test: Value, yes: Trace, no: Trace, facts: Mapping[int, bool], end: str
    ) -> _Tree:
        if not isinstance(test, Choice):
            taken = yes if isinstance(test, Const) and test.value else no
            return self.calls(taken.items, facts, end)
        if test.key in facts:
            return self._either(test.yes if facts[test.key] else test.no, yes, no, facts, end)
        inner = self.keys.meanings.get(test.key)
        if inner is not None:
            return self._either(_substituted(inner, test), yes, no, facts, end)
        one = self._either(test.yes, yes, no, {**facts, test.key: True}, end)
        two = self._either(test.no, yes, no, {**facts, test.key: False}, end)
        if one == two:  # what happens either way needs no condition
            return one
        return (("if", test.key, one, two),)


def _substituted(inner: Value, outer: Choice) -> Value:
    """Return a compound condition with the arms of ``outer`` where it comes out true or false."""
    if isinstance(inner, Choice):
        yes, no = _substituted(inner.yes, outer), _substituted(inner.no, outer)
        return Choice(inner.key, yes, no)
    return outer.yes if isinstance(inner, Const) and inner.value else outer.no


def _numbered(tree: object, numbers: dict[int, int]) -> object:
    if not isinstance(tree, tuple):
        return tree
    if len(tree) == 4 and tree[0] == "if" and isinstance(tree[1], int):
        number = numbers.setdefault(tree[1], len(numbers))
        return ("if", number, _numbered(tree[2], numbers), _numbered(tree[3], numbers))
    return tuple(_numbered(part, numbers) for part in tree)
