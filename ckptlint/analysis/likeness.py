"""Whether a rank does the same before and after a rewrite, wherever the lines have gone."""

from __future__ import annotations

from ckptlint.analysis.sequences import Branch, Loop, Scope, Trace


def likeness(trace: Trace) -> object:
    """Return what two traces of one function have in common when they make the same calls.

    Conditions are numbered in the order in which they are met, since their own numbers depend on
    where they stand.
    """
    return _items(trace, {})


def _items(trace: Trace, numbers: dict[int, int]) -> tuple[object, ...]:
    found: list[object] = []
    for item in trace:
        if isinstance(item, Scope) and not item.body.returns:
            found.extend(_items(item.body, numbers))
        elif isinstance(item, Scope):
            found.append(("scope", _items(item.body, numbers)))
        elif isinstance(item, Loop):
            found.append(("loop", _items(item.body, numbers)))
        elif isinstance(item, Branch):
            number = numbers.setdefault(item.key, len(numbers))
            found.append(("if", number, _items(item.yes, numbers), _items(item.no, numbers)))
        else:
            found.append(item.shape)
    return tuple(found)
