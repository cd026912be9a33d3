"""Comparing what two rank classes do: where one reaches a collective that the other does not.

Two traces are compared under every combination of the unknown conditions in which they differ;
each combination makes them plain lists, which are aligned. What is left over on one side is a
divergence, explained by the rank test or the early exit that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import EMPTY, Branch, Exit, Item, Loop, Operation, Scope, Test, Trace
from ckptlint.analysis.values import Keys, Site

_MAX_KEYS = 7
_MAX_ALIGNED = 120

Kind = Literal["test", "exit", "decorator", "context", "wrapper", "hook", "order"]


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
    """A collective and the calls that lead to it from the function analysed."""

    operation: Operation
    chain: tuple[Scope, ...]
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Divergence:
    """Ranks ``present`` reach ``operations``, ranks ``absent`` do not, because of ``kind``.

    ``test`` is the rank test (or the one around ``exit``), ``depth`` its depth in the chain of
    calls. For ``order`` ``others`` are what the absent ranks do instead. ``exempt`` says that the
    absent ranks take part under a condition that is the same on every rank.
    """

    kind: Kind
    operations: tuple[Reached, ...]
    test: Test
    depth: int
    present: tuple[RankClass, ...]
    absent: tuple[RankClass, ...]
    exit: Exit | None = None
    others: tuple[Reached, ...] = ()
    exempt: bool = False

    @property
    def inner_depth(self) -> int:
        """Depth of the function in which the fault is to be shown."""
        return self.depth + (self.kind in ("decorator", "hook", "wrapper"))

    def place(self, reached: Reached) -> Site:
        """Where the function that holds the test reaches an operation: it or the call to it."""
        if len(reached.chain) > self.inner_depth:
            return reached.chain[self.inner_depth].site
        return reached.operation.site

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two divergences the same fault."""
        cause = self.exit.site.key if self.exit is not None else self.test.site.key
        return (self.kind, cause, self.depth)


def compare(
    one: Trace, ranks_one: RankClass, two: Trace, ranks_two: RankClass, keys: Keys
) -> list[Divergence]:
    """Return the divergences between two traces of one function, one for each cause.

    ``keys`` tells which combinations of conditions contradict themselves.
    """
    return _Comparison(ranks_one, ranks_two, _paths(one), _paths(two), keys).run(one, two)


