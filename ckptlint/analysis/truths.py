"""Whether ranks that hold different values may disagree on their truth.

A path made of the clock is another one on each rank, and there on all of them; of what was dealt
out evenly every rank has some or none has.
"""

from __future__ import annotations

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.values import Divergent, Symbol, Value
from ckptlint.knowledge import Knowledge

_JOINED = ("string", "Add", "Div")  # is something where one part is: a text, or a path
_FILLED = "Mod"  # a template, filled in


def sways(keys: Keys, knowledge: Knowledge, value: Value) -> Divergent | None:
    """Return why ranks may disagree on the truth of a value, or None where they do not."""
    mark = value.divergent
    if mark is None or not isinstance(value, Symbol):
        return mark
    if not mark.counts and _truth(keys, knowledge, value.key) == "number":
        return None
    return None if _stands(keys, knowledge, value.key) else mark


def _truth(keys: Keys, knowledge: Knowledge, key: int) -> str:
    """Return what the facts say of the truth of a call's result."""
    kind, *rest = keys.made_of(key)
    if kind != "call" or not isinstance(rest[0], int):
        return ""
    callee, *name = keys.made_of(rest[0])
    return knowledge.truths.get(knowledge.canonical(str(name[0])), "") if callee == "named" else ""


def _stands(keys: Keys, knowledge: Knowledge, key: int) -> bool:
    """Say whether a value is true whatever it was made of: a text that is not empty."""
    kind, *rest = keys.made_of(key)
    parts = [part for part in rest if isinstance(part, int)]
    if kind == "const":
        return rest[0] == "str" and rest[1] != repr("")
    if kind in _JOINED:
        return any(_stands(keys, knowledge, part) for part in parts)
    if kind == _FILLED:
        return _stands(keys, knowledge, parts[0])
    if kind == "choice":
        return all(_stands(keys, knowledge, part) for part in parts[1:])
    return _truth(keys, knowledge, key) == "always"
