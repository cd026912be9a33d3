"""What lists, tuples and dictionaries hold, as far as it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ckptlint.analysis.keys import Keys
from ckptlint.analysis.values import (
    Choice,
    Const,
    Divergent,
    External,
    Items,
    Many,
    Symbol,
    Table,
    Value,
    blank,
    merge_divergent,
)

CONTAINER = "container"
_MAX_ELEMENTS = 6


def element(keys: Keys, iterable: Value) -> Value | None:
    """Return what a loop over a container holds in its turn, when something is known of it."""
    match iterable:
        case Many(mapped=False):
            return iterable.element
        case Items() if len(iterable.items) <= _MAX_ELEMENTS:
            known = [item for item in iterable.items if not plain(item)]
            return _either(keys, known, len(known) < len(iterable.items))
    return None


def _either(keys: Keys, values: Sequence[Value], more: bool) -> Value | None:
    """Return one of several values, whichever it is, the same on every rank."""
    if not values:
        return None
    result: Value = Symbol(keys.number("element", *map(keys.of, values))) if more else values[-1]
    for index, value in enumerate(values if more else values[:-1]):
        result = keys.choose(keys.number("turn of", index, keys.of(value)), value, result)
    return result


def entry(keys: Keys, container: Value, index: Value) -> Value | None:
    """Return what stands at an index of a container, or under a key of it."""
    match container:
        case Choice():
            yes, no = entry(keys, container.yes, index), entry(keys, container.no, index)
            if yes is None or no is None:
                return None
            return keys.choose(container.key, yes, no)
        case Many():
            return container.element
        case Table() if isinstance(index, Const):
            return next((value for key, value in container.entries if key == index.value), None)
        case Items() if isinstance(index, Const) and index.value in range(
            -len(container.items), len(container.items)
        ):
            return container.items[int(index.value)]
    return None


def method(keys: Keys, callee: External, arguments: Sequence[Value]) -> Value | None:
    """Call a method of a container: ``items``, ``values`` and ``get``."""
    owner, name = callee.owner, callee.name.rpartition(".")[2]
    if isinstance(owner, Table) and name in ("items", "values"):
        pairs = [Items((Const(key), value)) for key, value in owner.entries]
        return Items(tuple(pairs) if name == "items" else tuple(v for _, v in owner.entries))
    if isinstance(owner, Many) and owner.mapped and name == "values":
        return Many(owner.element)
    if isinstance(owner, Many) and owner.mapped and name == "items":
        return Many(Items((Symbol(keys.number("key of", keys.of(owner))), owner.element)))
    if owner is not None and name in ("get", "pop") and arguments:
        return entry(keys, owner, arguments[0])
    return None


def function(keys: Keys, name: str, arguments: Sequence[Value]) -> Value | None:
    """Call a function of the language that hands on what a container holds."""
    if not arguments:
        return None
    first = arguments[0]
    if name in ("list", "tuple", "reversed", "sorted", "iter"):
        return first if isinstance(first, Items | Many) else None
    if name not in ("enumerate", "zip"):
        return None
    elements = [element(keys, argument) for argument in arguments]
    marks = [keys.disagreement(argument) for argument in arguments]
    if name == "zip" and all(value is None for value in (*elements, *marks)):
        return None
    parts = [
        Symbol(keys.number("item", keys.of(argument)), each=True, divergent=mark)
        if value is None
        else value
        for argument, value, mark in zip(arguments, elements, marks, strict=True)
    ]
    if name == "enumerate":  # the turns are counted alike, whatever is dealt out in them
        parts = [Symbol(keys.number("index", *map(keys.of, arguments)), each=True), parts[0]]
    return Many(Items(tuple(parts)), divergent=merge_divergent(*marks))


def plain(value: Value) -> bool:
    """Say whether a value is a constant or an unknown without a mark."""
    return blank(value) or (isinstance(value, Const) and value.rank is None)


def parts_of(values: Iterable[Value]) -> Iterator[Divergent]:
    """Yield the marks of what is incomplete on this rank in some values, at any depth."""
    pending = list(values)
    while pending:
        value = pending.pop()
        match value:
            case Choice():
                pending += (value.yes, value.no)
            case Items():
                pending += value.items
            case Table():
                pending += (each for _, each in value.entries)
            case Many():
                pending.append(value.element)
        if value.divergent is not None and value.divergent.part:
            yield value.divergent