class _Comparison:
    """The comparison of two rank classes over one function."""

    def __init__(
        self,
        ranks_one: RankClass,
        ranks_two: RankClass,
        paths_one: frozenset[object],
        paths_two: frozenset[object],
        keys: Keys,
    ) -> None:
        self.keys = keys
        self.ranks = (ranks_one, ranks_two)
        self.paths = (paths_one, paths_two)
        self.found: dict[tuple[object, ...], Divergence] = {}

    def run(self, one: Trace, two: Trace) -> list[Divergence]:
        self._traces(one, two, {}, (), (), False)
        return list(self.found.values())

    def _traces(
        self,
        one: Trace,
        two: Trace,
        given: Mapping[int, bool],
        chain: tuple[Scope, ...],
        levels: tuple[Level, ...],
        endless: bool,
        loop: bool = False,
    ) -> None:
        if one.shape == two.shape:
            return
        first, second = _trimmed(one.items, two.items)
        keys = sorted((_keys(first) | _keys(second)) - given.keys())
        seen: set[object] = set()
        for values in _combinations(len(keys)):
            chosen = {**given, **dict(zip(keys, values, strict=True))}
            if self._contradicts(chosen, keys):
                continue
            a: list[Step] = []
            b: list[Step] = []
            end_a = _flatten(first, chosen, chain, levels, a)
            end_b = _flatten(second, chosen, chain, levels, b)
            if endless and any(
                end == "continue" and all(step.marks for step in steps)
                for end, steps in ((end_a, a), (end_b, b))
            ):
                continue  # one rank tries again while the others wait in the same call
            paths = tuple(
                tuple((id(s.item), _places(s.chain)) for s in steps) for steps in (a, b)
            )
            if paths in seen:
                continue
            seen.add(paths)
            self._lists(a, b, chosen)
            if loop and end_a != end_b:
                self._leaves(one, two, (end_a, a), (end_b, b), chain, levels)

    def _contradicts(self, chosen: Mapping[int, bool], keys: Sequence[int]) -> bool:
        """Say whether a compound condition has another truth than its parts give it."""
        for key in keys:
            if key in self.keys.meanings:
                parts = {k: truth for k, truth in chosen.items() if k != key}
                known = self.keys.known(key, parts)
                if known is not None and known is not chosen[key]:
                    return True
        return False

    # -- plain lists ---------------------------------------------------------------------------

    def _lists(self, a: list[Step], b: list[Step], chosen: Mapping[int, bool]) -> None:
        if [s.item.shape for s in a if not s.marks] == [s.item.shape for s in b if not s.marks]:
            return
        gaps: list[tuple[list[Step], list[Step]]] = []
        for gap in _aligned(a, b):
            if isinstance(gap[0], Step):
                self._loops(gap[0], gap[1], chosen)  # type: ignore[arg-type]
            else:
                gaps.append(gap)  # type: ignore[arg-type]
        plain = [
            (_operations(left, chosen), _operations(right, chosen), left, right)
            for left, right in gaps
        ]
        shapes = [
            {r.operation.shape for pair in plain for r in pair[side]} for side in (0, 1)
        ]
        swapped = shapes[0] & shapes[1]
        for ops_a, ops_b, left, right in plain:
            if ops_a and ops_b:
                self._order(ops_a, ops_b)
                continue
            self._missing(0, ops_a, right, swapped, plain)
            self._missing(1, ops_b, left, swapped, plain)
            self._lone_loops(0, left, chosen)
            self._lone_loops(1, right, chosen)

    def _loops(self, one: Step, two: Step, chosen: Mapping[int, bool]) -> None:
        a, b = one.item, two.item
        if isinstance(a, Loop) and isinstance(b, Loop) and a.body.shape != b.body.shape:
            self._traces(
                a.body, b.body, chosen, one.chain, one.levels, a.endless and b.endless, True
            )

    def _lone_loops(self, side: int, steps: list[Step], chosen: Mapping[int, bool]) -> None:
        """Look into loops in which one side reaches a collective and the other does nothing."""
        for step in steps:
            if isinstance(step.item, Loop):
                bodies = (step.item.body, EMPTY)[:: 1 if side == 0 else -1]
                self._traces(*bodies, chosen, step.chain, step.levels, False)

    def _missing(
        self,
        side: int,
        operations: list[Reached],
        other: list[Step],
        swapped: set[object],
        plain: Sequence[tuple[list[Reached], list[Reached], list[Step], list[Step]]],
    ) -> None:
        for reached in operations:
            if reached.operation.shape in swapped:
                counterpart = next(
                    (
                        r
                        for pair in plain
                        for r in pair[1 - side]
                        if r.operation.shape == reached.operation.shape
                    ),
                    None,
                )
                if counterpart is not None:
                    self._order(*([[reached], [counterpart]][:: 1 if side == 0 else -1]))
                    continue
            self._explain(side, reached, other)

    def _explain(self, side: int, reached: Reached, other: list[Step]) -> None:
        level = _outermost(reached.levels)
        exit_step = next(
            (
                step
                for step in other
                if step.marks
                and step.levels
                and _places(reached.chain[: len(step.chain)]) == _places(step.chain)
            ),
            None,
        )
        own = level is not None and (
            exit_step is None or level.depth <= len(exit_step.chain)
        )
        if own and level is not None:
            kind: Kind = level.test.kind  # type: ignore[assignment]
            self._add(side, kind, reached, level, None)
        elif exit_step is not None and isinstance(exit_step.item, Exit):
            outer = _outermost(exit_step.levels)
            if outer is not None:
                inner = Level(outer.test, len(exit_step.chain))
                if outer.depth < len(exit_step.chain):
                    self._add(side, "test", reached, outer, None)
                else:
                    self._add(side, "exit", reached, inner, exit_step.item)

    def _leaves(
        self,
        one: Trace,
        two: Trace,
        first: tuple[str | None, list[Step]],
        second: tuple[str | None, list[Step]],
        chain: tuple[Scope, ...],
        levels: tuple[Level, ...],
    ) -> None:
        """Report a loop that some ranks leave while the others go on to its collectives."""
        for side, (end, steps), other in ((1, first, two), (0, second, one)):
            if end not in ("break", "return") or not steps or not steps[-1].marks:
                continue
            leaving = steps[-1]
            outer = _outermost(leaving.levels)
            if outer is None or not isinstance(leaving.item, Exit):
                continue
            stays = _operations([Step(Loop(leaving.item.site, other, False), levels, chain)], {})
            for reached in stays[:1]:
                self._add(side, "exit", reached, Level(outer.test, len(leaving.chain)),
                          leaving.item)

    def _order(self, a: list[Reached], b: list[Reached]) -> None:
        level = _outermost(a[0].levels) or _outermost(b[0].levels)
        if level is None:
            return
        if _outermost(a[0].levels) is None:
            a, b = b, a
            side = 1
        else:
            side = 0
        self._record(
            Divergence(
                "order",
                tuple(a),
                level.test,
                level.depth,
                (self.ranks[side],),
                (self.ranks[1 - side],),
                None,
                tuple(b),
            )
        )

    def _add(
        self, side: int, kind: Kind, reached: Reached, level: Level, exit_: Exit | None
    ) -> None:
        absent = self.ranks[1 - side]
        exempt = (
            _path(reached.chain, reached.operation) in self.paths[1 - side]
            and absent.global_rank != 0
        )
        self._record(
            Divergence(
                kind,
                (reached,),
                level.test,
                level.depth,
                (self.ranks[side],),
                (absent,),
                exit_,
                (),
                exempt,
            )
        )

    def _record(self, divergence: Divergence) -> None:
        known = self.found.get(divergence.key)
        self.found[divergence.key] = merged(known, divergence) if known else divergence


