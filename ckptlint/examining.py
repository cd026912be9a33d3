"""Looking at one file of a project: its findings and the fixes for them, as plain data.

What is remembered from other files holds for every file alike. So what comes of a file depends on
no order, can be found out in another process, and can be kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Generic, TypeVar

from ckptlint import evidence
from ckptlint.analysis.holders import Holders
from ckptlint.analysis.machine import Machine
from ckptlint.analysis.outlines import TORN, outline
from ckptlint.analysis.seen import Looked
from ckptlint.analysis.survey import Survey, survey
from ckptlint.analysis.world import World, telling
from ckptlint.fault import Fault
from ckptlint.file_fault import FileFault
from ckptlint.finding import Finding, Fix, Span
from ckptlint.fixing import Proposal, runtime_calls
from ckptlint.knowledge import Knowledge
from ckptlint.plain import finding_from
from ckptlint.project import Project
from ckptlint.request import Request, not_analysed
from ckptlint.siblings import Siblings
from ckptlint.source import Source
from ckptlint.trial import Before, Trials
from ckptlint_rules import RULES

_T = TypeVar("_T")
_FAILURES = "CKP110"  # the rule that looks at exceptions, which are no paths for the others


@dataclass(frozen=True)
class Told:
    """What the rules say of one fault.

    ``key`` is equal for what several files have to say of the same fault, of which that of the
    lowest ``standing`` is told. ``plain`` are the ``findings`` before neighbours were looked at.
    ``inner`` are the keys under which the same is told of a function that is called on the way.
    """

    key: str
    standing: tuple[int, ...]
    findings: tuple[Finding, ...]
    plain: tuple[Finding, ...]
    inner: tuple[str, ...] = ()

    @property
    def spans(self) -> Iterator[Span]:
        """The places that it shows, which move with the lines of their files."""
        for finding in self.findings:
            yield finding.span
            yield from (related.span for related in finding.related)


@dataclass(frozen=True)
class Examined:
    """What came of looking at one file, and the functions in it that were looked at, by name.

    ``complaints`` tell of functions that were not analysed, and of files that were needed and
    could not be read.
    """

    told: tuple[Told, ...]
    complaints: tuple[Finding, ...]
    looked: Mapping[str, Looked]

    def plain(self) -> Any:
        """Return it as JSON has it."""
        return {
            "told": [asdict(each) for each in self.told],
            "complaints": [asdict(each) for each in self.complaints],
            "looked": {
                name: [each.parts, dict(each.likeness), sorted(each.functions)]
                for name, each in self.looked.items()
            },
        }

    @classmethod
    def of(cls, plain: Any) -> Examined:
        """Make it of what JSON has."""
        told = (
            Told(
                each["key"],
                tuple(each["standing"]),
                tuple(map(finding_from, each["findings"])),
                tuple(map(finding_from, each["plain"])),
                tuple(each["inner"]),
            )
            for each in plain["told"]
        )
        looked = {
            name: Looked(parts, likeness, frozenset((path, ran) for path, ran in functions))
            for name, (parts, likeness, functions) in plain["looked"].items()
        }
        return cls(tuple(told), tuple(map(finding_from, plain["complaints"])), looked)


Wanted = Collection[tuple[str, str]]  # faults by their keys, with the codes of rules
Fixes = Mapping[tuple[str, str], Fix | None]
Outlines = Mapping[str, Mapping[str, str]]  # of files, by their names


@dataclass(frozen=True)
class Found(Generic[_T]):
    """Something found out, the questions that were asked for it, and outlines of files of which
    somebody asked for one, where anything is to be kept."""

    result: _T
    questions: Collection[str]
    outlines: Outlines


@dataclass(frozen=True)
class Examiner:
    """Looks at the files of one project."""

    request: Request
    project: Project
    knowledge: Knowledge
    holders: Holders
    _outlined: set[Source] = field(default_factory=set)

    @cached_property
    def backends(self) -> frozenset[str]:
        """The backends that the project shows."""
        if self.request.backends is not None:
            return self.request.backends
        marks = evidence.Marks(self.knowledge)
        shown: dict[str, list[str]] = {}
        new: Iterable[Source] = self.request.sources
        store = self.request.store
        if store is not None and not store.anew:
            known = store.remembered("backends")
            shown = {name: known[name] for name in known if name in store.changes.same}
            new = store.changes.other.values()
        shown.update(
            (each.display, sorted(found)) for each in new if (found := marks.of(each.code))
        )
        if store is not None:
            store.memory["backends"] = shown
        every = frozenset(backend for backends in shown.values() for backend in backends)
        return every | marks.in_settings(self.request.root)

    @cached_property
    def telling(self) -> frozenset[str]:
        """The words by which a function may lead to something of interest."""
        return telling(self.knowledge, self.holders)

    def examine(self, source: Source) -> Found[Examined]:
        """Look at one file (raises SourceError)."""
        with self.project.questions.apart() as asked:
            module = self.project.module(source)
            result = survey(self._machine, module)
            told = [*self._told(self._machine.world, result, self._codes)]
            if _FAILURES in self.request.codes:
                failing = self._failing
                told += self._told(failing.world, survey(failing, module), (_FAILURES,))
        complaints = (
            not_analysed(
                each.site.module.source.display,
                f"{each.function} {each.reason}",
                getattr(each.site.node, "lineno", 1),
            )
            for each in result.complaints
        )
        looked = {name: each for (_, name), each in result.looked.items()}
        questions = asked.all()
        examined = Examined(tuple(told), (*self.unread(questions), *complaints), looked)
        shown = {f"file:{span.path}" for each in told for span in each.spans}
        return Found(examined, questions | shown, self.outlines())

    def outlines(self) -> Outlines:
        """Return the outlines that were asked for and not returned before."""
        if self.request.store is None:
            return {}
        new = self.project.outlined - self._outlined
        self._outlined.update(new)
        outlined = {source: self.project.parsed(source) for source in new}
        found = {
            source.display: outline(module, self.telling) if module is not None else TORN
            for source, module in outlined.items()
        }
        return found

    def unread(self, asked: AbstractSet[str]) -> Iterator[Finding]:
        """Tell of the files that were asked for and could not be parsed."""
        for source, error in self.project.broken.items():
            if not asked.isdisjoint((f"file:{source.display}", f"outline:{source.display}")):
                yield not_analysed(source.display, error.reason, error.line, error.cell)

    def fixes(
        self,
        source: Source,
        wanted: Wanted,
        before: Before,
    ) -> Found[Fixes]:
        """Look at a file once more, and return what cures some of the faults that it told."""
        with self.project.questions.apart() as asked:
            trials = Trials(self._machine.world, before, self._judged)
            fixes = {
                (key, code): trials.first(self._proposals(fault, code), fault, finding)
                for key, _, fault in self._faults(
                    survey(self._machine, self.project.module(source))
                )
                for code, finding in _findings(fault, self._codes)
                if (key, code) in wanted
            }
        return Found(fixes, asked.all(), self.outlines())

    @cached_property
    def _machine(self) -> Machine:
        return Machine(World(self.project, self.knowledge, self.holders))

    @cached_property
    def _failing(self) -> Machine:
        return Machine(World(self.project, self.knowledge, self.holders, failures=True))

    @property
    def _codes(self) -> Collection[str]:
        return [code for code in self.request.codes if code != _FAILURES]

    def _told(self, world: World, result: Survey, codes: Collection[str]) -> Iterator[Told]:
        siblings = Siblings(world)
        for key, standing, fault in self._faults(result):
            plain = tuple(finding for _, finding in _findings(fault, codes))
            told = plain
            if isinstance(fault, Fault):
                told = tuple(siblings.told(fault, finding) for finding in plain)
            if plain:
                inner: tuple[str, ...] = ()
                if isinstance(fault, FileFault):
                    inner = tuple(map(repr, fault.contended.inner))
                key = f"{key} on failure" if world.failures else key
                yield Told(key, standing, told, plain, inner)

    def _faults(self, result: Survey) -> Iterator[tuple[str, tuple[int, ...], Fault | FileFault]]:
        """Yield each fault with its key and its standing."""
        for located in result.located:
            fault = Fault(located.divergence, located.function, self.backends)
            if not fault.excused:
                yield repr(located.key), (located.divergence.depth,), fault
        for contended in result.contended:
            file_fault = FileFault(contended, self.request.shared_filesystem, self.backends)
            yield repr(contended.key), contended.standing, file_fault

    def _judged(self, result: Survey) -> Iterator[Finding]:
        for _, _, fault in self._faults(result):
            for _, finding in _findings(fault, self._codes):
                yield finding

    def _proposals(self, fault: Fault | FileFault, code: str) -> Iterable[Proposal]:
        module = RULES[code]
        proposals = module.proposals(fault, self.knowledge)
        if self.request.runtime and module.fix is not None and isinstance(fault, Fault):
            return chain(runtime_calls(fault, self.knowledge), proposals)
        return proposals


def _findings(fault: Fault | FileFault, codes: Collection[str]) -> Iterator[tuple[str, Finding]]:
    """Yield what the rules say of a fault, by their codes."""
    for code, module in RULES.items():
        if code not in codes:
            continue
        if isinstance(fault, FileFault):
            finding = module.check_files(fault) if module.check_files is not None else None
        else:
            finding = module.check(fault) if module.check is not None else None
        if finding is not None:
            yield code, finding
