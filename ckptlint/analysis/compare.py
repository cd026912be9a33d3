"""Comparing what two rank classes do: where one reaches a collective that the other does not.

Two traces are compared under every combination of the unknown conditions in which they differ;
each combination makes them plain lists, which are aligned. What is left over on one side is a
divergence, explained by the rank test or the early exit that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal

from ckptlint.analysis.align import aligned
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.ranks import FIRST, RankClass
from ckptlint.analysis.sequences import (
    EMPTY,
    Exit,
    Item,
    Loop,
    Operation,
    Scope,
    Test,
    Trace,
)
from ckptlint.analysis.steps import (
    Asked,
    Level,
    Reached,
    Step,
    asked,
    conditions,
    flatten,
    operations,
    path,
    paths,
    places,
    truths,
)
from ckptlint.analysis.values import Site

_MAX_KEYS = 7

Kind = Literal["test", "exit", "decorator", "context", "wrapper", "hook", "order", "divergent"]


@dataclass(frozen=True)
class Divergence:
    """Ranks ``present`` reach ``operations``, ranks ``absent`` do not, because of ``kind``.

    ``test`` is the rank test (or the one around ``exit``), ``depth`` its depth in the chain of
    calls. For ``order`` ``others`` are what the absent ranks do instead. ``exempt`` says that the
    absent ranks take part under a condition that is the same on every rank, or may well do so. In
    a ``divergent`` one ranks of one class disagree on the test.
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
        left = self.exit is not None and self.kind != "divergent"
        cause = self.exit.site.key if left and self.exit else self.test.site.key
        return (self.kind, cause, self.depth)


def compare(
    one: Trace, ranks_one: RankClass, two: Trace, ranks_two: RankClass, keys: Keys
) -> list[Divergence]:
    """Return the divergences between two traces of one function, one for each cause.

    ``keys`` tells which combinations of conditions contradict themselves.
    """
    return _Comparison(ranks_one, ranks_two, one, two, keys).run()