def merged(known: Divergence, other: Divergence) -> Divergence:
    """Join two divergences of one cause: their operations, and the ranks concerned."""
    return replace(
        known,
        operations=_union(known.operations, other.operations),
        others=_union(known.others, other.others),
        present=tuple(dict.fromkeys(known.present + other.present)),
        absent=tuple(dict.fromkeys(known.absent + other.absent)),
        exempt=known.exempt and other.exempt,
    )


def _union(one: tuple[Reached, ...], two: tuple[Reached, ...]) -> tuple[Reached, ...]:
    seen = {reached.operation.site.key for reached in one}
    return one + tuple(r for r in two if r.operation.site.key not in seen)


def _outermost(levels: tuple[Level, ...]) -> Level | None:
    return levels[0] if levels else None


def _trimmed(a: tuple[Item, ...], b: tuple[Item, ...]) -> tuple[tuple[Item, ...], ...]:
    """Drop the items with which both begin, and end, alike."""
    start = 0
    while start < min(len(a), len(b)) and a[start].shape == b[start].shape:
        start += 1
    a, b = a[start:], b[start:]
    end = 0
    while end < min(len(a), len(b)) and a[-1 - end].shape == b[-1 - end].shape:
        end += 1
    middle = a[: len(a) - end], b[: len(b) - end]
    if any(Trace(part).exits for part in middle):
        return a, b  # an exit takes a rank past the common end
    return middle


def _keys(items: Sequence[Item]) -> set[int]:
    found: set[int] = set()
    for item in items:
        if isinstance(item, Branch):
            found.add(item.key)
            found |= _keys(item.yes.items) | _keys(item.no.items)
        elif isinstance(item, Scope):
            found |= _keys(item.body.items)
    return found


def _combinations(count: int) -> Iterator[tuple[bool, ...]]:
    """Yield truth values for ``count`` conditions: all of them, or those near the corners."""
    if count <= _MAX_KEYS:
        yield from product((True, False), repeat=count)
        return
    for base in (True, False):
        yield (base,) * count
        for index in range(count):
            yield tuple(base if i != index else not base for i in range(count))


