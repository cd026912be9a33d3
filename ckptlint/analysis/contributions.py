"""Contributions: what each rank has of its own, and gives to a collective that collects it.

That some ranks have nothing to give is what such a collective is there for. A test of whether there
is anything in it comes out differently on them.
"""

from __future__ import annotations

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.values import Const, Divergent, Symbol, Value

_EMPTY = Divergent("whether this rank has anything to give")


def contributed(keys: Keys, value: Value, length: Value) -> None:
    """Note that ranks may disagree on whether there is anything in a value, by its truth or by its
    length. A test for None is another matter: it is for what was never set up."""
    if not isinstance(value, Symbol) or value.rank is not None or value.divergent is not None:
        return
    size, zero = keys.of(length), keys.of(Const(0))
    tests = (keys.number("Eq", size, zero), keys.number("Lt", zero, size))
    for key in (value.key, size, *tests):
        keys.divergent.setdefault(key, _EMPTY)
