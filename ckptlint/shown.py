"""What of an analysis is shown: what settings and comments leave, and comments left over."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from ckptlint import catalogue
from ckptlint.catalogue import NOT_ANALYSED, UNUSED_SUPPRESSION
from ckptlint.config import Settings
from ckptlint.finding import Finding
from ckptlint.ignores import patterns
from ckptlint.source import Source
from ckptlint.suppress import Comments, Suppression, comments, suppressions
from ckptlint.unused import Usage, unused


def judges_comments(settings: Settings, asked: Iterable[Source]) -> bool:
    """Say whether comments are to be judged, for which the findings of all files are needed:
    one that leads to another file may be silenced there."""
    return UNUSED_SUPPRESSION in settings.codes and any(each.suppresses for each in asked)


def visible(
    findings: Iterable[Finding],
    settings: Settings,
    sources: Mapping[str, Source],
    asked: Collection[str],
    cwd: Path,
    noqa: bool = True,
) -> list[Finding]:
    """Return the findings of the asked files that settings and comments leave, and those about
    comments that silence nothing. Without ``noqa`` such comments are left to whoever called."""
    known: dict[str, Comments] = {}

    def comments_of(name: str) -> Comments:
        if name not in known:
            known[name] = comments(sources[name]) if name in sources else Comments()
        return known[name]

    used: dict[tuple[str, Suppression], set[str]] = defaultdict(set)
    shown: list[Finding] = []
    whole = True
    for finding in findings:
        whole &= finding.code != NOT_ANALYSED
        if finding.code not in settings.codes:
            continue
        silencing = list(suppressions(finding, comments_of, noqa))
        for place in silencing:
            used[place].add(finding.code)
        sure = finding.confidence.level >= settings.confidence.level
        if sure and not silencing and finding.span.path in asked:
            shown.append(finding)
    if whole and UNUSED_SUPPRESSION in settings.codes:
        judged = [sources[name] for name in asked if name in sources]
        for source in (each for each in judged if each.suppresses):
            usages = [
                Usage(comment, frozenset(used.get((source.display, comment), ())))
                for comment in comments_of(source.display).suppressions
                if noqa or comment.kind != "noqa"
            ]
            idle = unused(usages, source, settings.codes, catalogue.rules())
            shown += (each for each in idle if not _meant(each, comments_of))
    return [finding for finding in shown if not ignored_in_file(finding, settings, cwd)]


def _meant(finding: Finding, comments_of: Callable[[str], Comments]) -> bool:
    """Say whether a comment names the rule about comments itself."""
    return any(comment.codes for _, comment in suppressions(finding, comments_of))


def ignored_in_file(finding: Finding, settings: Settings, cwd: Path) -> bool:
    """Say whether ``per-file-ignores`` silence a finding; patterns are those of ``exclude``."""
    path = os.path.abspath(cwd / finding.span.path)
    for ignores in settings.per_file_ignores:
        if finding.code in ignores.codes:
            compiled = patterns(os.path.abspath(ignores.base), [ignores.pattern])
            if compiled is not None and compiled.verdict(path, folder=False):
                return True
    return False
