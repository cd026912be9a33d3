"""From a project to its divergences: every function that matters is compared over the ranks.

A function is looked at by itself, and again inside each of its callers. What its callers balance
(the other half of a pair stands in the caller) is no fault; what remains is told once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ckptlint.analysis.compare import Divergence, compare, merged
from ckptlint.analysis.disagree import disagreements
from ckptlint.analysis.frame import RAISE, Result
from ckptlint.analysis.interpreter import Interpreter
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.ranks import ALWAYS, BY_SCOPE, FIRST, RankClass
from ckptlint.analysis.sequences import Trace
from ckptlint.analysis.statements import TooComplexError
from ckptlint.analysis.steps import sites
from ckptlint.analysis.values import NONE, Instance, Site
from ckptlint.analysis.world import World
from ckptlint.project import Function, FunctionNode, Module


@dataclass(frozen=True)
class Complaint:
    """A function that could not be analysed."""

    site: Site
    function: str
    reason: str


@dataclass(frozen=True)
class Located:
    """A divergence and the name of the function in which it is shown."""

    divergence: Divergence
    function: str


@dataclass(frozen=True)
class Survey:
    """All divergences of a project, each told once, and what could not be analysed.

    ``traces`` holds what each rank class does in each function that was looked at, by file and
    name; ``keys`` the conditions in it.
    """

    located: tuple[Located, ...]
    complaints: tuple[Complaint, ...]
    traces: Mapping[tuple[str, str], Mapping[RankClass, Trace]]
    keys: Keys


@dataclass(frozen=True)
class Watched:
    """What the rank classes do in one function that is looked at by itself.

    ``decided`` are the truths that rank tests had on each class, by their places.
    """

    name: str
    site: Site
    traces: Mapping[RankClass, Trace]
    divergences: tuple[Divergence, ...]
    decided: Mapping[RankClass, Mapping[tuple[str, int, int], Collection[bool]]]


@dataclass(frozen=True)
class _Entry:
    """A function, a nested function or a file to be looked at by itself."""

    site: Site
    name: str
    function: Function | None = None
    nested: FunctionNode | None = None

    @property
    def node(self) -> ast.AST:
        return self.site.node


@dataclass
class _Seen:
    entry: _Entry
    divergences: list[Divergence]
    inlined: frozenset[ast.AST]
    traces: Mapping[RankClass, Trace] = field(default_factory=dict)


def watch(
    world: World, module: Module, wanted: Callable[[str, ast.AST], bool]
) -> tuple[Watched, ...]:
    """Look at the wanted functions of one module, whether or not ranks may differ in them.

    ``wanted`` is asked with the name and the definition; nested functions are met only inside the
    functions that are looked at. What could not be analysed is left out.
    """
    surveyor = _Surveyor(world)
    entries = [
        _Entry(Site(module, function.node), function.qualname, function)
        for function in module.functions
    ]
    entries.append(_Entry(Site(module, module.tree), "<module>"))
    seen = [surveyor.look(entry) for entry in entries if wanted(entry.name, entry.node)]
    seen += [
        surveyor.look(entry)
        for entry in surveyor.nested()
        if entry.site.module is module and wanted(entry.name, entry.node)
    ]
    decided = {ranks: run.decided for ranks, run in surveyor.interpreters.items()}
    return tuple(
        Watched(
            each.entry.name,
            each.entry.site,
            each.traces,
            tuple(each.divergences),
            decided,
        )
        for each in seen
        if each.traces
    )


def survey(world: World, within: Collection[Module] | None = None) -> Survey:
    """Compare what the rank classes do in every function of the project that matters.

    With ``within``, only functions of these modules are looked at; what they call is followed.
    """
    surveyor = _Surveyor(world)
    wanted = world.modules if within is None else within
    seen = [surveyor.look(entry) for entry in _entries(world) if entry.site.module in wanted]
    inlined = {node for each in seen for node in each.inlined}
    done: set[ast.AST] = set()
    while pending := [
        entry
        for entry in surveyor.nested()
        if entry.node not in inlined | done
        and entry.site.module in wanted
        and world.matters(entry.site.module, entry.node)
    ]:
        for entry in pending:
            done.add(entry.node)
            seen.append(surveyor.look(entry))
            inlined |= seen[-1].inlined
    traces = {(each.entry.site.key[0], each.entry.name): each.traces for each in seen}
    return Survey(tuple(_kept(seen)), tuple(surveyor.complaints), traces, world.keys)


def _entries(world: World) -> Iterator[_Entry]:
    for module in world.modules:
        for function in module.functions:
            owner = function.owner.node if function.owner is not None else None
            if world.matters(module, function.node, owner) or _in_hook(function, world):
                yield _Entry(Site(module, function.node), function.qualname, function)
        if world.matters(module, module.tree):
            yield _Entry(Site(module, module.tree), "<module>")


def _in_hook(function: Function, world: World) -> bool:
    hooks = {name for _, name in world.knowledge.hooks}
    if function.owner is None or function.name not in hooks:
        return False
    return world.gives(function.module, function.owner.node)


class _Surveyor:
    def __init__(self, world: World) -> None:
        self.world = world
        self.interpreters: dict[RankClass, Interpreter] = {}
        self.complaints: list[Complaint] = []

    def interpreter(self, ranks: RankClass) -> Interpreter:
        found = self.interpreters.get(ranks)
        if found is None:
            found = self.interpreters[ranks] = Interpreter(self.world, ranks)
        return found

    def nested(self) -> list[_Entry]:
        """Return the nested functions met so far that a caller may run by themselves."""
        return [
            _Entry(Site(function.module, node), function.qualname, None, node)
            for node, (function, _) in self.interpreter(FIRST).nested.items()
        ]

    def look(self, entry: _Entry) -> _Seen:
        """Compare the rank classes over one entry."""
        try:
            return self._look(entry)
        except (TooComplexError, RecursionError):
            reason = "has too many paths or is nested too deeply to be analysed"
            self.complaints.append(Complaint(entry.site, entry.name, reason))
            return _Seen(entry, [], frozenset())

    def _look(self, entry: _Entry) -> _Seen:
        results = {ranks: self._execute(entry, ranks) for ranks in ALWAYS}
        scopes = frozenset[str]().union(*(result.scopes for result in results.values()))
        for scope in sorted(scopes & BY_SCOPE.keys()):
            ranks = BY_SCOPE[scope]
            results[ranks] = self._execute(entry, ranks)
        found: dict[tuple[object, ...], Divergence] = {}
        first = results[FIRST]
        for ranks, result in results.items():
            if ranks is FIRST or RAISE in (first.status, result.status):
                continue
            for divergence in compare(first.trace, FIRST, result.trace, ranks, self.world.keys):
                known = found.get(divergence.key)
                found[divergence.key] = merged(known, divergence) if known else divergence
        if first.status != RAISE:
            for divergence in disagreements(first.trace, self.world.keys):
                known = found.get(divergence.key)
                found[divergence.key] = merged(known, divergence) if known else divergence
        traces = {ranks: result.trace for ranks, result in results.items()}
        inlined = frozenset[ast.AST]().union(*(trace.functions for trace in traces.values()))
        completed = [_completed(d, traces) for d in found.values()]
        return _Seen(entry, completed, inlined - {entry.node}, traces)

    def _execute(self, entry: _Entry, ranks: RankClass) -> Result:
        interpreter = self.interpreter(ranks)
        interpreter.steps = 0
        if entry.function is not None:
            owner = entry.function.owner
            bound = Instance(owner) if owner is not None else None
            value = interpreter.decorated(entry.function, bound)
            hook = interpreter.hook_of(entry.function)
            return interpreter.run_entry(value, hook, entry.site)
        if entry.nested is not None:
            nested = interpreter.nested.get(entry.nested)
            if nested is None:  # defined on other ranks only
                return Result(Trace(), NONE, RAISE, frozenset(), {})
            return interpreter.run_entry(nested[1], None, entry.site)
        return interpreter.run_module(entry.site.module)


def _completed(divergence: Divergence, traces: dict[RankClass, Trace]) -> Divergence:
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


def _kept(seen: list[_Seen]) -> Iterator[Located]:
    """Drop what callers balance, and tell the rest once, from nearest by."""
    callers: dict[ast.AST, list[_Seen]] = {}
    for each in seen:
        for node in each.inlined:
            callers.setdefault(node, []).append(each)
    told: dict[object, Located] = {}
    for each in seen:
        around = [caller for caller in callers.get(each.entry.node, ()) if caller is not each]
        for divergence in each.divergences:
            wanted = _site_keys([divergence])
            if around and not any(wanted & _site_keys(c.divergences) for c in around):
                continue
            place = divergence.place(divergence.operations[0]).key
            cause = divergence.exit.site if divergence.exit else divergence.test.site
            key = (place, cause.key)
            known = told.get(key)
            if known is None or divergence.depth < known.divergence.depth:
                told[key] = Located(divergence, _function_at(divergence, each.entry))
    yield from told.values()


def _site_keys(divergences: Iterable[Divergence]) -> set[object]:
    return {
        reached.operation.site.key
        for divergence in divergences
        for reached in (*divergence.operations, *divergence.others)
    }


def _function_at(divergence: Divergence, entry: _Entry) -> str:
    depth = divergence.inner_depth
    chain = divergence.operations[0].chain
    if 0 < depth <= len(chain):
        return chain[depth - 1].function.qualname
    return entry.name
