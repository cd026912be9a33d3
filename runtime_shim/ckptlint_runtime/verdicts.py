"""From what the ranks reported to the error that every one of them raises."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .errors import (
    CheckpointError,
    Failure,
    MissingRanksError,
    RankFailedError,
    RanksDisagreeError,
    name_ranks,
)

Json = Any


def compare(ranks: Sequence[int], reports: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """``{fact: {value as text: ranks}}`` for each fact on which the reports differ, in order."""
    differing: dict[str, Json] = {}
    for name in {name: None for report in reports for name in report}:
        values: dict[str, list[int]] = {}
        for rank, report in zip(ranks, reports, strict=True):
            values.setdefault(as_text(report.get(name)), []).append(rank)
        if len(values) > 1:
            differing[name] = values
    return differing


def as_text(value: Json) -> str:
    """The value in canonical JSON, so that equal values have equal texts."""
    return json.dumps(value, sort_keys=True)


def error_of(verdict: dict[str, Json], kind: str, phase: str) -> CheckpointError | None:
    """The error that ``verdict`` stands for, None when it is an answer."""
    if "failures" in verdict:
        return _rank_failed(verdict, kind, phase)
    if "missing" in verdict:
        return _missing_ranks(verdict, kind, phase)
    return None


def disagreement(kind: str, differing: dict[str, dict[str, list[int]]]) -> RanksDisagreeError:
    """The error for facts that differ; its name and values are those of the first one."""
    name, values = next(iter(differing.items()))
    lines = [f"{kind}: nothing was done; the ranks disagree about the {', the '.join(differing)}"]
    for fact, found in differing.items():
        lines += [f"  {fact} {value} on {name_ranks(ranks)}" for value, ranks in found.items()]
    lines.append(f"  Look at: {_CURES.get(name, _CURES['path'])}")
    return RanksDisagreeError(name, values, "\n".join(lines))


def store_lost(kind: str, phase: str, first_rank: int, error: Exception) -> MissingRanksError:
    """The error of a rank that is cut off from the store, which rank zero's side hosts."""
    return MissingRanksError(
        [first_rank],
        phase,
        f"{kind}: lost the connection to the job's c10d store in the phase {phase!r}: the "
        f"process that hosts it is gone (rank {first_rank}, or the launcher on its node)\n"
        "  Look at: that process's own log, and the kernel's for an out-of-memory kill.\n"
        f"  {error}",
    )


_CURES = {
    "call": "one rank skipped or repeated an earlier call (a rank test, an early return, a caught "
    "exception). The counts are level again now: the next call can succeed.",
    "operation": "the ranks are at different calls; compare the lines their logs reached.",
    "world size": "ranks of different jobs, or of different groups, share one store.",
    "step": "a step counter that is not the same on every rank; broadcast it, or derive it from "
    "the number of optimizer steps.",
    "path": "a value made on each rank (a clock, a temporary name, a rank in the path); make it "
    "on one rank and broadcast it.",
}


def _rank_failed(verdict: dict[str, Json], kind: str, phase: str) -> RankFailedError:
    failures = [Failure(**failure) for failure in verdict["failures"]]
    ranks = name_ranks(sorted({failure.rank for failure in failures}))
    outcome = "; nothing was published" if "save_checkpoint" in kind else ""
    lines = [f"{kind}: {ranks} failed in the phase {phase!r}{outcome}"]
    for failure in failures:
        lines.append(
            f"  rank {failure.rank} at {failure.where}: {failure.error}: {failure.message}"
        )
    lines.append("  Look at: the traceback in `failures` of this error, or that rank's own log.")
    return RankFailedError(failures, "\n".join(lines))


def _missing_ranks(verdict: dict[str, Json], kind: str, phase: str) -> MissingRanksError:
    missing: list[int] = verdict["missing"]
    path = verdict["context"].get("path")
    if phase == "enter" and path is not None:  # not agreed on yet, but what the waiting ranks want
        kind = f"{kind}({path!r})"
    lines = [
        f"{kind}: {name_ranks(missing)} did not reach the phase {phase!r} within "
        f"{verdict['seconds']:g} s (waited for since {verdict['since']})"
    ]
    for place, ranks in verdict["places"].items():
        lines.append(f"  waiting: {name_ranks(ranks)} at {place}")
    if phase == "enter":
        lines.append(
            f"  Look at: a rank test, an early return or an exception that keeps "
            f"{name_ranks(missing)} from this call. Every rank must make it; it guards its own "
            "writes. A rank that is only slow needs a longer timeout=."
        )
    else:
        lines.append(
            f"  Look at: whether the process of {name_ranks(missing)} was killed (out of memory, "
            "preempted node) or hangs in its file system or in a collective. A rank that is only "
            "slow needs a longer work_timeout=."
        )
    return MissingRanksError(missing, phase, "\n".join(lines))
