"""Source to findings: the one function that the command line, the editor and the plugin call."""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from ckptlint import evidence
from ckptlint.analysis.holders import Holders
from ckptlint.examining import Examined, Examiner, Told
from ckptlint.finding import Finding, Fix
from ckptlint.knowledge import Knowledge
from ckptlint.project import Project
from ckptlint.request import Request, not_analysed
from ckptlint.source import Source
from ckptlint.trial import Identity

_STACK = 256 * 1024 * 1024
_RECURSION = 20_000
_WORTH_A_PROCESS = 8  # files; a process costs about as much as to look at a few
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
        self.project = Project(request.sources, request.root)
        knowledge = Knowledge(request.facts, evidence.pinned(request.root, request.facts))
        self.examiner = Examiner(request, self.project, knowledge, Holders(self.project, knowledge))

    def findings(self) -> Iterator[Finding]:
        """Look at each file that matters, and tell each fault once, as its best witness has it."""
        sources = self._looked_at()
        results = self._apart(self.examiner.examine, sources)
        witnesses: dict[str, tuple[Source, Told]] = {}
        for source, result in zip(sources, results, strict=True):
            for told in result.told:
                known = witnesses.get(told.key)
                if known is None or told.standing < known[1].standing:
                    witnesses[told.key] = (source, told)
        fixes = self._fixes(dict(zip(sources, results, strict=True)), witnesses.values())
        for _, told in witnesses.values():
            for finding in filter(self._is_wanted, told.findings):
                yield replace(finding, fix=fixes.get((told.key, finding.code)))
        complaints = [
            *self.examiner.unread(),
            *(c for result in results for c in result.complaints),
        ]
        yield from filter(self._is_wanted, dict.fromkeys(complaints))

    def _is_wanted(self, finding: Finding) -> bool:
        return self.request.around or finding.span.path in self.request.asked

    def _looked_at(self) -> Sequence[Source]:
        within = self.request.within
        found = (module.source for module in self.examiner.holders.looked_at)
        wanted = (each for each in found if within is None or each.display in within)
        return sorted(wanted, key=lambda source: source.display)

    def _fixes(
        self, results: Mapping[Source, Examined], told: Iterable[tuple[Source, Told]]
    ) -> Mapping[tuple[str, str], Fix | None]:
        """Find what cures the findings of the asked files, by their faults' keys and codes."""
        if not self.request.fixes:
            return {}
        looked = {
            (source.display, name): each
            for source, result in results.items()
            for name, each in result.looked.items()
        }
        before: Counter[Identity] = Counter()
        wanted: dict[Source, set[tuple[str, str]]] = defaultdict(set)
        for source, each in told:
            for finding in each.plain:
                before[finding.identity] += 1
                if finding.span.path in self.request.asked:
                    wanted[source].add((each.key, finding.code))
        found = self._apart(
            lambda source: self.examiner.fixes(source, wanted[source], looked, before),
            list(wanted),
        )
        return {place: fix for each in found for place, fix in each.items()}

    def _apart(self, work: Callable[[Source], _T], sources: Sequence[Source]) -> Sequence[_T]:
        """Do something for each of some files, in several processes where that pays."""
        jobs = min(self.request.jobs, len(sources) // _WORTH_A_PROCESS)
        if jobs < 2:
            return [work(source) for source in sources]
        from ckptlint.workers import mapped

        return mapped(work, sources, jobs)


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
