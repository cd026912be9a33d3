"""The errors of the runtime, one class per thing that can go wrong between ranks.

Every error is raised on every rank that is still there, with the same class and the same ranks
named, so that a launcher's log tells one story whichever rank is read first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class CheckpointError(RuntimeError):
    """A save, a load or an agreement did not happen. Base of every error of this package."""


@dataclass(frozen=True)
class Failure:
    """What one rank raised: global rank, class and text of the exception, last frames."""

    rank: int
    error: str
    message: str
    where: str
    traceback: str


class MissingRanksError(CheckpointError):
    """Some members of the group did not come, or went silent.

    ``ranks`` are the global ranks that are missing, sorted; ``phase`` is the step of the call in
    which the others waited for them (``"enter"``, ``"state_dict"``, ``"write"`` …).
    """

    def __init__(self, ranks: Sequence[int], phase: str, message: str = "") -> None:
        self.ranks: tuple[int, ...] = tuple(sorted(ranks))
        self.phase = phase
        text = message or f"{name_ranks(self.ranks)} did not reach the phase {phase!r}"
        super().__init__(text)


class RanksDisagreeError(CheckpointError):
    """All ranks came, with different values for something that must be equal.

    ``name`` says what differs (``"path"``, ``"step"``, ``"world size"``, ``"call"`` …); ``values``
    maps each value, as text, to the global ranks that brought it.
    """

    def __init__(self, name: str, values: Mapping[str, Sequence[int]], message: str = "") -> None:
        self.name = name
        self.values: dict[str, tuple[int, ...]] = {
            value: tuple(ranks) for value, ranks in values.items()
        }
        listing = "; ".join(
            f"{value} on {name_ranks(ranks)}" for value, ranks in self.values.items()
        )
        super().__init__(message or f"the ranks disagree about the {name}: {listing}")


class RankFailedError(CheckpointError):
    """At least one rank raised; ``failures`` lists what each of them raised.

    On a rank that raised itself the original exception is the ``__cause__``.
    """

    def __init__(self, failures: Sequence[Failure], message: str = "") -> None:
        self.failures: tuple[Failure, ...] = tuple(failures)
        listing = "; ".join(
            f"rank {failure.rank}: {failure.error}: {failure.message} (at {failure.where})"
            for failure in self.failures
        )
        super().__init__(message or listing)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The global ranks that raised, sorted."""
        return tuple(sorted({failure.rank for failure in self.failures}))


def name_ranks(ranks: Sequence[int]) -> str:
    """``"rank 3"``, or ``"ranks 0-2, 5"``: runs are folded, so that 4,096 ranks fit on a line."""
    ordered = sorted(ranks)
    if len(ordered) == 1:
        return f"rank {ordered[0]}"
    parts: list[str] = []
    start = previous = None
    for rank in [*ordered, None]:
        if previous is not None and rank == previous + 1:
            previous = rank
            continue
        if start is not None and previous is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = rank
    return "ranks " + ", ".join(parts)