class _Comparison:
    """The comparison of two rank classes over one function."""

    def __init__(
        self,
        ranks_one: RankClass,
        ranks_two: RankClass,
        one: Trace,
        two: Trace,
        keys: Keys,
    ) -> None:
        self.keys = keys
        self.ranks = (ranks_one, ranks_two)
        self.traces = (one, two)
        self.found: dict[tuple[object, ...], Divergence] = {}
        self.ordered: set[frozenset[tuple[str, int, int]]] = set()
        self.done: set[object] = set()

    def run(self) -> list[Divergence]:
        self._traces(*self.traces, {}, (), (), False)
        return list(self.found.values())

    @cached_property
    def paths(self) -> tuple[frozenset[object], ...]:
        """The operations of each side, by the calls that lead to them."""
        return tuple(map(paths, self.traces))

    @cached_property
    def truths(self) -> tuple[Mapping[object, set[bool]], ...]:
        """How each rank test came out on each side."""
        return tuple(map(truths, self.traces))

    @cached_property
    def asked(self) -> tuple[tuple[Asked, ...], ...]:
        """The operations of each side, with what is asked before them."""
        one, two = self.traces
        return tuple(asked(one)), tuple(asked(two))

    def _cause(self, levels: tuple[Level, ...], chain: tuple[Scope, ...]) -> Level | None:
        """Return the outermost test that parts the ranks: one that does not come out alike."""
        for level in levels:
            place = path(chain[: level.depth], level.test)
            if any(each.get(place) != {level.test.taken} for each in self.truths):
                return level
        return levels[0] if levels else None

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
        if one.shape == two.shape or self._is_done(one, two, given, chain, levels, endless, loop):
            return
        first, second = _trimmed(one.items, two.items)
        keys = [key for key in conditions(first) | conditions(second) if key not in given]
        seen: set[object] = set()
        for values in _combinations(len(keys)):
            chosen = {**given, **dict(zip(keys, values, strict=True))}
            if self._contradicts(chosen, keys):
                continue
            a: list[Step] = []
            b: list[Step] = []
            end_a = flatten(first, chosen, chain, levels, a)
            end_b = flatten(second, chosen, chain, levels, b)
            if any(
                end == "continue"
                and (endless or other in ("break", "return"))
                and _only_marks(trace, chosen)
                for end, trace, other in ((end_a, one, end_b), (end_b, two, end_a))
            ):
                continue  # one rank tries again while the others wait in the same call
            paths = tuple(tuple((id(s.item), places(s.chain)) for s in steps) for steps in (a, b))
            if paths in seen:
                continue
            seen.add(paths)
            self._lists(a, b, chosen)
            if loop and end_a != end_b:
                self._leaves(one, two, (end_a, a), (end_b, b), chosen, chain, levels)

    def _is_done(
        self,
        one: Trace,
        two: Trace,
        given: Mapping[int, bool],
        chain: tuple[Scope, ...],
        levels: tuple[Level, ...],
        *how: bool,
    ) -> bool:
        """Say whether two sequences were compared before under all that decides on them.

        A loop is met under every combination of the conditions around it, most of which it does not
        ask; with each loop inside another the combinations would multiply.
        """
        inside = one.conditions | two.conditions
        telling = inside.union(*map(self.keys.parts, inside))
        facts = frozenset((key, truth) for key, truth in given.items() if key in telling)
        way = (*map(id, chain), *((id(level.test), level.depth) for level in levels))
        task = (id(one), id(two), way, how, facts)
        if task in self.done:
            return True
        self.done.add(task)
        return False

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
        pairs, gaps = aligned(a, b)
        for one, two in pairs:
            self._loops(one, two, chosen)
        plain = [
            (operations(left, chosen), operations(right, chosen), left, right)
            for left, right in gaps
        ]
        alone = ([r for gap in plain for r in gap[0]], [r for gap in plain for r in gap[1]])
        for ops_a, ops_b, left, right in plain:
            if ops_a and ops_b:
                self._order(ops_a, ops_b, 0)
                continue
            for reached in ops_a:
                self._missing(0, reached, right, alone[1])
            for reached in ops_b:
                self._missing(1, reached, left, alone[0])
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
                body = step.item.body
                one, two = (body, EMPTY) if side == 0 else (EMPTY, body)
                self._traces(one, two, chosen, step.chain, step.levels, False)

    def _missing(
        self, side: int, reached: Reached, other: list[Step], opposite: list[Reached]
    ) -> None:
        """Tell of a collective that one side has alone, or has in another order."""
        for counterpart in opposite:
            if counterpart.operation.shape == reached.operation.shape:
                self._order([reached], [counterpart], side)
                return
        self._explain(side, reached, other)

    def _explain(self, side: int, reached: Reached, other: list[Step]) -> None:
        level = self._cause(reached.levels, reached.chain)
        exit_step = next(
            (
                step
                for step in other
                if isinstance(step.item, Exit)
                and step.levels
                and (
                    step.item.kind == "raise"
                    or places(reached.chain[: len(step.chain)]) == places(step.chain)
                )
            ),
            None,
        )
        own = level is not None and (exit_step is None or level.depth <= len(exit_step.chain))
        if own and level is not None:
            kind, shown = _shown(level, reached)
            self._add(side, kind, reached, shown, None)
        elif exit_step is not None and isinstance(exit_step.item, Exit):
            outer = self._cause(exit_step.levels, exit_step.chain)
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
        chosen: Mapping[int, bool],
        chain: tuple[Scope, ...],
        levels: tuple[Level, ...],
    ) -> None:
        """Report a loop that some ranks leave while the others go on to its collectives."""
        for side, (end, steps), other in ((1, first, two), (0, second, one)):
            if end not in ("break", "return", "raise") or not steps or not steps[-1].marks:
                continue
            leaving = steps[-1]
            outer = self._cause(leaving.levels, leaving.chain)
            if outer is None or not isinstance(leaving.item, Exit):
                continue
            stays = operations([Step(Loop(leaving.item.site, other, False), levels, chain)], chosen)
            for reached in stays[:1]:
                self._add(
                    side, "exit", reached, Level(outer.test, len(leaving.chain)), leaving.item
                )

    def _order(self, mine: list[Reached], theirs: list[Reached], side: int) -> None:
        """Tell that the ranks meet in different collectives; ``mine`` are those of ``side``."""
        if not mine[0].levels:
            mine, theirs, side = theirs, mine, 1 - side
        pair = frozenset({mine[0].operation.site.key, theirs[0].operation.site.key})
        if pair in self.ordered or self._serves(mine, theirs) or self._serves(theirs, mine):
            return
        self.ordered.add(pair)
        level = self._cause(mine[0].levels, mine[0].chain)
        if level is None:
            return
        self._record(
            Divergence(
                "order",
                tuple(mine),
                level.test,
                level.depth,
                (self.ranks[side],),
                (self.ranks[1 - side],),
                None,
                tuple(theirs),
                self._has_its_own(side, mine[0], level.test),
            )
        )

    def _has_its_own(self, side: int, reached: Reached, test: Test) -> bool:
        """Say whether the other ranks may well answer, in the other arm of a test: they make the
        same call where each side asks for what the other does not, or they are the first rank and
        these wait for its orders in a loop without an end."""
        mine = [each for each in self.asked[side] if each.operation is reached.operation]
        theirs = self.asked[1 - side]
        if self.ranks[1 - side] is FIRST and any(each.ordered for each in mine):
            return True
        other = (test.site.key, not test.taken)
        return any(
            two.operation.shape == one.operation.shape
            and other in two.tests
            and bool(one.keys - two.keys)
            and bool(two.keys - one.keys)
            for one in mine
            for two in theirs
        )

    @staticmethod
    def _serves(mine: list[Reached], theirs: list[Reached]) -> bool:
        """Say whether one side answers in a loop to each call that the other makes."""
        shapes = {reached.operation.shape for reached in mine if reached.served}
        return bool(shapes) and any(reached.operation.shape in shapes for reached in theirs)

    def _add(
        self, side: int, kind: Kind, reached: Reached, level: Level, exit_: Exit | None
    ) -> None:
        absent = self.ranks[1 - side]
        exempt = (
            path(reached.chain, reached.operation) in self.paths[1 - side]
            and absent.global_rank != 0
            and (exit_ is None or level.test.compound)
        ) or (exit_ is None and self._has_its_own(side, reached, level.test))
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


