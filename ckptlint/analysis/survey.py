"""From a project to its divergences: every function that matters is compared over the ranks.

A function is looked at by itself, with what it calls. What all its callers balance (the other half
of a pair stands in the caller) is no fault; what remains is told once. What functions give is
remembered for all files; what was met while one file was looked at is not, so that its outcome
depends on the text alone.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ckptlint.analysis.compare import Divergence
from ckptlint.analysis.contention import Contention
from ckptlint.analysis.frame import RAISE, Result
from ckptlint.analysis.interpreter import Interpreter
from ckptlint.analysis.machine import Machine
from ckptlint.analysis.met import Met, Nested, Place
from ckptlint.analysis.origins import words_of
from ckptlint.analysis.ranks import ALWAYS, BY_SCOPE, FIRST, RankClass
from ckptlint.analysis.seen import Entry, Looked, Means, Seen, in_turn, together
from ckptlint.analysis.sequences import Trace
from ckptlint.analysis.statements import TooComplexError
from ckptlint.analysis.steps import sites
from ckptlint.analysis.values import NONE, Instance, Site
from ckptlint.project import ClassDefinition, Function, Module, last_name

_GIVEN = frozenset({"callback", "criterion", "hook", "trainer"})


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
        """The place and the cause: what makes two of them the same fault.

        A condition on which ranks may disagree is one fault, whatever stands behind it.
        """
        divergence = self.divergence
        if divergence.kind == "divergent":
            return (divergence.test.site.key,)
        cause = divergence.exit.site if divergence.exit else divergence.test.site
        return (divergence.place(divergence.operations[0]).key, cause.key)


@dataclass(frozen=True)
class Contended:
    """A contention, the function and the place in which it is shown.

    ``likely`` when some function on the way shows that there are several ranks, and all calls of
    these functions were followed; ``calls`` are those by which every rank gets there.
    """

    contention: Contention
    function: str
    place: Site
    likely: bool
    calls: tuple[Site, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two of them the same fault: the place, and what is done there to which file by
        whom. What a function does on every rank to several files is one fault of its call."""
        found = self.contention
        done = [each.item.call.name for each in (found.visit, found.other) if each is not None]
        return (found.kind, self.place.key, *(done if found.kind != "all" else ()))

    @property
    def inner(self) -> tuple[tuple[object, ...], ...]:
        """The keys under which the same is told of a function on the way from the place."""
        visit = self.contention.visit
        sites = [*(scope.site.key for scope in visit.chain), visit.item.site.key]
        start = sites.index(self.place.key) + 1 if self.place.key in sites else len(sites)
        kind, _, *done = self.key
        return tuple((kind, site, *done) for site in sites[start:])

    @property
    def standing(self) -> tuple[bool, int]:
        """Which of two that are the same fault is told: a likely one, near to the access."""
        return (not self.likely, len(self.contention.visit.chain))


@dataclass(frozen=True)
class Survey:
    """All divergences of some files, each told once, and what could not be analysed.

    ``looked`` are the functions that were looked at, by file and name.
    """

    located: tuple[Located, ...]
    contended: tuple[Contended, ...]
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


def watch(
    machine: Machine, module: Module, wanted: Callable[[str, ast.AST], bool]
) -> tuple[Watched, ...]:
    """Look at the wanted functions of one module, whether or not ranks may differ in them.

    ``wanted`` is asked with the name and the definition; nested functions are met only inside the
    functions that are looked at. What could not be analysed is left out.
    """
    surveyor = _Surveyor(machine, module)
    seen: list[Seen] = []
    for function in module.functions:
        if wanted(function.qualname, function.node):
            entry = Entry(Site(module, function.node), function.qualname, function)
            seen.append(surveyor.look(entry))
            heirs = (replace(entry, owner=heir) for heir in surveyor.heirs(entry))
            seen.extend(each for each in map(surveyor.look, heirs) if each.divergences)
    if wanted("<module>", module.tree):
        seen.append(surveyor.look(Entry(Site(module, module.tree), "<module>")))
    nested = [entry for entry in surveyor.nested() if wanted(entry.name, entry.node)]
    seen.extend(map(surveyor.look, nested))
    return tuple(
        Watched(
            each.entry.name,
            each.entry.site,
            each.traces,
            each.divergences,
            surveyor.decided,
        )
        for each in seen
        if each.traces
    )


