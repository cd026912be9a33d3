"""One function looked at by itself: what each rank class does there, and what comes of comparing.

Comparing is put off until somebody asks: a function that only writes files is not compared for
collectives, a caller elsewhere not for files.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ckptlint.analysis.compare import Divergence, compare, merged
from ckptlint.analysis.contention import Contention
from ckptlint.analysis.disagree import disagreements
from ckptlint.analysis.files import contentions
from ckptlint.analysis.frame import NEXT, RAISE, Result
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.likeness import likeness
from ckptlint.analysis.origins import Origins
from ckptlint.analysis.ranks import FIRST, SECOND, RankClass
from ckptlint.analysis.sequences import Trace
from ckptlint.analysis.steps import sites
from ckptlint.analysis.values import NONE, Site
from ckptlint.project import ClassDefinition, Function, FunctionNode


@dataclass(frozen=True)
class Entry:
    """A function, a nested function or a file to be looked at by itself.

    ``owner`` is the class of ``self`` in a method: that which defines it, or one that inherits it.
    ``parts`` is false where ranks cannot part in a way that matters: only files are of interest.
    """

    site: Site
    name: str
    function: Function | None = None
    nested: FunctionNode | None = None
    owner: ClassDefinition | None = None
    parts: bool = True

    @property
    def node(self) -> ast.AST:
        return self.site.node


@dataclass(frozen=True)
class Looked:
    """What came of looking at one function, to be compared with what comes of it later.

    ``parts`` is false where only files were of interest. ``likeness`` tells what each rank class
    does (see :mod:`~ckptlint.analysis.likeness`; None: too much to tell); ``functions`` are those
    that were run, by file and name.
    """

    parts: bool
    likeness: Mapping[str, str | None]
    functions: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Means:
    """What comparisons need: the conditions of all executions, and what values were made of.

    ``tells`` says of a function whether it tells ranks apart.
    """

    keys: Keys
    origins: Origins
    tells: Callable[[Function], bool]


@dataclass(frozen=True, eq=False)
class Seen:
    """What came of executing one entry on each rank class; nothing where that failed."""

    entry: Entry
    results: Mapping[RankClass, Result]
    means: Means

    @cached_property
    def full(self) -> Mapping[RankClass, Trace]:
        """What each rank class does, accesses to files included."""
        return {ranks: result.trace for ranks, result in self.results.items()}

    @cached_property
    def traces(self) -> Mapping[RankClass, Trace]:
        """The collectives of each rank class that stands for others too."""
        return {
            ranks: trace.collective for ranks, trace in self.full.items() if ranks is not SECOND
        }

    @cached_property
    def inlined(self) -> frozenset[ast.AST]:
        """The definitions of the functions whose bodies were followed."""
        followed = {each.node for trace in self.full.values() for each in trace.functions}
        return frozenset(followed) - {self.entry.node}

    @property
    def looked(self) -> Looked:
        """What is kept of it when the syntax is not."""
        ran = {each for trace in self.traces.values() for each in trace.functions}
        return Looked(
            self.entry.parts,
            {ranks.who: likeness(trace, self.means.keys) for ranks, trace in self.traces.items()},
            frozenset((each.module.source.display, each.qualname) for each in ran),
        )

    @cached_property
    def divergences(self) -> tuple[Divergence, ...]:
        """Where the rank classes make different collectives, or may not agree on one."""
        if not self.results:
            return ()
        keys = self.means.keys
        found: dict[tuple[object, ...], Divergence] = {}

        def add(divergences: Iterable[Divergence]) -> None:
            for divergence in divergences:
                known = found.get(divergence.key)
                found[divergence.key] = merged(known, divergence) if known else divergence

        if self.results[FIRST].status == RAISE:
            return ()
        first = self.traces[FIRST]
        for ranks, trace in self.traces.items():
            if ranks is not FIRST and self.results[ranks].status != RAISE:
                add(compare(first, FIRST, trace, ranks, keys))
        add(disagreements(first, keys))
        return tuple(_completed(divergence, self.traces) for divergence in found.values())

    @cached_property
    def contentions(self) -> tuple[Contention, ...]:
        """Where ranks get in each other's way over a file."""
        if RAISE in {result.status for result in self.results.values()}:
            return ()
        means = self.means
        return tuple(contentions(self.full, means.tells, means.keys, means.origins))


def together(function: Function) -> tuple[Function, ...]:
    """Return what is to be looked at as one: how a context is entered, and how it is left."""
    for names in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
        if function.owner is not None and function.name in names:
            return tuple(filter(None, map(function.owner.methods.get, names)))
    return (function,)


def in_turn(results: Iterable[Result]) -> Result:
    """Return what several functions do one after the other."""
    first, *rest = results
    if not rest:
        return first
    every = (first, *rest)
    trace = Trace([item for result in every for item in result.trace])
    status = RAISE if RAISE in [result.status for result in every] else NEXT
    return Result(trace, NONE, status, first.scopes.union(*(each.scopes for each in rest)), {})


def _completed(divergence: Divergence, traces: Mapping[RankClass, Trace]) -> Divergence:
    """Say of every rank class that was looked at on which side it stands."""
    wanted = {reached.operation.site.key for reached in divergence.operations}
    present = dict.fromkeys(divergence.present)
    absent = dict.fromkeys(divergence.absent)
    for ranks, trace in traces.items():
        if ranks not in present and ranks not in absent:
            (present if wanted & sites(trace) else absent)[ranks] = None
    return replace(
        divergence,
        present=tuple(present),
        absent=tuple(ranks for ranks in absent if ranks not in present) or divergence.absent,
    )
