"""Source to findings: the one function that the command line, the editor and the plugin call."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

from ckptlint import evidence
from ckptlint.analysis.survey import Survey, survey
from ckptlint.analysis.world import World
from ckptlint.fault import Fault
from ckptlint.file_fault import FileFault
from ckptlint.finding import Finding
from ckptlint.fixing import runtime_calls
from ckptlint.knowledge import Knowledge
from ckptlint.project import Module, Project
from ckptlint.request import Request, not_analysed
from ckptlint.siblings import Siblings
from ckptlint.source import Source
from ckptlint.trial import Trials
from ckptlint_rules import RULES, RuleModule

_STACK = 256 * 1024 * 1024
_RECURSION = 20_000
_FAILURES = "CKP110"  # the rule that looks at exceptions, which are no paths for the others
_T = TypeVar("_T")

__all__ = ["Request", "analyse", "in_deep_stack", "not_analysed"]


def analyse(request: Request) -> tuple[Finding, ...]:
    """Return the findings of the asked files in order, CKP900 among them, nothing suppressed."""
    with _collector_off():
        findings = in_deep_stack(lambda: list(_Analysis(request).findings()))
    return tuple(sorted(findings, key=lambda finding: finding.sort_key))


class _Analysis:
    """One run of the analysis over one set of sources."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.knowledge = Knowledge(request.facts, evidence.pinned(request.root, request.facts))
        self.project = Project(request.sources, request.root)

    def findings(self) -> Iterable[Finding]:
        world = World(self.project, self.knowledge)
        modules = sorted(self._looked_at(world), key=lambda module: module.source.display)
        result = survey(world, modules)
        yield from self._complaints(result)
        yield from self._findings(world, result)
        if _FAILURES in self.request.codes:
            failing = World(self.project, self.knowledge, failures=True, holders=world.holders)
            for _, _, finding in self._told(survey(failing, modules), (_FAILURES,)):
                if finding.span.path in self.request.asked:
                    yield finding
        yield from self._broken()

    def _looked_at(self, world: World) -> Iterable[Module]:
        within = self.request.within
        for module in world.looked_at:
            if within is None or module.source.display in within:
                yield module

    def _broken(self) -> Iterable[Finding]:
        """Tell of the files that were needed and could not be read."""
        for source, error in self.project.broken.items():
            if self._is_wanted(source):
                yield not_analysed(source.display, error.reason, error.line, error.cell)

    def _complaints(self, result: Survey) -> Iterable[Finding]:
        for complaint in result.complaints:
            source = complaint.site.module.source
            if self._is_wanted(source):
                line = getattr(complaint.site.node, "lineno", 1)
                yield not_analysed(source.display, f"{complaint.function} {complaint.reason}", line)

    def _is_wanted(self, source: Source) -> bool:
        return self.request.around or source.display in self.request.asked

    def _findings(self, world: World, result: Survey) -> Iterable[Finding]:
        trials = Trials(
            world,
            result,
            lambda survey: (finding for _, _, finding in self._told(survey)),
        )
        siblings = Siblings(world)
        for fault, module, finding in self._told(result):
            if finding.span.path in self.request.asked:
                if self.request.fixes:
                    proposals = module.proposals(fault, self.knowledge)
                    if self.request.runtime and module.fix is not None and isinstance(fault, Fault):
                        proposals = chain(runtime_calls(fault, self.knowledge), proposals)
                    finding = replace(finding, fix=trials.first(proposals, fault, finding))
                yield siblings.told(fault, finding) if isinstance(fault, Fault) else finding
            elif self.request.around:
                yield finding

    @cached_property
    def _backends(self) -> frozenset[str]:
        if self.request.backends is not None:
            return self.request.backends
        return evidence.backends(self.request.root, self.request.sources, self.knowledge)

    def _told(
        self, result: Survey, codes: Collection[str] | None = None
    ) -> Iterable[tuple[Fault | FileFault, RuleModule, Finding]]:
        """Yield the findings of a survey, of all files, each with its fault and its rule."""
        wanted = self.request.codes if codes is None else codes
        for located in result.located:
            fault = Fault(located.divergence, located.function, self._backends)
            if fault.excused:
                continue
            for code, module in RULES.items():
                if code in wanted and module.check is not None:
                    finding = module.check(fault)
                    if finding is not None:
                        yield fault, module, finding
        for contended in result.contended:
            file_fault = FileFault(contended, self.request.shared_filesystem, self._backends)
            for code, module in RULES.items():
                if code in wanted and module.check_files is not None:
                    finding = module.check_files(file_fault)
                    if finding is not None:
                        yield file_fault, module, finding


@contextmanager
def _collector_off() -> Iterator[None]:
    """Keep the garbage collector from walking syntax trees that grow and all stay in use."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def in_deep_stack(work: Callable[[], _T]) -> _T:
    """Run ``work`` where deeply nested code does not overflow the stack."""
    outcome: list[_T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        # A daemon, so that Ctrl-C ends the process while the analysis goes on.
        thread = threading.Thread(target=target, name="analysis", daemon=True)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failure:
        raise failure[0]
    return outcome[0]
