"""Trying a fix before it is offered: the rewritten project is analysed again."""

from __future__ import annotations

import ast
import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from ckptlint.analysis.machine import Machine
from ckptlint.analysis.seen import Looked
from ckptlint.analysis.survey import Survey, joined, survey
from ckptlint.analysis.world import World
from ckptlint.fault import Fault
from ckptlint.file_fault import FileFault
from ckptlint.finding import Edit, Finding, Fix
from ckptlint.fixing import Proposal
from ckptlint.project import FunctionNode, Module, Project
from ckptlint.source import Source, SourceError

Judge = Callable[[Survey], Iterable[Finding]]
Identity = tuple[str, str, str, str]


@dataclass(frozen=True)
class Before:
    """What is known of a project as it is.

    ``looked`` are the functions that were looked at, by file and name; ``found`` counts what is
    told, and ``by_file`` what looking at each file told by itself, of which some is the same.
    """

    looked: Mapping[tuple[str, str], Looked]
    found: Counter[Identity]
    by_file: Mapping[str, Counter[Identity]]


@dataclass(frozen=True)
class _After:
    """What is left of a survey when the rewritten project is gone: what was found, and the files
    that were looked at."""

    found: Counter[Identity]
    looked_at: frozenset[str]


@dataclass
class Trials:
    """Tries fixes on one analysed project; ``judge`` turns a survey into findings."""

    world: World
    before: Before
    judge: Judge
    _known: dict[object, _After | None] = field(default_factory=dict)

    def first(
        self, proposals: Iterable[Proposal], fault: Fault | FileFault, finding: Finding
    ) -> Fix | None:
        """Return the first proposal that holds as a fix, or None."""
        for proposal in proposals:
            if self._holds(proposal, fault, finding):
                return Fix(proposal.applicability, proposal.message, proposal.edits)
        return None

    def _holds(self, proposal: Proposal, fault: Fault | FileFault, finding: Finding) -> bool:
        trial = (proposal.edits, proposal.replaces, fault.present, isinstance(fault, Fault))
        if trial not in self._known:
            gc.freeze()  # what is there stays: of what the trial leaves behind nothing is needed
            self._known[trial] = self._tried(proposal, fault)
            gc.collect()
        after = self._known[trial]
        if after is None:
            return False
        gone = after.found[finding.identity] < self.before.found[finding.identity]
        return finding.span.path in after.looked_at and gone

    def _tried(self, proposal: Proposal, fault: Fault | FileFault) -> _After | None:
        """Return what is found after a rewrite; None where that is more than before."""
        after = self._rewritten(proposal, fault)
        if after is None:
            return None
        found = Counter(finding.identity for finding in self.judge(after))
        if found - self.before.found:
            return None
        edited = {edit.span.path for edit in proposal.edits}
        return _After(found, frozenset({path for path, _ in after.looked} | edited))

    def _same(self, after: Survey, fault: Fault | FileFault) -> bool:
        """Say whether the ranks that were let in make the same calls as before.

        A rewrite that lost a condition would clear the finding, but let them do more.
        """
        for key, looked in after.looked.items():
            old = self.before.looked.get(key)
            for ranks in fault.present:
                if old is not None and ranks.who in looked.likeness and ranks.who in old.likeness:
                    likeness = looked.likeness[ranks.who]
                    if likeness is None or likeness != old.likeness[ranks.who]:
                        return False
        return True

    def _rewritten(self, proposal: Proposal, fault: Fault | FileFault) -> Survey | None:
        """Analyse what comes out, as far as the changed files and what calls them go; None where it
        cannot be, or a file shows that it is no fix.

        For a collective only the changed functions, and those that run them, can be concerned.
        """
        edits: dict[str, list[Edit]] = defaultdict(list)
        for edit in proposal.edits:
            edits[edit.span.path].append(edit)
        sources = self.world.project.named
        try:
            changed = {name: sources[name].edited(each) for name, each in edits.items()}
            for source in changed.values():
                _ = source.tree
        except (SourceError, UnicodeEncodeError, KeyError):
            return None
        replaced = [changed.get(name, source) for name, source in sources.items()]
        project = Project(replaced, self.world.project.root, self.world.project.questions)
        world = World(project, self.world.knowledge, self.world.holders)
        only = self._concerned(edits, sources) if isinstance(fault, Fault) else None
        modules = [
            project.module(source)
            for source in self._around(changed, replaced)
            if only is None or any(path == source.display for path, _ in only)
        ]
        # Of what runs in these files the fix depends, wherever that was found out.
        project.questions.ask("ran", *edits, *(module.source.display for module in modules))
        machine = Machine(world)
        surveys: dict[Module, Survey] = {}
        known = self.before.found
        # What is no fix is mostly seen in the file that it changes.
        for module in sorted(modules, key=lambda each: each.source.display not in changed):
            after = surveys[module] = survey(machine, module, self.before.looked, only)
            known = known | self.before.by_file.get(module.source.display, Counter())
            adds = Counter(each.identity for each in self.judge(joined(surveys.values()))) - known
            if adds or not (proposal.replaces or self._same(after, fault)):
                return None
        return joined(surveys[module] for module in modules)

    def _concerned(
        self, edits: Mapping[str, Sequence[Edit]], sources: Mapping[str, Source]
    ) -> set[tuple[str, str]]:
        """Return the changed functions and those that run one of them, by file and name."""
        changed: set[tuple[str, str]] = set()
        found: set[tuple[str, str]] = set()
        for path, each in edits.items():
            module = self.world.project.module(sources[path])
            touched = {node for node in ast.walk(module.tree) if _within(node, each)}
            names = {node.name for node in touched}
            changed |= {(path, f.qualname) for f in module.functions if f.node in touched}
            found |= {
                (file, name)
                for file, name in self.before.looked
                if file == path and (name == "<module>" or not names.isdisjoint(name.split(".")))
            }
        found |= {
            place
            for place, looked in self.before.looked.items()
            if any((path, name.split(".<")[0]) in changed for path, name in looked.functions)
        }
        return found | changed

    def _around(
        self, changed: Mapping[str, Source], replaced: Iterable[Source]
    ) -> Iterable[Source]:
        """Yield the files that are looked at and reach a changed one through their imports."""
        before = self.world.project
        touched = {source for source in before.sources.values() if source.display in changed}
        looked_at = {source.display for source in self.world.holders.sources}
        for source in replaced:
            called = source.display in looked_at and touched & before.reachable(source)
            if called or source.display in changed:
                yield source


def _within(node: ast.AST, edits: Iterable[Edit]) -> TypeGuard[FunctionNode]:
    """Say whether a node is a function that an edit changes."""
    return isinstance(node, FunctionNode) and any(
        edit.span.line <= (node.end_lineno or node.lineno)
        and edit.span.end_line >= min([node.lineno, *(d.lineno for d in node.decorator_list)])
        for edit in edits
    )
