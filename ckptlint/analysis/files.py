"""Comparing what the rank classes do to files: races, missing order, paths that differ.

Unlike a collective, an access to a file is right or wrong by what the *other* ranks do at the same
time: all of them write the same file, or one writes what another reads before they have waited for
each other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from ckptlint.analysis.choosing import chosen
from ckptlint.analysis.contention import Contention, changes, races
from ckptlint.analysis.contents import partial
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.merging import merged
from ckptlint.analysis.origins import HELD, NAMED, RANKS, RESULT, SHARE, Origins, words_of
from ckptlint.analysis.ranks import FIRST, NODE_LEADER, OTHER, SECOND, RankClass
from ckptlint.analysis.sequences import Access, Operation, Scope, Trace
from ckptlint.analysis.values import Const, Value
from ckptlint.analysis.visits import Visit, visits
from ckptlint.analysis.waits import counts, may_wait, shapes
from ckptlint.project import Function

_ALIKE = frozenset({RESULT})
_LEADERS = frozenset(
    {"node"}
)  # what is made of the rank within the node is equal on the first ones
_MEANT = {"node": frozenset({"node"}), "two": frozenset({"second"})}
_GUESSED = frozenset({HELD, NAMED, SHARE, RESULT})


def contentions(
    traces: Mapping[RankClass, Trace],
    tells: Callable[[Function], bool],
    keys: Keys,
    origins: Origins,
) -> list[Contention]:
    """Return what the rank classes do to each other's files in one function.

    ``tells`` says of a function whether it tells ranks apart.
    """
    if FIRST not in traces or OTHER not in traces:
        return []
    seen = {ranks: visits(trace) for ranks, trace in traces.items()}
    if any(map(_starts_one, seen[FIRST])):
        return []
    comparison = _Comparison(seen, tells, keys, origins)
    found: dict[tuple[object, ...], Contention] = {}
    first, rest = seen[FIRST], seen[OTHER]
    others = (*merged(first, rest, origins), *partial(first, rest, keys, origins))
    for contention in (*comparison.run(), *others):
        found.setdefault(contention.key, contention)
    return list(found.values())


class _Comparison:
    def __init__(
        self,
        seen: Mapping[RankClass, Sequence[Visit]],
        tells: Callable[[Function], bool],
        keys: Keys,
        origins: Origins,
    ) -> None:
        self.seen = seen
        self.first = seen[FIRST]
        self.rest = seen[OTHER]
        self.tells = tells
        self.keys = keys
        self.origins = origins
        self.reached = {
            ranks: {(v.key, frozenset(v.conditions)) for v in found}
            for ranks, found in seen.items()
        }
        self.places = {ranks: {v.key for v in found} for ranks, found in seen.items()}
        self._met: dict[RankClass, tuple[Mapping[int, int], Mapping[int, int]]] = {}

    def run(self) -> Iterator[Contention]:
        yield from self._by_all()
        yield from self._by_some(NODE_LEADER, "node")
        yield from self._by_some(SECOND, "two")
        yield from self._unordered()
        yield from self._paths()
        yield from self._folders()
        yield from chosen(self.first, self.rest, tuple(self.seen), self._shared)

    # -- the same file ---------------------------------------------------------------------------

    def _by_all(self) -> Iterator[Contention]:
        # What is done under a rank test on one way is done without it only where there is one rank.
        guarded = {
            v.key
            for v in self.first
            if v.levels and (v.key, frozenset(v.conditions)) not in self.reached[OTHER]
        }
        before, after = self._waits(OTHER)
        theirs = {(v.key, frozenset(v.conditions)): after[v.order] for v in self.rest if changes(v)}
        left = {v.key for v in self.rest if v.left}
        done: set[tuple[str, int]] = set()
        for visit in self.first:
            if self._is_done(visit, done):
                continue
            if (
                races(visit)
                and theirs.get((visit.key, frozenset(visit.conditions))) == before[visit.order]
                and visit.key not in guarded
                and self._shared(visit)
            ):
                meeting = self._meeting(visit)
                shown = meeting is not None or any(
                    self.tells(scope.function) for scope in visit.chain
                )
                shown = shown and not (self._close(visit) or visit.key in left)
                yield Contention("all", visit, tuple(self.seen), shown, meeting=meeting)

    def _is_done(self, visit: Visit, done: set[tuple[str, int]]) -> bool:
        """Say whether a call before this one, added to ``done``, leaves it nothing to do."""
        item = visit.item
        if not (isinstance(item, Access) and item.call.once):
            return False
        what = (item.call.name, self.keys.of(item.path))
        if what in done:
            return True
        done.add(what)
        return False

    def _meeting(self, visit: Visit) -> Visit | None:
        """Return the nearest collective of all ranks, made by a function on the way to the access:
        best one that no condition keeps from both."""
        met = [
            v
            for v in self.first
            if isinstance(v.item, Operation)
            and not v.item.call.everyday
            and not v.levels
            and v.where == visit.where[: len(v.where)]
            and not v.contradicts(visit)
        ]

        def distance(v: Visit) -> tuple[bool, int, int]:
            unsure = not set(v.conditions) <= set(visit.conditions)
            return (unsure, -len(v.chain), abs(v.order - visit.order))

        return min(met, key=distance, default=None)

    def _by_some(self, others: RankClass, kind: Literal["node", "two"]) -> Iterator[Contention]:
        """Find what a rank beside the first does too, but not all do."""
        if others not in self.seen:
            return
        scopes = _MEANT[kind]
        for visit in self.first:
            if (
                races(visit)
                and self._done_first(others, visit)
                and all(scopes & level.test.rank.scopes for level in visit.levels)
                and self._shared(visit, scopes & _LEADERS)
            ):
                yield Contention(kind, visit, (FIRST, others), True)

    def _done_first(self, others: RankClass, visit: Visit) -> bool:
        """Say whether ranks beside rank 0 do the same, and the rest do not or only afterwards."""
        here = frozenset(visit.conditions)
        if any(key == visit.key and known <= here for key, known in self.reached[OTHER]):
            return self._done_by(others, visit) and not self._done_by(OTHER, visit)
        return visit.key in self.places[others]

    def _done_by(self, others: RankClass, visit: Visit) -> bool:
        """Say whether other ranks do the same at the same time, wherever rank 0 does it."""
        before, after = self._waits(others)
        return any(
            each.key == visit.key
            and frozenset(each.conditions) <= frozenset(visit.conditions)
            and after[each.order] == before[visit.order]
            for each in self.seen[others]
            if isinstance(each.item, Access)
        )

    def _close(self, visit: Visit) -> bool:
        """Say whether they mean the same file only if something is equal that may differ."""
        assert isinstance(visit.item, Access)
        made_of = self.origins.of(visit.item.path)
        conditions = (self.origins.of_key(key) for key, _ in visit.conditions)
        asked = frozenset[str]().union(*conditions)
        return SHARE in asked or not self.origins.close.isdisjoint(made_of | asked)

    def _shared(self, visit: Visit, alike: frozenset[str] = frozenset()) -> bool:
        """Say whether every rank that gets here may mean the same file.

        ``alike`` are origins that are equal on all ranks concerned.
        """
        assert isinstance(visit.item, Access)
        if any(map(_for_one_process, visit.chain)):
            return False
        if _harmless(visit.item.path) or self._differing(visit.item.path) - alike:
            return False
        if any(not level.test.rank.exact for level in visit.levels):
            return False
        agreed = self.origins.close | {SHARE} | alike
        return not any(self.origins.of_key(key) - agreed for key, _ in visit.conditions)

    def _differing(self, path: Value) -> frozenset[str]:
        return self.origins.of(path) - _ALIKE - self.origins.close

    # -- order ---------------------------------------------------------------------------------

    def _unordered(self) -> Iterator[Contention]:
        """Find what rank 0 writes and others use, or others use and rank 0 deletes, with no
        collective between them."""
        writes = [
            v for v in self.first if changes(v) and v.levels and v.key not in self.places[OTHER]
        ]
        if not writes:
            return
        first, rest = self._waits(OTHER)
        polled = {visit.key for visit in self.rest if visit.polled}
        known = {v.item.site.node for v in (*self.first, *self.rest)}
        own = {visit.key: visit for visit in self.first}
        for write in writes:
            for use in self.rest:
                if not isinstance(use.item, Access) or not self._same(write, use):
                    continue
                if use.key in polled or may_wait(write, use, known):
                    continue
                mine = own.get(use.key)
                before = first[write.order]
                after = rest[use.order]
                if mine is None or mine.order > write.order:
                    if after <= before:
                        yield Contention("order", write, (FIRST,), True, use)
                elif _removes(write) and before <= after:
                    yield Contention("order", use, (OTHER,), True, write)

    def _waits(self, others: RankClass) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Count the collectives before each access in which rank 0 and others meet: those in one
        place, and those of a function in which they make the same ones, be it in different places.
        """
        known = self._met.get(others)
        if known is None:
            found = self.seen[others]
            common = self.places[FIRST] & self.places[others]
            mine, theirs = shapes(self.first), shapes(found)
            alike = {chain for chain, made in mine.items() if theirs.get(chain) == made}

            def meets(visit: Visit) -> bool:
                return visit.key in common or visit.where in alike

            known = self._met[others] = counts(self.first, meets), counts(found, meets)
        return known

    def _same(self, write: Visit, use: Visit) -> bool:
        assert isinstance(write.item, Access)
        assert isinstance(use.item, Access)
        if write.contradicts(use) or isinstance(write.item.path, Const):
            return False
        mine, theirs = self.keys.of(write.item.path), self.keys.of(use.item.path)
        if self.origins.of(write.item.path) - _ALIKE or self.origins.of(use.item.path) & RANKS:
            return False
        return mine == theirs

    # -- paths that differ ----------------------------------------------------------------------

    def _paths(self) -> Iterator[Contention]:
        for visit in self.first:
            item = visit.item
            if not isinstance(item, Operation) or item.path is None or visit.levels:
                continue
            if item.call.effect not in ("save", "load"):
                continue
            found = self.origins.of(item.path) - _GUESSED
            mark = self.keys.disagreement(item.path)
            if found:
                yield Contention("path", visit, tuple(self.seen), True, None, found)
            elif mark is not None and not mark.likely and not mark.part:
                told = frozenset({mark.reason})
                yield Contention("path", visit, tuple(self.seen), False, None, told)

    def _folders(self) -> Iterator[Contention]:
        """Find folders that every rank makes, under a name on which ranks may agree or not: it is
        neither the one of all nor one of each."""
        for visit in self.first:
            item = visit.item
            if not isinstance(item, Access) or visit.levels or visit.key not in self.places[OTHER]:
                continue
            if (item.call.who, item.call.effect) != ("any", "create"):
                continue
            made_of = self.origins.of(item.path)
            found = (made_of & self.origins.close) - {HELD}
            if found and made_of <= found | {HELD} | _ALIKE:
                yield Contention("path", visit, tuple(self.seen), False, None, found)


def _starts_one(visit: Visit) -> bool:
    """Say whether a program is started here that is one process in any case."""
    return isinstance(visit.item, Operation) and visit.item.single and not visit.conditions


def _removes(visit: Visit) -> bool:
    return visit.item.call.effect in ("delete", "rename")


def _for_one_process(scope: Scope) -> bool:
    """Say whether a call gives a parameter that is named after the rank a number: who does so
    runs in one process what each of several would be given its own number for."""
    node = scope.site.node
    if not isinstance(node, ast.Call):
        return False
    given = [(keyword.arg or "", keyword.value) for keyword in node.keywords]
    parameters = [each.arg for each in scope.function.node.args.args]
    if scope.function.owner is not None:
        parameters = parameters[1:]
    given += zip(parameters, node.args, strict=False)
    return any(
        isinstance(value, ast.Constant) and type(value.value) is int and "rank" in words_of(name)
        for name, value in given
    )


def _harmless(path: Value) -> bool:
    return isinstance(path, Const) and str(path.value).startswith("/dev/")