def survey(
    machine: Machine,
    module: Module,
    also: Mapping[tuple[str, str], Looked] | None = None,
    only: Collection[tuple[str, str]] | None = None,
) -> Survey:
    """Compare what the rank classes do in every function of a file that matters.

    ``also`` are functions, by file and name, that are looked at in any case, as they were then;
    ``only`` those that are looked at, where not all of them are wanted.
    """
    surveyor = _Surveyor(machine, module, also, only)
    located = tuple(surveyor.located())
    contended = tuple(surveyor.contended())
    looked = {(module.source.display, seen.entry.name): seen.looked for seen in surveyor.seen}
    return joined([Survey(located, contended, tuple(surveyor.complaints), looked)])


def joined(surveys: Iterable[Survey]) -> Survey:
    """Put together what was found in several files, each fault as its best witness has it."""
    told: dict[object, Located] = {}
    contended: dict[object, Contended] = {}
    complaints: list[Complaint] = []
    looked: dict[tuple[str, str], Looked] = {}
    for each in surveys:
        for located in each.located:
            known = told.get(located.key)
            if known is None or located.divergence.depth < known.divergence.depth:
                told[located.key] = located
        for found in each.contended:
            first = contended.get(found.key)
            if first is None or found.standing < first.standing:
                contended[found.key] = found
        complaints.extend(each.complaints)
        looked.update(each.looked)
    return Survey(tuple(told.values()), tuple(contended.values()), tuple(complaints), looked)