def _flatten(
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
            ended = _flatten(arm.items, chosen, chain, levels, into)
            if ended is not None:
                return ended
        elif isinstance(item, Scope):
            inner = levels + _levels(item.guards, chain)
            _flatten(item.body.items, chosen, (*chain, item), inner, into)
        elif isinstance(item, Operation | Loop | Exit):
            step = Step(item, levels + _levels(item.guards, chain), chain)
            into.append(step)
            if isinstance(item, Exit):
                return item.kind
            if isinstance(item, Loop):
                ended = _leaves_function(item, chosen, chain, levels)
                if ended is not None:
                    into.append(ended)
                    return "return"
    return None


def _leaves_function(
    loop: Loop, chosen: Mapping[int, bool], chain: tuple[Scope, ...], levels: tuple[Level, ...]
) -> Step | None:
    """Return the ``return`` that the first turn of a loop always ends in."""
    if not loop.body.returns:
        return None
    for item in loop.body:
        if isinstance(item, Exit):
            if item.kind == "return":
                return Step(item, levels + _levels(item.guards, chain), chain)
            return None
        if isinstance(item, Branch) and item.key in chosen:
            arm = item.yes if chosen[item.key] else item.no
            inner = _leaves_function(Loop(loop.site, arm, False), chosen, chain, levels)
            if inner is not None or arm.exits:
                return inner
    return None


def _levels(guards: Sequence[Test], chain: tuple[Scope, ...]) -> tuple[Level, ...]:
    return tuple(Level(test, len(chain)) for test in guards)


def _operations(steps: Sequence[Step], chosen: Mapping[int, bool]) -> list[Reached]:
    """Return the collectives of steps, those in loops included, in order."""
    found: list[Reached] = []
    for step in steps:
        if isinstance(step.item, Operation):
            found.append(Reached(step.item, step.chain, step.levels))
        elif isinstance(step.item, Loop):
            inner: list[Step] = []
            _flatten(step.item.body.items, chosen, step.chain, step.levels, inner)
            found.extend(_operations(inner, chosen))
    return found


def sites(trace: Trace) -> frozenset[object]:
    """Return the places of all operations of a trace."""
    return frozenset(operation.site.key for _, operation in _walk(trace.items, ()))


def _paths(trace: Trace) -> frozenset[object]:
    """Return the places of all operations together with the calls that lead to them."""
    return frozenset(_path(chain, operation) for chain, operation in _walk(trace.items, ()))


def _path(chain: tuple[Scope, ...], operation: Operation) -> object:
    return (*_places(chain), operation.site.key)


def _places(chain: tuple[Scope, ...]) -> tuple[object, ...]:
    """Return where the calls of a chain stand: equal on all ranks, unlike what they do."""
    return tuple(scope.site.key for scope in chain)


def _walk(
    items: Sequence[Item], chain: tuple[Scope, ...]
) -> Iterator[tuple[tuple[Scope, ...], Operation]]:
    for item in items:
        if isinstance(item, Operation):
            yield chain, item
        elif isinstance(item, Branch):
            yield from _walk(item.yes.items, chain)
            yield from _walk(item.no.items, chain)
        elif isinstance(item, Loop):
            yield from _walk(item.body.items, chain)
        elif isinstance(item, Scope):
            yield from _walk(item.body.items, (*chain, item))


def _meets(a: Step, b: Step) -> int:
    """Score a pair of steps: 0 when ranks cannot meet in it, more when they surely do."""
    if a.marks or b.marks:
        return 0
    same_place = a.item.site.key == b.item.site.key
    if isinstance(a.item, Loop) and isinstance(b.item, Loop):
        equal = a.item.body.shape == b.item.body.shape
        return (2 + same_place) if equal else int(same_place)
    if type(a.item) is type(b.item) and a.item.shape == b.item.shape:
        return 2 + same_place
    return 0


Gap = tuple[list[Step], list[Step]]


def _aligned(a: list[Step], b: list[Step]) -> Iterator[Gap | tuple[Step, Step]]:
    """Yield matched pairs and, between them, what each side has alone, in order."""
    start = 0
    while start < min(len(a), len(b)) and _meets(a[start], b[start]) == 3:
        yield a[start], b[start]
        start += 1
    a, b = a[start:], b[start:]
    if max(len(a), len(b)) > _MAX_ALIGNED:
        a, b = a[:_MAX_ALIGNED], b[:_MAX_ALIGNED]
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            score = _meets(a[i], b[j])
            best[i][j] = max(
                best[i + 1][j],
                best[i][j + 1],
                best[i + 1][j + 1] + score if score else 0,
            )
    left: list[Step] = []
    right: list[Step] = []
    i = j = 0
    while i < len(a) or j < len(b):
        if i < len(a) and j < len(b):
            score = _meets(a[i], b[j])
            if score and best[i][j] == best[i + 1][j + 1] + score:
                yield left, right
                left, right = [], []
                yield a[i], b[j]
                i, j = i + 1, j + 1
                continue
        if j >= len(b) or (i < len(a) and best[i + 1][j] >= best[i][j + 1]):
            left.append(a[i])
            i += 1
        else:
            right.append(b[j])
            j += 1
    yield left, right
