"""The closing lines of the formats that people read."""

from __future__ import annotations

from collections.abc import Iterator

from ckptlint.finding import Applicability
from ckptlint.report.styled import Piece
from ckptlint.runner import Report


def counted(number: int, noun: str) -> str:
    """Return ``1 file`` or ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summary(report: Report) -> Iterator[Piece]:
    """Say what was found, what can be fixed, and what was not looked at."""
    remaining, fixed = len(report.new), len(report.fixed)
    kind = "new finding" if report.comparisons else "finding"
    if report.silenced:
        what = f"Silenced {counted(len(report.silenced), 'finding')}"
        yield f"{what}; {remaining} remaining.\n", "strong"
    elif fixed:
        total = counted(remaining + fixed, "finding")
        yield f"Found {total} ({fixed} fixed, {remaining} remaining).\n", "strong"
    elif remaining:
        yield f"Found {counted(remaining, kind)}", "strong"
        yield f" in {counted(report.files.checked + report.files.failed, 'file')}.\n", ""
    else:
        yield f"No {kind}s in {counted(report.files.checked, 'file')}.\n", "strong"
    yield from fixes(report)
    if report.files.failed:
        what = counted(report.files.failed, "file")
        yield f"{what} could not be analysed (CKP900).\n", "error"
    if report.files.skipped:
        what = counted(report.files.skipped, "test file")
        yield f"{what} not checked (--include-tests checks them).\n", "dim"
    yield from _baselines(report)


def _baselines(report: Report) -> Iterator[Piece]:
    known = len(report.findings) - len(report.new)
    if known:
        yield f"{counted(known, 'finding')} in the baseline, not shown.\n", "dim"
    stale = sum(number for each in report.comparisons for number in each.stale.values())
    if stale:
        what = f"{counted(stale, 'finding')} of the baseline no longer found"
        yield f"{what} (--update-baseline takes them out).\n", "dim"


def fixes(report: Report) -> Iterator[Piece]:
    """Say how many of the remaining findings can be fixed, and how."""
    kinds = [finding.fix.applicability for finding in report.new if finding.fix is not None]
    safe, unsafe = kinds.count(Applicability.SAFE), kinds.count(Applicability.UNSAFE)
    if safe:
        more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
        yield "[*]", "help"
        yield f" {safe} fixable with --fix{more}.\n", ""
    elif unsafe:
        yield f"{unsafe} fixable with --fix --unsafe-fixes; read what they change.\n", ""