class _Surveyor:
    """Looks at one file."""

    def __init__(
        self,
        machine: Machine,
        module: Module,
        also: Mapping[tuple[str, str], Looked] | None = None,
        only: Collection[tuple[str, str]] | None = None,
    ) -> None:
        machine.begin()
        self.machine = machine
        self.world = machine.world
        self.only = only
        self.module = module
        self.also = {
            name: looked
            for (path, name), looked in (also or {}).items()
            if path == module.source.display
        }
        self.means = Means(machine.keys, machine.origins, self._tells)
        self.decided: dict[RankClass, dict[Place, set[bool]]] = defaultdict(dict)
        self.complaints: list[Complaint] = []
        self.seen: list[Seen] = []
        self._nested: dict[RankClass, Nested] = defaultdict(dict)
        self._met: dict[RankClass, set[Met]] = defaultdict(set)
        self._outside: dict[ast.AST, Seen] = {}
        self._standing: dict[tuple[ast.AST, tuple[object, ...]], bool | None] = {}

    def located(self) -> Iterator[Located]:
        """Look at every function of the file that matters; drop what its callers balance."""
        self.seen = [self.look(entry) for entry in self._entries()]
        inlined = {node for each in self.seen for node in each.inlined}
        done: set[ast.AST] = set()
        while pending := [
            entry
            for entry in self.nested()
            if entry.node not in inlined | done
            and self._is_asked(entry.name)
            and (
                entry.parts or entry.name in self.also or self.world.writes(self.module, entry.node)
            )
        ]:
            for entry in pending:
                done.add(entry.node)
                self.seen.append(self.look(entry))
                inlined |= self.seen[-1].inlined
        givers = {
            giver: None
            for each in self.seen
            if each.entry.parts
            for giver in self._givers(each.entry)
        }
        for each in (*self.seen, *givers):
            for divergence in each.divergences if each.entry.parts else ():
                if not self._balanced(each, divergence):
                    yield Located(divergence, _function_at(divergence, each.entry))

    def _givers(self, entry: Entry) -> Iterator[Seen]:
        """Look at the callers of a function that calls what it is given: they know what that is."""
        function = entry.function
        if function is not None and self.world.calls_received(function.module, function.node):
            yield from (each for each in self._callers(entry) if each not in self.seen)

    def _is_asked(self, name: str) -> bool:
        return self.only is None or (self.module.source.display, name) in self.only

    def _entries(self) -> Iterator[Entry]:
        module, world = self.module, self.world
        for function in module.functions:
            if not self._is_asked(function.qualname):
                continue
            known = self.also.get(function.qualname)
            wanted = known is not None and known.parts
            parts = wanted or self._may_part(function) or self._hooked(function)
            shares = known is not None or world.shares(module, function.node, _class_of(function))
            if not (parts or shares):
                continue
            entry = Entry(Site(module, function.node), function.qualname, function)
            if function.owner is None:
                parts = wanted or (parts and world.gives(module, function.node))
                if parts or shares:
                    yield replace(entry, parts=parts)
                continue
            for owner in (function.owner, *self.heirs(entry)):
                acts = wanted or (parts and world.gives(owner.module, owner.node))
                if acts or shares:
                    yield replace(entry, owner=owner, parts=acts)
        top = module.top_expressions if self._is_asked("<module>") else ()
        if any(world.tests(module, node) for node in top) or (top and "<module>" in self.also):
            known = self.also.get("<module>")
            parts = any(world.gives(module, node) for node in top)
            parts = parts or (known is not None and known.parts)
            if parts or known is not None or any(world.writes(module, node) for node in top):
                yield Entry(Site(module, module.tree), "<module>", parts=parts)

    def _may_part(self, function: Function) -> bool:
        node = function.node
        return (
            not isinstance(node, ast.Lambda)
            and self.world.tests(self.module, node)
            and self.world.may_part(self.module, node)
        )

    def _hooked(self, function: Function) -> bool:
        return function.owner is not None and function.name in self.world.knowledge.rank_hooks

    def heirs(self, entry: Entry) -> Iterable[ClassDefinition]:
        """Return the classes that inherit a method unchanged, but not what it does."""
        method = entry.function
        if method is None or method.owner is None or not self.world.descendants(method.owner):
            return ()
        return [
            heir
            for heir in self._inheriting(method, method.owner)
            if self._alters(heir, method, method.owner)
        ]

    def _alters(self, heir: ClassDefinition, method: Function, owner: ClassDefinition) -> bool:
        """Say whether a class gives a method that it inherits other things to do, or to ask for."""
        bases = self.machine.interpreter(FIRST).bases
        old, classes = bases(owner), bases(heir)
        new = [each for each in classes if each not in old]
        said: set[str] = set()
        pending = [method]
        while pending:
            function = pending.pop()
            self.world.project.read(function.module, function.node)
            names = self.world.mentions(function.node).attributes - said
            said |= names
            pending += [
                each.methods[name] for name in names for each in classes if name in each.methods
            ]
        return any(
            name in each.fields
            or name in each.writers
            or (name in each.methods and self.world.matters(each.module, each.methods[name].node))
            for each in new
            for name in said
        )

    def _inheriting(self, method: Function, owner: ClassDefinition) -> Iterable[ClassDefinition]:
        found: dict[ClassDefinition, None] = {}
        pending = [owner]
        while pending:
            for heir in self.world.heirs(pending.pop()):
                new = heir is not owner and heir not in found
                if new and method.name not in heir.methods:
                    found[heir] = None
                    pending.append(heir)
        return found

    def contended(self) -> Iterator[Contended]:
        """Tell what was found about files; what a function does is right or wrong by its callers,
        who may call it on one rank only, and is told there where nobody else would.

        Where no rank test and no collective is met, in the callers of a file with a framework
        neither, nothing shows that there are several ranks, unless it is what a trainer is given
        in a program that knows of them.
        """
        asks = not self.module.imports.isdisjoint(self.world.knowledge.import_roots)
        if asks or self._several:
            found = list(self._contended(self.seen))  # looks at the callers
            if self._several:
                yield from found
            elif self.module.source in self.world.holders.used:
                yield from self._contended(each for each in self.seen if _is_given(each.entry))

    @property
    def _several(self) -> bool:
        """Whether what was looked at so far shows that there are several ranks."""
        seen = (*self.seen, *self._outside.values())
        return any(self.decided.values()) or any(
            trace.acts for each in seen for trace in each.traces.values()
        )

    def _contended(self, seen: Iterable[Seen]) -> Iterator[Contended]:
        for each in seen:
            for found in each.contentions:
                if self._told_within(found):
                    continue
                likely = self._stands(each, found)
                if likely is not None:
                    place, function = _place(found, each.entry)
                    calls = tuple(dict.fromkeys(self._calls(each.entry, found, place)))
                    yield Contended(found, function, place, likely, calls)

    def _calls(self, entry: Entry, found: Contention, place: Site) -> Iterator[Site]:
        """Yield the calls by which all ranks get to a place where they are in each other's way."""
        sites = [scope.site for scope in found.visit.chain[1:]]
        way = [site for site in sites if site.module is place.module and site.key != place.key]
        if found.kind == "all" and way:
            yield way[-1]
        elif found.kind == "all":
            for caller in self._callers(entry):
                for theirs in caller.contentions:
                    if theirs.key == found.key:
                        for scope in theirs.visit.chain:
                            if scope.function.node is entry.node:
                                yield scope.site

    def _stands(self, seen: Seen, found: Contention) -> bool | None:
        """Say whether every rank gets to a contention from where a program begins, as far as its
        functions are followed: True for likely, False for possibly, None for no."""
        place = (seen.entry.node, found.key)
        if place not in self._standing:
            self._standing[place] = None  # a circle of calls begins nowhere
            self._standing[place] = self._begins(seen, found)
        return self._standing[place]

    def _begins(self, seen: Seen, found: Contention) -> bool | None:
        callers = list(self._callers(seen.entry))
        followed = not self._elsewhere(seen.entry, callers)
        if not callers:
            # Who makes an object may do so on one rank first, unless making it takes all of them.
            known = not _constructs(seen.entry) or found.meeting is not None
            return followed and found.shown and known
        above = {
            self._stands(caller, theirs)
            for caller in callers
            for theirs in caller.contentions
            if theirs.key == found.key
        } - {None}
        return (followed and True in above) if above else None

    def _told_within(self, found: Contention) -> bool:
        """Say whether a function on the way to the access is looked at by itself, and shows it.

        What a rank test of a caller makes is shown there, and in a test what it makes of others.
        """
        return found.kind in ("all", "name") and any(
            scope.function.module.source in self.world.holders.looked_at
            and scope.function.module.source.tests >= self.module.source.tests
            and self.world.shares(
                scope.function.module, scope.function.node, _class_of(scope.function)
            )
            for scope in found.visit.chain[1:]
        )

    def _elsewhere(self, entry: Entry, callers: Collection[Seen]) -> bool:
        """Say whether a function is named where its call was not followed."""
        if entry.function is None:
            return entry.nested is not None
        followed = {entry.node, *(caller.entry.node for caller in callers)}
        return any(site.node not in followed for site, _ in self._mentioning(entry.function))

    def _balanced(self, seen: Seen, divergence: Divergence) -> bool:
        """Say whether callers get to what the ranks do apart, and every one has the other half.

        What ranks disagree on has no other half.
        """
        if divergence.kind == "divergent":
            return False
        wanted = _site_keys([divergence])
        reached = False
        for caller in self._callers(seen.entry):
            if wanted & _site_keys(caller.divergences):
                return False
            reached = reached or any(wanted & sites(trace) for trace in caller.traces.values())
        return reached

    def _callers(self, entry: Entry) -> Iterator[Seen]:
        """Yield the functions of the project that run a function, those of this file first."""
        within = [each for each in self.seen if entry.node in each.inlined]
        yield from within
        if entry.function is None:
            return
        known = {each.entry.node for each in within} | {entry.node}
        for site, function in self._mentioning(entry.function):
            if site.node not in known:
                name = function.qualname if function is not None else "<module>"
                caller = self._outside.get(site.node)
                if caller is None:
                    caller = self.look(Entry(site, name, function), complain=False)
                    self._outside[site.node] = caller
                if entry.node in caller.inlined:
                    yield caller

    def _mentioning(self, function: Function) -> Iterator[tuple[Site, Function | None]]:
        """Yield what may call a function. A test calls what it likes, on as many ranks as it likes:
        it says nothing of how other files are run."""
        for site, caller in self.world.callers(function):
            if self.module.source.tests or not site.module.source.tests:
                yield site, caller

    def nested(self) -> list[Entry]:
        """Return the nested functions met so far that a caller may run by themselves."""
        return [
            Entry(
                Site(function.module, node),
                function.qualname,
                None,
                node,
                parts=self.world.gives(function.module, node)
                and (function.qualname in self.also or self.world.tests(function.module, node)),
            )
            for node, (function, _) in self._nested[FIRST].items()
            if function.module is self.module
        ]

    def look(self, entry: Entry, complain: bool = True) -> Seen:
        """Compare the rank classes over one entry."""
        try:
            return self._look(entry)
        except (TooComplexError, RecursionError):
            reason = "has too many paths or is nested too deeply to be analysed"
            if complain:
                self.complaints.append(Complaint(entry.site, entry.name, reason))
            return Seen(entry, {}, self.means)

    def _look(self, entry: Entry) -> Seen:
        results = {ranks: self._execute(entry, ranks) for ranks in ALWAYS}
        scopes = frozenset[str]().union(*(result.scopes for result in results.values()))
        for scope in sorted(scopes & BY_SCOPE.keys()):
            ranks = BY_SCOPE[scope]
            results[ranks] = self._execute(entry, ranks)
        return Seen(entry, results, self.means)

    def _tells(self, function: Function) -> bool:
        """Say whether a rank test was met in a function, in any execution so far."""
        path, node = function.module.source.display, function.node
        last = node.end_lineno or node.lineno
        return any(
            where == path and node.lineno <= line <= last
            for decided in self.decided.values()
            for where, line, _ in decided
        )

    def _execute(self, entry: Entry, ranks: RankClass) -> Result:
        interpreter = self.machine.interpreter(ranks)
        interpreter.memory.met = met = Met()
        try:
            return self._executed(entry, ranks, interpreter)
        finally:
            for each in met.every(self._met[ranks]):
                self._nested[ranks].update(each.nested)
                for place, truths in each.tests.items():
                    self.decided[ranks].setdefault(place, set()).update(truths)

    def _executed(self, entry: Entry, ranks: RankClass, interpreter: Interpreter) -> Result:
        if entry.function is not None:
            owner = entry.owner or entry.function.owner
            bound = Instance(owner) if owner is not None else None
            return in_turn(
                interpreter.run_entry(
                    interpreter.decorated(method, bound), interpreter.hook_of(method), entry.site
                )
                for method in together(entry.function)
            )
        if entry.nested is not None:
            nested = self._nested[ranks].get(entry.nested)
            if nested is None:  # defined on other ranks only
                return Result(Trace(), NONE, RAISE, frozenset(), {})
            return interpreter.run_entry(nested[1], None, entry.site)
        return interpreter.run_module(entry.site.module)


