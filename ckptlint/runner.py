"""From discovered files to a report: read, analyse, drop what was silenced, fix, sort."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckptlint.apply import WriteError, apply_round, write
from ckptlint.baseline import Baseline, Comparison, Scope, compare, load
from ckptlint.cache import Cache, Outcome
from ckptlint.catalogue import NOT_ANALYSED
from ckptlint.discovery import Discovery, ProjectFiles
from ckptlint.evidence import pinned
from ckptlint.facts import FactSet
from ckptlint.finding import Applicability, Edit, Finding, Span
from ckptlint.project import display_path
from ckptlint.reading import read, source
from ckptlint.request import Request, not_analysed
from ckptlint.shown import judges_comments, visible
from ckptlint.silence import silencing
from ckptlint.source import Source, SourceError
from ckptlint.trace.picture import Pictures
from ckptlint.walk import is_root

if TYPE_CHECKING:  # not needed where an outcome is kept
    from ckptlint.kept.store import Store

Analyse = Callable[[Request], Sequence[Finding]]
Draw = Callable[[Request, Sequence[Finding]], Pictures]
_MAX_ROUNDS = 10


@dataclass(frozen=True)
class Counts:
    """Files analysed; test files passed over; files that were not, or not wholly, analysed."""

    checked: int = 0
    skipped: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Report:
    """The outcome of a run.

    ``findings`` remain, ``fixed`` are gone from the new text, and so are ``silenced``, by new
    comments. ``changes`` are files before and after the fixes; ``sources`` all files and cells of
    notebooks that a finding may show, as they are now, by the name that its spans have; ``checked``
    the files that were asked for and analysed. ``errors`` are sentences about what could not be
    done. ``comparisons`` tell what the baselines hold, one for each. ``pictures`` show what the
    ranks do, by the code and place of a finding, in a run that draws.
    """

    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    silenced: tuple[Finding, ...] = ()
    files: Counts = Counts()
    changes: tuple[tuple[Source, Source], ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    checked: frozenset[str] = frozenset()
    errors: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    pictures: Pictures = field(default_factory=dict)

    @property
    def new(self) -> tuple[Finding, ...]:
        """The findings that no baseline holds: those that count."""
        return tuple(finding for finding in self.findings if not finding.baselined)

    @property
    def incomplete(self) -> bool:
        """Whether something could not be analysed or written."""
        return bool(self.errors) or any(f.code == NOT_ANALYSED for f in self.findings)


@dataclass(frozen=True)
class Mode:
    """What to do with fixes: offer them, apply those of these kinds, write what comes out.

    With a ``reason`` the findings are silenced by comments instead. With ``update`` a baseline
    need not be there yet.
    """

    offer: bool = True
    allowed: frozenset[Applicability] = frozenset()
    write: bool = False
    reason: str = ""
    update: bool = False


def _analyse(request: Request) -> Sequence[Finding]:
    # The engine is imported when something is to be analysed, which a kept outcome need not be.
    from ckptlint.engine import analyse

    return analyse(request)


@dataclass(frozen=True)
class Runner:
    """Runs the analysis over discovered projects.

    ``facts`` gives those of the frameworks, to which each project adds its own. ``overlay`` gives
    the contents of files that are not to be read from disk (standard input), by path; ``reader``
    reads the others, given the path and ``cwd``, and raises SourceError. ``draw`` makes the
    pictures of a report that has some. ``cached`` keeps outcomes on disk
    and takes them from there; ``jobs`` is how many processes may be used.
    """

    cwd: Path
    facts: Callable[[], FactSet]
    mode: Mode = Mode()
    overlay: Mapping[Path, bytes] = field(default_factory=dict)
    analyse: Analyse = _analyse
    noqa: bool = True
    reader: Callable[[Path, Path], Source] = read
    draw: Draw | None = None
    cached: bool = False
    jobs: int = 1

    def run(self, discovery: Discovery) -> Report:
        """Analyse every project and put the outcomes together. Raises BaselineError."""
        baselines = {
            path: load(path, missing=self.mode.update)
            for project in discovery.projects
            if (path := project.settings.baseline) is not None
        }
        reports = [self._project(project, baselines) for project in discovery.projects]
        pairs = list(zip(discovery.projects, reports, strict=True))
        comparisons = tuple(
            self._compared(each, [pair for pair in pairs if pair[0].settings.baseline == path])
            for path, each in baselines.items()
        )
        unread = [
            not_analysed(display_path(failure.path, self.cwd), failure.reason)
            for failure in discovery.failures
        ]
        findings = [
            *unread,
            *(f for files, report in pairs if not files.settings.baseline for f in report.findings),
            *(finding for comparison in comparisons for finding in comparison.marked),
        ]
        return Report(
            findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
            fixed=tuple(finding for report in reports for finding in report.fixed),
            silenced=tuple(finding for report in reports for finding in report.silenced),
            files=Counts(
                sum(report.files.checked for report in reports),
                discovery.tests,
                sum(report.files.failed for report in reports) + len(unread),
            ),
            changes=tuple(change for report in reports for change in report.changes),
            sources={name: source for report in reports for name, source in report.sources.items()},
            checked=frozenset(name for report in reports for name in report.checked),
            errors=tuple(error for report in reports for error in report.errors),
            comparisons=comparisons,
            pictures={key: each for report in reports for key, each in report.pictures.items()},
        )

    def _compared(
        self, baseline: Baseline, pairs: Iterable[tuple[ProjectFiles, Report]]
    ) -> Comparison:
        """Compare the findings of all projects that share a baseline with it."""
        findings: list[Finding] = []
        sources: dict[str, Source] = {}
        checked: dict[str, Scope] = {}
        for files, report in pairs:
            findings += report.findings
            sources.update(report.sources)
            scope = Scope(files.settings.codes, files.settings.confidence)
            checked.update(dict.fromkeys(report.checked, scope))
        return compare(baseline, findings, sources, checked, self.cwd)

    def _project(self, files: ProjectFiles, baselines: Mapping[Path, Baseline]) -> Report:
        if not self.cached or self.overlay or not is_root(str(files.root)):
            return self._computed(files, baselines, *self._read(files))
        cache = Cache(files.root, self.cwd, files.settings, files.asked, self.mode.offer, self.noqa)
        plain = self.draw is None and not (self.mode.allowed or self.mode.reason)
        if plain and not files.settings.baseline:
            return self._remembered(files, cache)
        return self._kept_up(files, baselines, cache)

    def _remembered(self, files: ProjectFiles, cache: Cache) -> Report:
        """Return the outcome that is kept of a project, or else find it out and keep it: where
        nothing is written, drawn or compared with another file, it is all that there is to do."""
        stamp = cache.stamp((*files.asked, *files.around))
        outcome = cache.by_stamp(stamp)
        if outcome is not None:
            return self._recalled(files, outcome)
        report = self._kept_up(files, {}, cache)
        asked = {display_path(path, self.cwd) for path in files.asked}
        cache.store(stamp, Outcome(report.findings, frozenset(asked - report.checked)))
        return report

    def _kept_up(
        self, files: ProjectFiles, baselines: Mapping[Path, Baseline], cache: Cache
    ) -> Report:
        """Find an outcome out, as far as nothing is kept of the files that holds."""
        from ckptlint.kept.database import DamagedError
        from ckptlint.kept.store import Store

        path = cache.path(self._kept_as(files))
        try:
            store = Store(path, (*files.asked, *files.around), self.cwd, self.reader)
            changes = store.changes
            report = self._computed(files, baselines, changes.sources, changes.failures, store)
            store.save()
        except DamagedError:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            report = self._computed(files, baselines, *self._read(files))
        return report

    def _kept_as(self, files: ProjectFiles) -> Sequence[object]:
        """Return what results depend on besides the files of a project."""
        settings = files.settings
        return (
            self.cwd,
            settings.codes,
            settings.facts,
            settings.fix_style,
            settings.shared_filesystem,
            pinned(files.root, self.facts() + settings.facts),
        )

    def _recalled(self, files: ProjectFiles, outcome: Outcome) -> Report:
        """Make the report of an outcome; only the files that its findings show are read."""
        asked = {display_path(path, self.cwd) for path in files.asked}
        shown = {
            span.path
            for finding in outcome.findings
            for span in (finding.span, *(each.span for each in finding.related))
        }
        sources: dict[str, Source] = {}
        for name in sorted(shown):
            with suppress(SourceError):  # what cannot be read is told without its text
                sources.update(self.reader(self.cwd / name, self.cwd).pieces)
        return Report(
            findings=outcome.findings,
            files=Counts(len(asked - outcome.failed), 0, len(outcome.failed)),
            sources=sources,
            checked=frozenset(asked - outcome.failed),
        )

    def _computed(
        self,
        files: ProjectFiles,
        baselines: Mapping[Path, Baseline],
        sources: dict[str, Source],
        failures: Mapping[str, SourceError],
        store: Store | None = None,
    ) -> Report:
        asked = {display_path(path, self.cwd) for path in files.asked}
        original = sources
        found = self._analysed(files, sources, asked, failures, store)
        failed = asked & {f.span.path for f in found if f.code == NOT_ANALYSED}
        checked = frozenset(asked - failed)
        first = findings = self._kept(found, files, sources, asked)
        fixed: list[Finding] = []
        rounds = _MAX_ROUNDS if self.mode.allowed else 0
        for _ in range(1 if self.mode.reason else rounds):
            report = Report(tuple(findings), sources=sources, checked=checked)
            fixable = self._fixable(report, files, baselines)
            applied = apply_round(fixable, sources, self.mode.allowed, asked)
            if not applied.sources:
                break
            fixed.extend(placed(finding, sources) for finding in applied.findings)
            sources = {**sources, **applied.sources}
            found = self._analysed(files, sources, asked, failures)
            findings = self._kept(found, files, sources, asked)
        changes = [
            (original[name], source)
            for name, source in sorted(sources.items())
            if source.data != original[name].data
        ]
        unwritten = self._write(changes) if self.mode.write else {}
        # What could not be written is as it was, and so are the findings in it.
        fixed = [finding for finding in fixed if finding.span.path not in unwritten]
        findings = [
            *(finding for finding in findings if finding.span.path not in unwritten),
            *(finding for finding in first if finding.span.path in unwritten),
        ]
        now = {**sources, **{name: original[name] for name in unwritten}}
        return Report(
            findings=tuple(placed(finding, now) for finding in findings),
            fixed=() if self.mode.reason else tuple(fixed),
            silenced=tuple(fixed) if self.mode.reason else (),
            files=Counts(len(checked), 0, len(failed)),
            changes=tuple(c for c in changes if c[0].display not in unwritten),
            sources={name: piece for each in now.values() for name, piece in each.pieces.items()},
            checked=checked,
            errors=tuple(f"cannot write {name}: {why}" for name, why in unwritten.items()),
            pictures=self._pictures(files, now, asked, findings),
        )

    def _fixable(
        self, report: Report, files: ProjectFiles, baselines: Mapping[Path, Baseline]
    ) -> list[Finding]:
        """Return the findings that are to be fixed or silenced: those in a baseline are left."""
        new = list(report.findings)
        if files.settings.baseline is not None:
            comparison = self._compared(baselines[files.settings.baseline], [(files, report)])
            new = [finding for finding in comparison.marked if not finding.baselined]
        return silencing(new, report.sources, self.mode.reason) if self.mode.reason else new

    def _read(self, files: ProjectFiles) -> tuple[dict[str, Source], dict[str, SourceError]]:
        """Read a project; a file around the asked ones that cannot be read is left out."""
        sources: dict[str, Source] = {}
        failures: dict[str, SourceError] = {}
        for path in (*files.asked, *files.around):
            name = display_path(path, self.cwd)
            try:
                if path in self.overlay:
                    found = source(path, self.overlay[path], self.cwd)
                else:
                    found = self.reader(path, self.cwd)
            except SourceError as error:
                failures[name] = error
            else:
                sources[name] = found
        return sources, failures

    def _analysed(
        self,
        files: ProjectFiles,
        sources: Mapping[str, Source],
        asked: Collection[str],
        failures: Mapping[str, SourceError],
        store: Store | None = None,
    ) -> list[Finding]:
        request = replace(self._request(files, sources, asked), store=store)
        unread = [
            not_analysed(name, error.reason, error.line, error.cell)
            for name, error in failures.items()
            if request.around or name in asked
        ]
        return [*unread, *self.analyse(request)]

    def _request(
        self, files: ProjectFiles, sources: Mapping[str, Source], asked: Collection[str]
    ) -> Request:
        judged = (sources[name] for name in asked if name in sources)
        return Request(
            sources=tuple(sources.values()),
            asked=asked,
            root=files.root,
            facts=self.facts() + files.settings.facts,
            codes=files.settings.codes,
            fixes=self.mode.offer,
            confidence=files.settings.confidence,
            runtime=files.settings.fix_style == "runtime",
            around=judges_comments(files.settings, judged),
            shared_filesystem=files.settings.shared_filesystem,
            jobs=self.jobs,
        )

    def _pictures(
        self,
        files: ProjectFiles,
        sources: Mapping[str, Source],
        asked: Collection[str],
        findings: Sequence[Finding],
    ) -> Pictures:
        """Draw what the findings tell; a picture is kept by the place that its finding gets."""
        if self.draw is None or not findings:
            return {}
        drawn = self.draw(self._request(files, sources, asked), findings)
        return {
            (code, sources[span.path].placed(span)): each for (code, span), each in drawn.items()
        }

    def _kept(
        self,
        found: Iterable[Finding],
        files: ProjectFiles,
        sources: Mapping[str, Source],
        asked: Collection[str],
    ) -> list[Finding]:
        kept = visible(found, files.settings, sources, asked, self.cwd, self.noqa)
        return sorted(kept, key=lambda finding: finding.sort_key)

    def _write(self, changes: Iterable[tuple[Source, Source]]) -> dict[str, str]:
        """Write the new texts; return the reasons of those that could not be, by display name."""
        unwritten: dict[str, str] = {}
        for before, after in changes:
            try:
                write(before, after)
            except WriteError as error:
                unwritten[before.display] = str(error)
        return unwritten


def placed(finding: Finding, sources: Mapping[str, Source]) -> Finding:
    """Return a finding with its places and edits as the user counts them: in a notebook by cell."""

    def place(span: Span) -> Span:
        return sources[span.path].placed(span) if span.path in sources else span

    def written(edit: Edit) -> str:
        source = sources.get(edit.span.path)
        return edit.text if source is None else source.written(edit.text)

    fix = finding.fix
    if fix is not None:
        edits = tuple(Edit(place(edit.span), written(edit)) for edit in fix.edits)
        fix = replace(fix, edits=edits)
    related = tuple(replace(each, span=place(each.span)) for each in finding.related)
    return replace(finding, span=place(finding.span), related=related, fix=fix)
