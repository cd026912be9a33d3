"""From a project to its divergences: every function that matters is compared over the ranks.

A function is looked at by itself, with what it calls. What all its callers balance (the other half
of a pair stands in the caller) is no fault; what remains is told once. Each file is looked at with
nothing remembered from the others, so that its outcome depends on the text alone.
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
from ckptlint.project import ClassDefinition, Function, FunctionNode, Module


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

    @property
    def key(self) -> tuple[object, ...]:
        """The place and the cause: what makes two of them the same fault."""
        divergence = self.divergence
        cause = divergence.exit.site if divergence.exit else divergence.test.site
        return (divergence.place(divergence.operations[0]).key, cause.key)


@dataclass(frozen=True)
class Looked:
    """What each rank class does in one function, and the conditions in it."""

    traces: Mapping[RankClass, Trace]
    keys: Keys


@dataclass(frozen=True)
class Survey:
    """All divergences of some files, each told once, and what could not be analysed.

    ``looked`` are the functions that were looked at, by file and name.
    """

    located: tuple[Located, ...]
    complaints: tuple[Complaint, ...]
    looked: Mapping[tuple[str, str], Looked]


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
    """A function, a nested function or a file to be looked at by itself.

    ``owner`` is the class of ``self`` in a method: that which defines it, or one that inherits it.
    """

    site: Site
    name: str
    function: Function | None = None
    nested: FunctionNode | None = None
    owner: ClassDefinition | None = None

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
    surveyor = _Surveyor(world, module)
    seen: list[_Seen] = []
    for function in module.functions:
        if wanted(function.qualname, function.node):
            entry = _Entry(Site(module, function.node), function.qualname, function)
            seen.append(surveyor.look(entry))
            heirs = (replace(entry, owner=heir) for heir in surveyor.heirs(entry))
            seen.extend(each for each in map(surveyor.look, heirs) if each.divergences)
    if wanted("<module>", module.tree):
        seen.append(surveyor.look(_Entry(Site(module, module.tree), "<module>")))
    nested = [entry for entry in surveyor.nested() if wanted(entry.name, entry.node)]
    seen.extend(map(surveyor.look, nested))
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


def survey(
    world: World, modules: Iterable[Module], also: Collection[tuple[str, str]] = ()
) -> Survey:
    """Compare what the rank classes do in every function of these files that matters.

    ``also`` names functions, by file and name, that are looked at in any case.
    """
    told: dict[object, Located] = {}
    complaints: list[Complaint] = []
    looked: dict[tuple[str, str], Looked] = {}
    for module in modules:
        surveyor = _Surveyor(world, module, also)
        for located in surveyor.located():
            known = told.get(located.key)
            if known is None or located.divergence.depth < known.divergence.depth:
                told[located.key] = located
        complaints.extend(surveyor.complaints)
        for seen in surveyor.seen:
            place = (module.source.display, seen.entry.name)
            looked[place] = Looked(seen.traces, surveyor.keys)
    return Survey(tuple(told.values()), tuple(complaints), looked)


class _Surveyor:
    """Looks at one file."""

    def __init__(
        self, world: World, module: Module, also: Collection[tuple[str, str]] = ()
    ) -> None:
        self.world = world
        self.module = module
        self.also = {name for path, name in also if path == module.source.display}
        self.keys = Keys()
        self.interpreters: dict[RankClass, Interpreter] = {}
        self.complaints: list[Complaint] = []
        self.seen: list[_Seen] = []
        self._outside: dict[ast.AST, _Seen] = {}

    def located(self) -> Iterator[Located]:
        """Look at every function of the file that matters; drop what its callers balance."""
        self.seen = [self.look(entry) for entry in self._entries()]
        inlined = {node for each in self.seen for node in each.inlined}
        done: set[ast.AST] = set()
        while pending := [
            entry
            for entry in self.nested()
            if entry.node not in inlined | done
            and (self.world.tests(self.module, entry.node) or entry.name in self.also)
        ]:
            for entry in pending:
                done.add(entry.node)
                self.seen.append(self.look(entry))
                inlined |= self.seen[-1].inlined
        for each in self.seen:
            for divergence in each.divergences:
                if not self._balanced(each, divergence):
                    yield Located(divergence, _function_at(divergence, each.entry))

    def _entries(self) -> Iterator[_Entry]:
        module, world = self.module, self.world
        for function in module.functions:
            wanted = function.qualname in self.also
            if not (wanted or self._may_part(function) or self._hooked(function)):
                continue
            entry = _Entry(Site(module, function.node), function.qualname, function)
            owners = [function.owner, *self.heirs(entry)] if function.owner is not None else []
            if wanted or (not owners and world.gives(module, function.node)):
                yield entry
            for owner in owners:
                if wanted or world.gives(owner.module, owner.node):
                    yield replace(entry, owner=owner)
        top = module.top_expressions
        tested = any(world.tests(module, node) for node in top)
        tested = tested and any(world.gives(module, node) for node in top)
        if tested or "<module>" in self.also:
            yield _Entry(Site(module, module.tree), "<module>")

    def _may_part(self, function: Function) -> bool:
        node = function.node
        return (
            not isinstance(node, ast.Lambda)
            and self.world.tests(self.module, node)
            and self.world.may_part(self.module, node)
        )

    def _hooked(self, function: Function) -> bool:
        return function.owner is not None and function.name in self.world.knowledge.rank_hooks

    def heirs(self, entry: _Entry) -> Iterable[ClassDefinition]:
        """Return the classes that inherit a method unchanged."""
        method = entry.function
        if method is None or method.owner is None:
            return ()
        found: dict[ClassDefinition, None] = {}
        pending = [method.owner]
        while pending:
            for heir in self.world.heirs(pending.pop()):
                new = heir is not method.owner and heir not in found
                if new and method.name not in heir.methods:
                    found[heir] = None
                    pending.append(heir)
        return found

    def _balanced(self, seen: _Seen, divergence: Divergence) -> bool:
        """Say whether the function has callers, and every one of them has the other half.

        What ranks disagree on has no other half.
        """
        if divergence.kind == "divergent":
            return False
        wanted = _site_keys([divergence])
        called = False
        for caller in self._callers(seen.entry):
            if wanted & _site_keys(caller.divergences):
                return False
            called = True
        return called

    def _callers(self, entry: _Entry) -> Iterator[_Seen]:
        """Yield the functions of the project that run a function, those of this file first."""
        within = [each for each in self.seen if entry.node in each.inlined]
        yield from within
        if entry.function is None:
            return
        known = {each.entry.node for each in within} | {entry.node}
        for site, function in self.world.callers(entry.function):
            if site.node not in known:
                name = function.qualname if function is not None else "<module>"
                caller = self._outside.get(site.node)
                if caller is None:
                    caller = self.look(_Entry(site, name, function), complain=False)
                    self._outside[site.node] = caller
                if entry.node in caller.inlined:
                    yield caller

    def interpreter(self, ranks: RankClass) -> Interpreter:
        found = self.interpreters.get(ranks)
        if found is None:
            found = self.interpreters[ranks] = Interpreter(self.world, ranks, self.keys)
        return found

    def nested(self) -> list[_Entry]:
        """Return the nested functions met so far that a caller may run by themselves."""
        return [
            _Entry(Site(function.module, node), function.qualname, None, node)
            for node, (function, _) in self.interpreter(FIRST).nested.items()
            if function.module is self.module
        ]

    def look(self, entry: _Entry, complain: bool = True) -> _Seen:
        """Compare the rank classes over one entry."""
        try:
            return self._look(entry)
        except (TooComplexError, RecursionError):
            reason = "has too many paths or is nested too deeply to be analysed"
            if complain:
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
            for divergence in compare(first.trace, FIRST, result.trace, ranks, self.keys):
                known = found.get(divergence.key)
                found[divergence.key] = merged(known, divergence) if known else divergence
        if first.status != RAISE:
            for divergence in disagreements(first.trace, self.keys):
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
            owner = entry.owner or entry.function.owner
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
