"""Whether a rank does the same before and after a rewrite, wherever the lines have gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.sequences import Branch, Item, Loop, Scope, Trace
from ckptlint.analysis.values import Choice, Const, Value

_Tree = tuple[object, ...]


def likeness(trace: Trace, keys: Keys) -> object:
    """Return what two traces of one function have in common when they make the same calls.

    Compound conditions are taken apart into single ones, and those are numbered in the order in
    which they are met, since their own numbers depend on where they stand.
    """
    return _numbered(_calls(trace.items, keys, {}), {})


def _calls(items: Iterable[Item], keys: Keys, facts: Mapping[int, bool]) -> _Tree:
    found: list[object] = []
    for item in items:
        if isinstance(item, Scope) and not item.body.returns:
            found.extend(_calls(item.body, keys, facts))
        elif isinstance(item, Scope):
            found.append(("scope", _calls(item.body, keys, facts)))
        elif isinstance(item, Loop):
            found.append(("loop", _calls(item.body, keys, facts)))
        elif isinstance(item, Branch):
            test = keys.meanings.get(item.key, Choice(item.key, Const(True), Const(False)))
            found.extend(_either(test, item, keys, facts))
        else:
            found.append(item.shape)
    return tuple(found)


def _either(test: Value, branch: Branch, keys: Keys, facts: Mapping[int, bool]) -> _Tree:
    if not isinstance(test, Choice):
        taken = branch.yes if isinstance(test, Const) and test.value else branch.no
        return _calls(taken, keys, facts)
    if test.key in facts:
        return _either(test.yes if facts[test.key] else test.no, branch, keys, facts)
    inner = keys.meanings.get(test.key)
    if inner is not None:
        return _either(_substituted(inner, test), branch, keys, facts)
    yes = _either(test.yes, branch, keys, {**facts, test.key: True})
    no = _either(test.no, branch, keys, {**facts, test.key: False})
    if yes == no:  # what happens either way needs no condition
        return yes
    return (("if", test.key, yes, no),)


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
