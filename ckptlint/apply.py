"""Applying fixes: which of them go together, the text that comes out, and writing it down."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ckptlint import atomic
from ckptlint.finding import Applicability, Edit, Finding
from ckptlint.source import Source, SourceError


class WriteError(Exception):
    """A file could not be replaced; it is as it was."""


@dataclass(frozen=True)
class Applied:
    """One round: the findings whose fixes were applied, and the files that came out."""

    findings: tuple[Finding, ...]
    sources: Mapping[str, Source]


def apply_round(
    findings: Sequence[Finding],
    sources: Mapping[str, Source],
    allowed: Collection[Applicability],
    editable: Collection[str],
) -> Applied:
    """Apply all fixes that do not touch each other; the others wait for the next round.

    ``sources`` are the files by display name; only ``editable`` ones are changed, and a fix that
    needs another one is left. Where the fixes together break a file, the first goes alone.
    """
    fixable = [
        finding
        for finding in findings
        if finding.fix is not None
        and finding.fix.applicability in allowed
        and all(edit.span.path in editable for edit in finding.fix.edits)
    ]
    chosen = compatible(fixable)
    while chosen:
        try:
            return Applied(tuple(chosen), _rewritten(chosen, sources))
        except (SourceError, UnicodeEncodeError):
            chosen = chosen[:1] if len(chosen) > 1 else []
    return Applied((), {})


def compatible(findings: Iterable[Finding]) -> list[Finding]:
    """Choose, in order, the findings whose edits do not overlap those chosen before.

    Findings that one and the same rewrite clears go together.
    """
    chosen: list[Finding] = []
    taken: set[Edit] = set()
    for finding in findings:
        edits = finding.fix.edits if finding.fix is not None else ()
        fresh = [edit for edit in edits if edit not in taken]
        if edits and (not fresh or not any(_touch(a, b) for a in edits for b in taken)):
            chosen.append(finding)
            taken.update(fresh)
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    """Say whether two edits overlap; two that meet at a point do when one of them inserts there,
    since then their order would matter."""
    if one.span.path != other.span.path:
        return False
    start, end = (one.span.line, one.span.column), (one.span.end_line, one.span.end_column)
    first = (other.span.line, other.span.column)
    last = (other.span.end_line, other.span.end_column)
    if start == end or first == last:
        return start <= last and first <= end
    return start < last and first < end


def _rewritten(findings: Iterable[Finding], sources: Mapping[str, Source]) -> dict[str, Source]:
    edits: dict[str, dict[Edit, None]] = {}
    for finding in findings:
        for edit in finding.fix.edits if finding.fix is not None else ():
            edits.setdefault(edit.span.path, {})[edit] = None
    changed = {path: sources[path].edited(list(each)) for path, each in edits.items()}
    for source in changed.values():
        _ = source.tree  # raises SourceError: what came out must still be Python
    return changed


def write(before: Source, after: Source) -> None:
    """Replace a file at once: whoever looks sees the old text or the new one, whole.

    The mode is kept and a symbolic link stays a link. Raises WriteError when the file is
    read-only, is no longer what was read, or cannot be written.
    """
    path = os.path.realpath(before.path)
    try:
        status = os.stat(path)
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise WriteError("it is read-only")
        if not os.access(path, os.W_OK):
            raise WriteError("you may not write it")
        with open(path, "rb") as file:
            if file.read() != before.data:
                raise WriteError("it was changed while it was analysed")
        atomic.replace(path, after.data)
    except OSError as error:
        raise WriteError(error.strerror or str(error)) from error