def _site_keys(divergences: Iterable[Divergence]) -> set[object]:
    return {
        reached.operation.site.key
        for divergence in divergences
        for reached in (*divergence.operations, *divergence.others)
    }


def _function_at(divergence: Divergence, entry: Entry) -> str:
    depth = divergence.inner_depth
    chain = divergence.operations[0].chain
    if 0 < depth <= len(chain):
        return chain[depth - 1].function.qualname
    return entry.name


def _is_given(entry: Entry) -> bool:
    """Say whether a function is one of a class whose objects a trainer is given, by its bases."""
    owner = entry.function.owner if entry.function is not None else None
    bases = owner.node.bases if owner is not None else []
    return any(_GIVEN & words_of(last_name(base)) for base in bases)


def _constructs(entry: Entry) -> bool:
    """Say whether a function runs where an object of its class is made."""
    return entry.function is not None and entry.function.name in ("__init__", "__post_init__")


def _class_of(function: Function) -> ast.AST | None:
    return function.owner.node if function.owner is not None else None


def _place(found: Contention, entry: Entry) -> tuple[Site, str]:
    """Return the access itself, or the last call to it in the file that was looked at, and the
    function that makes it."""
    visit = found.visit
    sites = [*(scope.site for scope in visit.chain), visit.item.site]
    depth = max(i for i, site in enumerate(sites) if i == 0 or site.module is entry.site.module)
    place = sites[depth]
    around = (scope.function for scope in reversed(visit.chain[:depth]))  # contexts left out
    name = next((each.qualname for each in around if _holds(each, place)), entry.name)
    return place, name


def _holds(function: Function, place: Site) -> bool:
    """Say whether a place is among the lines of a function."""
    node = function.node
    line = getattr(place.node, "lineno", 0)
    return function.module is place.module and node.lineno <= line <= (node.end_lineno or 0)
