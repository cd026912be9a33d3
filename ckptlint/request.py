"""What is asked of the analysis, apart from the engine, which is heavy to import."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckptlint import catalogue
from ckptlint.facts import FactSet
from ckptlint.finding import Confidence, Finding, Severity, Span
from ckptlint.source import Source

if TYPE_CHECKING:  # nothing is kept by an editor or a plugin
    from ckptlint.kept.store import Store


class ProcessLostError(Exception):
    """A process of the analysis ended before its work was done, as one does that was killed."""

    def __init__(self) -> None:
        super().__init__("a process of the analysis was lost; with --jobs 1 it needs less memory")


@dataclass(frozen=True)
class Request:
    """What to analyse.

    ``sources`` are all files of the project (whatever was asked for, plus what surrounds it);
    ``asked`` the display names of those whose findings are wanted; ``root`` the project's folder,
    where requirement files and settings show versions and backends; ``codes`` the rules to run;
    ``shared_filesystem`` says whether the nodes share one (None: nobody knows).
    With ``around`` the findings of all other files come along, without fixes. ``within`` names the
    files whose functions are looked at, where not all of them can matter; ``backends`` are those
    that the project shows, where that is known. With ``runtime`` fixes call the runtime where they
    can; only findings at least of this ``confidence`` get any. ``jobs`` is how many processes may
    be used; ``store`` holds what earlier runs found out of the same sources.
    """

    sources: Sequence[Source]
    asked: Collection[str]
    root: Path
    facts: FactSet
    codes: Collection[str]
    fixes: bool = False
    confidence: Confidence = Confidence.POSSIBLE
    around: bool = False
    within: Collection[str] | None = None
    backends: frozenset[str] | None = None
    runtime: bool = False
    shared_filesystem: bool | None = None
    jobs: int = 1
    store: Store | None = None


def not_analysed(display: str, reason: str, line: int = 1, cell: int = 0) -> Finding:
    """Make the CKP900 finding of a file or function that could not be analysed."""
    rule = catalogue.rules()[catalogue.NOT_ANALYSED]
    return Finding(
        rule.code,
        rule.name,
        Severity.ERROR,
        Confidence.CERTAIN,
        f"not analysed: {reason}",
        "mend the file, or exclude it if it is not meant to be checked",
        Span(display, line, 1, line, 1, cell),
        "<module>",
    )