def _shown(level: Level, reached: Reached) -> tuple[Kind, Level]:
    """Say what kind of test keeps ranks away, and at which depth the fault is to be shown.

    A helper that runs the function it is given (a decorator, ``on_main(fn)``) is right by itself:
    the fault is shown in the function that was handed over, or where it was handed over.
    """
    kind: Kind = level.test.kind  # type: ignore[assignment]
    if kind == "test" and len(reached.chain) > level.depth:
        if reached.chain[level.depth].handed:
            return "wrapper", level
    elif kind == "test" and reached.operation.handed and level.depth > 1:
        return "wrapper", Level(level.test, level.depth - 2)
    return kind, level


def _alike(one: Item, two: Item) -> bool:
    return one.shape == two.shape


def _same(one: Item, two: Item) -> bool:
    if isinstance(one, Operation) and isinstance(two, Operation):
        return one.shape == two.shape and one.site.key == two.site.key
    return one.shape == two.shape


def _only_marks(trace: Trace, chosen: Mapping[int, bool]) -> bool:
    """Say whether a loop's turn reaches no collective, from its beginning on."""
    steps: list[Step] = []
    flatten(trace.items, chosen, (), (), steps)
    return all(step.marks for step in steps)


def _trimmed(a: tuple[Item, ...], b: tuple[Item, ...]) -> tuple[tuple[Item, ...], ...]:
    """Drop the items with which both begin, and end, alike.

    Those that stand in one place come first: of two like calls in a row it may be the first, or
    the last, that one side has alone.
    """
    for alike in (_same, _alike):
        start = 0
        while start < min(len(a), len(b)) and alike(a[start], b[start]):
            start += 1
        a, b = a[start:], b[start:]
        end = 0
        while end < min(len(a), len(b)) and alike(a[-1 - end], b[-1 - end]):
            end += 1
        middle = a[: len(a) - end], b[: len(b) - end]
        if any(Trace(part).exits for part in middle):
            return a, b  # an exit takes a rank past the common end
        a, b = middle
        if not (a and b):
            break
    return a, b


def _combinations(count: int) -> Iterator[tuple[bool, ...]]:
    """Yield truth values for ``count`` conditions: all of them, or those near the corners."""
    if count <= _MAX_KEYS:
        yield from product((True, False), repeat=count)
        return
    for base in (True, False):
        yield (base,) * count
        for index in range(count):
            yield tuple(base if i != index else not base for i in range(count))
