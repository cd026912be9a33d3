"""Trying a fix before it is offered: the rewritten project is analysed again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ckptlint.analysis.likeness import likeness
from ckptlint.analysis.survey import Survey, survey
from ckptlint.analysis.world import World
from ckptlint.fault import Fault
from ckptlint.finding import Edit, Finding, Fix
from ckptlint.fixing import Proposal
from ckptlint.knowledge import Knowledge
from ckptlint.project import Import, Module, Project
from ckptlint.source import SourceError

Judge = Callable[[Survey], Iterable[Finding]]


@dataclass
class Trials:
    """Tries fixes on one analysed project.

    ``judge`` turns a survey into findings, of all files and all rules; ``result`` is the survey of
    the project as it is.
    """

    project: Project
    knowledge: Knowledge
    modules: Sequence[Module]
    result: Survey
    judge: Judge
    _known: dict[tuple[Edit, ...], Survey | None] = field(default_factory=dict)

    def first(self, proposals: Iterable[Proposal], fault: Fault, finding: Finding) -> Fix | None:
        """Return the first proposal that holds as a fix, or None."""
        for proposal in proposals:
            if self._holds(proposal, fault, finding):
                return Fix(proposal.applicability, proposal.message, proposal.edits)
        return None

    def _holds(self, proposal: Proposal, fault: Fault, finding: Finding) -> bool:
        if proposal.edits not in self._known:
            self._known[proposal.edits] = self._rewritten(proposal)
        after = self._known[proposal.edits]
        if after is None:
            return False
        looked_at = {path for path, _ in after.traces} | {edit.span.path for edit in proposal.edits}
        before = Counter({f: n for f, n in self._before.items() if f[1] in looked_at})
        left = Counter(found.identity for found in self.judge(after))
        gone = left[finding.identity] < before[finding.identity]
        return gone and not left - before and self._same(after, fault)

    @cached_property
    def _before(self) -> Counter[tuple[str, str, str, str]]:
        return Counter(found.identity for found in self.judge(self.result))

    def _same(self, after: Survey, fault: Fault) -> bool:
        """Say whether the ranks that were let in make the same calls as before.

        A rewrite that lost a condition would clear the finding, but let them do more.
        """
        for key, traces in after.traces.items():
            old = self.result.traces.get(key, {})
            for ranks in fault.divergence.present:
                if ranks in traces and ranks in old:
                    was = likeness(old[ranks], self.result.keys)
                    if likeness(traces[ranks], after.keys) != was:
                        return False
        return True

    def _rewritten(self, proposal: Proposal) -> Survey | None:
        """Analyse what comes out, as far as the changed files and what calls them go."""
        edits: dict[str, list[Edit]] = defaultdict(list)
        for edit in proposal.edits:
            edits[edit.span.path].append(edit)
        sources = {module.source.display: module.source for module in self.modules}
        try:
            changed = {name: sources[name].edited(each) for name, each in edits.items()}
            for source in changed.values():
                _ = source.tree
        except (SourceError, UnicodeEncodeError, KeyError):
            return None
        touched = [module for module in self.modules if module.source.display in changed]
        callers = _closure(touched, self._importers)
        around = _closure(callers, self._imports)
        replaced = [changed.get(m.source.display, m.source) for m in around]
        project = Project(replaced, self.project.root)
        modules = [project.module(source) for source in replaced]
        names = {module.source.display for module in callers}
        within = [module for module in modules if module.source.display in names]
        return survey(World(project, self.knowledge, modules), frozenset(within))

    @cached_property
    def _imports(self) -> Mapping[Module, list[Module]]:
        return {module: list(_imported(module, self.project)) for module in self.modules}

    @cached_property
    def _importers(self) -> Mapping[Module, list[Module]]:
        found: dict[Module, list[Module]] = defaultdict(list)
        for module, targets in self._imports.items():
            for target in targets:
                found[target].append(module)
        return found


def _imported(module: Module, project: Project) -> Iterable[Module]:
    """Return the modules of the project that the imports of one may lead to."""
    targets = [symbol for symbol in module.symbols.values() if isinstance(symbol, Import)]
    targets += module.stars
    for names in module.local_imports:
        targets += names.values()
    seen: dict[Path, Module] = {}
    for target in targets:
        inner = ".".join(part for part in (target.module, target.name) if part)
        for name in dict.fromkeys((target.module, inner)):
            found = project.find(module, name, target.level)
            if found is not None:
                seen[found.source.path] = found
    return seen.values()


def _closure(start: Iterable[Module], edges: Mapping[Module, Sequence[Module]]) -> list[Module]:
    found: dict[Module, None] = dict.fromkeys(start)
    queue = list(found)
    while queue:
        for other in edges.get(queue.pop(), ()):
            if other not in found:
                found[other] = None
                queue.append(other)
    return list(found)
