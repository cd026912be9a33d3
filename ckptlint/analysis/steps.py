"""Plain steps: a trace flattened under chosen conditions, for comparing and for telling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ckptlint.analysis.sequences import Branch, Exit, Item, Loop, Operation, Scope, Test, Trace


@dataclass(frozen=True)
class Level:
    """A rank test together with the depth of calls at which it stands."""

    test: Test
    depth: int


@dataclass(frozen=True)
class Step:
    """One item of a plain list, with all rank tests and calls that lead to it."""

    item: Operation | Loop | Exit
    levels: tuple[Level, ...]
    chain: tuple[Scope, ...]

    @property
    def marks(self) -> bool:
        """Whether this only marks where an exit was."""
        return isinstance(self.item, Exit)


@dataclass(frozen=True)
class Reached:
    """A collective and the calls that lead to it from the function analysed.

    ``served`` when it stands in a loop that goes on until something it received ends it.
    """

    operation: Operation
    chain: tuple[Scope, ...]
    levels: tuple[Level, ...]
    served: bool = False


@dataclass(frozen=True)
class Asked:
    """A collective with the conditions of all ranks, and the rank tests and how they came out,
    before it. ``ordered`` when it stands in a loop without an end."""

    operation: Operation
    keys: frozenset[int]
    tests: frozenset[tuple[object, bool]]
    ordered: bool


def conditions(items: Sequence[Item]) -> dict[int, None]:
    """Return the conditions of a sequence in the order in which they are met."""
    found: dict[int, None] = {}
    for item in items:
        if isinstance(item, Branch):
            found |= {item.key: None} | conditions(item.yes.items) | conditions(item.no.items)
        elif isinstance(item, Scope) or (isinstance(item, Loop) and item.body.returns):
            found |= conditions(item.body.items)
    return found


def flatten(
    items: Sequence[Item],
    chosen: Mapping[int, bool],
    chain: tuple[Scope, ...],
    levels: tuple[Level, ...],
    into: list[Step],
) -> str | None:
    """Append the plain steps under the chosen conditions; return the exit that ended them."""
    for item in items:
        if isinstance(item, Branch):
            arm = item.yes if chosen.get(item.key, True) else item.no
            ended = flatten(arm.items, chosen, chain, levels, into)
            if ended is not None:
                return ended
        elif isinstance(item, Scope):
            inner = levels + levels_of(item.guards, chain)
            ended = flatten(item.body.items, chosen, (*chain, item), inner, into)
            if ended == "raise":
                return ended
        elif isinstance(item, Operation | Loop | Exit):
            step = Step(item, levels + levels_of(item.guards, chain), chain)
            into.append(step)
            if isinstance(item, Exit):
                return item.kind
            if isinstance(item, Loop):
                leaving = _leaves_function(item, chosen, chain, levels)
                if leaving is not None:
                    into.append(leaving)
                    return leaving.item.kind if isinstance(leaving.item, Exit) else None
    return None


def _leaves_function(
    loop: Loop, chosen: Mapping[int, bool], chain: tuple[Scope, ...], levels: tuple[Level, ...]
) -> Step | None:
    """Return the ``return`` that the first turn of a loop always ends in."""
    if not loop.body.returns:
        return None
    for item in loop.body:
        if isinstance(item, Exit):
            if item.kind in ("return", "raise"):
                return Step(item, levels + levels_of(item.guards, chain), chain)
            return None
        if isinstance(item, Branch) and item.key in chosen:
            arm = item.yes if chosen[item.key] else item.no
            inner = _leaves_function(Loop(loop.site, arm, False), chosen, chain, levels)
            if inner is not None or arm.exits:
                return inner
    return None


def levels_of(guards: Sequence[Test], chain: tuple[Scope, ...]) -> tuple[Level, ...]:
    return tuple(Level(test, len(chain)) for test in guards)


def operations(steps: Sequence[Step], chosen: Mapping[int, bool]) -> list[Reached]:
    """Return the collectives of steps, those in loops included, in order."""
    found: list[Reached] = []
    for step in steps:
        if isinstance(step.item, Operation):
            found.append(Reached(step.item, step.chain, step.levels))
        elif isinstance(step.item, Loop):
            inner: list[Step] = []
            flatten(step.item.body.items, chosen, step.chain, step.levels, inner)
            served = step.item.endless
            found.extend(replace(r, served=r.served or served) for r in operations(inner, chosen))
    return found


def operations_in(items: Sequence[Item]) -> list[Operation]:
    """Return all operations among items, those under choices, in loops and in calls included."""
    return [operation for _, operation in _walk(items, ())]


def sites(trace: Trace) -> frozenset[object]:
    """Return the places of all operations of a trace."""
    return frozenset(operation.site.key for _, operation in _walk(trace.items, ()))


def paths(trace: Trace) -> frozenset[object]:
    """Return the places of all operations together with the calls that lead to them."""
    return frozenset(path(chain, operation) for chain, operation in _walk(trace.items, ()))


def path(chain: tuple[Scope, ...], item: Operation | Test) -> object:
    return (*places(chain), item.site.key)


def truths(trace: Trace) -> Mapping[object, set[bool]]:
    """Return how the rank tests came out behind which something stands, by place and calls."""
    found: defaultdict[object, set[bool]] = defaultdict(set)
    for chain, item in _every(trace.items, ()):
        for test in item.guards:
            found[path(chain, test)].add(test.taken)
    return found


def places(chain: tuple[Scope, ...]) -> tuple[object, ...]:
    """Return where the calls of a chain stand: equal on all ranks, unlike what they do."""
    return tuple(scope.site.key for scope in chain)


def asked(trace: Trace) -> Iterator[Asked]:
    """Yield all collectives with what is asked before them."""
    yield from _asked(trace.items, frozenset(), frozenset(), False)


def _asked(
    items: Sequence[Item],
    keys: frozenset[int],
    tests: frozenset[tuple[object, bool]],
    ordered: bool,
) -> Iterator[Asked]:
    for item in items:
        if isinstance(item, Branch):
            for arm in (item.yes, item.no):
                yield from _asked(arm.items, keys | {item.key}, tests, ordered)
        elif isinstance(item, Operation | Loop | Scope):
            inner = tests | {(test.site.key, test.taken) for test in item.guards}
            if isinstance(item, Operation):
                yield Asked(item, keys, inner, ordered)
            else:
                within = ordered or (isinstance(item, Loop) and item.forever)
                yield from _asked(item.body.items, keys, inner, within)


def _walk(
    items: Sequence[Item], chain: tuple[Scope, ...]
) -> Iterator[tuple[tuple[Scope, ...], Operation]]:
    for where, item in _every(items, chain):
        if isinstance(item, Operation):
            yield where, item


def _every(
    items: Sequence[Item], chain: tuple[Scope, ...]
) -> Iterator[tuple[tuple[Scope, ...], Operation | Exit | Loop | Scope]]:
    """Yield all that a rank test may stand before, and the calls that lead to it."""
    for item in items:
        if isinstance(item, Operation | Exit | Loop | Scope):
            yield chain, item
        if isinstance(item, Branch):
            yield from _every(item.yes.items, chain)
            yield from _every(item.no.items, chain)
        elif isinstance(item, Loop):
            yield from _every(item.body.items, chain)
        elif isinstance(item, Scope):
            yield from _every(item.body.items, (*chain, item))
