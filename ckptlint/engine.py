"""Source to findings: the one function that the command line, the editor and the plugin call."""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, TypeVar

from ckptlint import evidence
from ckptlint.analysis.holders import Holders
from ckptlint.examining import Examined, Examiner, Found, Told
from ckptlint.finding import Finding, Fix
from ckptlint.kept.store import Store
from ckptlint.knowledge import Knowledge
from ckptlint.memo import Memo, digest
from ckptlint.plain import fix_from
from ckptlint.project import Project
from ckptlint.request import Request, not_analysed
from ckptlint.source import Source
from ckptlint.trial import Before, Identity

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
        store = request.store
        project = Project(request.sources, request.root, index=store.index if store else None)
        self.memo = store.memo(project) if store else Memo()
        knowledge = Knowledge(request.facts, evidence.pinned(request.root, request.facts))
        with project.questions.apart() as self.asked:
            holders = Holders(project, knowledge, self.memo)
            self.looked_at = holders.looked_at
        self.examiner = Examiner(request, project, knowledge, holders)
        if store is not None:
            self._note_changes(store)

    def _note_changes(self, store: Store) -> None:
        """Tell in which files other names hold the rank now, or which are looked at for another
        reason: what was found out of functions in them need not hold."""
        holders = self.examiner.holders
        new = {
            "names": holders.names,
            "ranks": holders.ranks,
            "speaking": {source.display for source in holders.speaking},
            "looked_at": {source.display for source in holders.looked_at},
            "used": {source.display for source in holders.used},
        }
        self.memo.change(store.changed_inside(self.examiner.project, self.examiner.telling))
        old = store.remembered("holders") or {}
        store.memory["holders"] = {name: sorted(each) for name, each in new.items()}
        if old:
            different = {name: each ^ set(old[name]) for name, each in new.items()}
            names = different["names"] | different["ranks"]
            mentioning = self.examiner.project.lexicon.mentioning(names) if names else ()
            files = {source.display for source in mentioning}
            parts = different["speaking"] | different["looked_at"] | different["used"]
            self.memo.change(each for name in files | parts for each in store.every_question(name))

    def findings(self) -> Iterator[Finding]:
        """Look at each file that matters, and tell each fault once, as its best witness has it."""
        results = self._examined()
        witnesses: dict[str, tuple[Source, Told]] = {}
        for source, result in results.items():
            for told in result.told:
                known = witnesses.get(told.key)
                if known is None or told.standing < known[1].standing:
                    witnesses[told.key] = (source, told)
        witnesses = {
            key: (source, told)
            for key, (source, told) in witnesses.items()
            if not _told_within(told, witnesses)
        }
        fixes = self._fixes(results, witnesses.values()) if self.request.fixes else {}
        for _, told in witnesses.values():
            for finding in filter(self._is_wanted, told.findings):
                yield replace(finding, fix=fixes.get((told.key, finding.code)))
        complaints = dict.fromkeys(self.examiner.unread(self.asked.all()))
        complaints.update(dict.fromkeys(c for each in results.values() for c in each.complaints))
        yield from filter(self._is_wanted, complaints)

    def _is_wanted(self, finding: Finding) -> bool:
        return self.request.around or finding.span.path in self.request.asked

    def _examined(self) -> Mapping[Source, Examined]:
        """Look at the files that matter, in order, as far as nothing that holds is known of one."""
        within = self.request.within
        wanted = (each for each in self.looked_at if within is None or each.display in within)
        sources = sorted(wanted, key=lambda source: source.display)
        several = str(self.examiner.holders.several)  # asked once, of the project as a whole
        state = digest([several, *sorted(self.examiner.backends)]) if sources else ""
        keys = {source: f"examined {state} {source.display}" for source in sources}
        known = {source: self.memo.known(key) for source, key in keys.items()}
        results = {source: Examined.of(plain) for source, plain in known.items() if plain}
        new = [source for source in sources if source not in results]
        for source, found in zip(new, self._apart(self.examiner.examine, new), strict=True):
            former = self.memo.former(keys[source])
            self.memo.change(f"ran:{path}" for path in _ran(source, found.result, former))
            self.memo.keep(keys[source], found.result.plain(), found.questions)
            results[source] = found.result
        return {source: results[source] for source in sources}

    def _fixes(
        self, results: Mapping[Source, Examined], told: Iterable[tuple[Source, Told]]
    ) -> Mapping[tuple[str, str], Fix | None]:
        """Find what cures the findings of the asked files, by their faults' keys and codes."""
        before: Counter[Identity] = Counter()
        wanted: dict[Source, set[tuple[str, str]]] = defaultdict(set)
        for source, each in told:
            for finding in each.plain:
                before[finding.identity] += 1
                sure = finding.confidence.level >= self.request.confidence.level
                if sure and finding.span.path in self.request.asked:
                    wanted[source].add((each.key, finding.code))
        found: dict[tuple[str, str], Fix | None] = {}
        new: list[Source] = []
        for source, faults in wanted.items():
            plain = self.memo.known(f"fixes {source.display}") or ()
            kept = {(key, code): fix for key, code, fix in plain}
            if faults <= kept.keys():
                found.update({fault: fix_from(kept[fault]) for fault in faults})
            else:
                new.append(source)
        known = Before(
            {
                (s.display, name): each
                for s, r in results.items()
                for name, each in r.looked.items()
            },
            before,
            {s.display: Counter(_identities(r.told)) for s, r in results.items()},
        )
        work = self._apart(lambda s: self.examiner.fixes(s, wanted[s], known), new)
        for source, new_fixes in zip(new, work, strict=True):
            plain = [[*fault, fix and asdict(fix)] for fault, fix in new_fixes.result.items()]
            self.memo.keep(f"fixes {source.display}", plain, new_fixes.questions)
            found.update(new_fixes.result)
        return found

    def _apart(
        self, work: Callable[[Source], Found[_T]], sources: Sequence[Source]
    ) -> Sequence[Found[_T]]:
        """Do something for each of some files, in several processes where that pays."""
        jobs = min(self.request.jobs, len(sources) // _WORTH_A_PROCESS)
        if jobs < 2:
            found = [work(source) for source in sources]
        else:
            from ckptlint.workers import mapped

            found = mapped(work, sources, jobs)
        if self.request.store is not None:
            for outlines in (*(each.outlines for each in found), self.examiner.outlines()):
                self.request.store.outlines.update(outlines)
        return found


def _told_within(told: Told, witnesses: Mapping[str, tuple[Source, Told]]) -> bool:
    """Say whether a function that is called on the way tells the same, as surely."""
    inner = (witnesses[key][1] for key in told.inner if key in witnesses)
    return any(each.standing[0] <= told.standing[0] for each in inner)


def _identities(told: Iterable[Told]) -> Iterator[Identity]:
    return (finding.identity for each in told for finding in each.plain)


def _ran(source: Source, result: Examined, former: Any) -> set[str]:
    """Return the files whose functions were executed when a file was looked at, now or before."""
    found = {source.display}
    for each in (result, *([Examined.of(former)] if former else [])):
        found.update(path for looked in each.looked.values() for path, _ in looked.functions)
    return found


@contextmanager
def _collector_off() -> Iterator[None]:
    """Keep the garbage collector from walking syntax trees that grow and all stay in use."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()  # see Trials
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
