"""Check before each collective, over the store, that all members are about to make the same one.

Where a program's ranks part ways, a collective hangs, often elsewhere than at the fault. With the
sanitizer every rank raises within seconds instead, and says who is where.
"""

from __future__ import annotations

import re
import threading
from typing import Any

import torch
import torch.distributed as dist

from .channel import Channel, open_channel
from .control_store import ControlStore, StoreLostError
from .errors import (
    CheckpointError,
    MissingRanksError,
    RanksDisagreeError,
    name_ranks,
)
from .interception import Interception
from .rounds import ALARM, Round
from .verdicts import error_of, store_lost
from .watcher import Watcher
from .where import caller_outside_libraries, functions_on_stack

#: Seconds that a rank may be later than the others before it counts as missing.
DEFAULT_PATIENCE = 30.0

_CHECKPOINTING = re.compile(r"(save|load|resume|restore).*(checkpoint|ckpt|state|model)|checkpoint")
#: Collectives whose tensor must have one shape and type on all members.
_SAME_TENSOR = ("all_reduce", "broadcast", "reduce", "functional all_reduce")
_COMPARED = ("op", "src", "dst", "group_src", "group_dst", "ranks", "async_op")


class Sanitizer:
    """A running check; a context manager, or call :meth:`stop`."""

    def __init__(self, patience: float, only_checkpoints: bool) -> None:
        self._patience = patience
        self._only_checkpoints = only_checkpoints
        self._lock = threading.Lock()
        self._counts: dict[int, int] = {}
        self._watcher: Watcher | None = None
        self._interception = Interception(self._before, self._watch)
        self._interception.install()
        if dist.is_available() and dist.is_initialized():
            self._watch()

    def stop(self) -> None:
        """Remove the check from this process."""
        self._interception.remove()
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def __enter__(self) -> Sanitizer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _watch(self) -> Watcher:
        """Answer for this rank from now on, though it may not have made a collective yet."""
        if self._watcher is not None:  # of a job that this process has left
            self._watcher.stop()
        base = open_channel()
        self._watcher = Watcher(base.store.below("watch"), base.rank)
        return self._watcher

    def _before(self, name: str, arguments: dict[str, Any]) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            return
        if self._only_checkpoints and not any(map(_CHECKPOINTING.search, functions_on_stack())):
            return
        try:
            channel = open_channel(_group_of(name, arguments))
        except CheckpointError:  # not a member (torch says so itself), or not known
            return
        if channel.world_size > 1:
            self._check(channel, name, arguments)

    def _check(self, channel: Channel, name: str, arguments: dict[str, Any]) -> None:
        with self._lock:
            watcher = self._watcher or self._watch()
            number = self._counts[id(channel)] = self._counts.get(id(channel), 0) + 1
        made = {"collective": _signature(name, arguments), "where": caller_outside_libraries()}
        check = _Check(
            channel, channel.store.below(f"collectives/{number}"), watcher, self._patience, made
        )
        try:
            verdict = check.run({"ok": made, "where": made["where"]}, check.conclude)
        except StoreLostError as error:
            raise store_lost(name, "collective", channel.ranks[0], error) from error
        if check.error is not None:
            raise check.error
        if "missing" in verdict:
            raise MissingRanksError(verdict["missing"], name, _missing_report(name, verdict))
        if "failures" in verdict:
            raise error_of(verdict, name, "collective") or CheckpointError(name)
        if number > 1:  # all have come here, so nobody reads the verdict before any more
            for key in [*check.litter(), *([ALARM] if channel.decides else [])]:
                channel.store.drop(f"collectives/{number - 1}/{key}")
        if verdict["answer"]:
            raise _mismatch(verdict["answer"])


def sanitize(*, patience: float = DEFAULT_PATIENCE, only_checkpoints: bool = False) -> Sanitizer:
    """Start the check in this process; start it on every rank, before the first collective.

    ``patience`` is in seconds. ``only_checkpoints=True`` looks only at collectives that a function
    made whose name is about saving or loading checkpoints.

    From then on a collective that the members of its group do not all make raises
    RanksDisagreeError (they make different ones) or MissingRanksError (some make none).
    """
    if not patience > 0:
        raise ValueError(f"patience is a number of seconds above zero, not {patience!r}")
    return Sanitizer(patience, only_checkpoints)


class _Check(Round):
    """The round of one collective; whoever settles that ranks are missing asks where they are."""

    def __init__(
        self, channel: Channel, store: ControlStore, watcher: Watcher, patience: float, made: Any
    ) -> None:
        super().__init__(channel, store, "check", patience, made)
        self._watcher = watcher

    def conclude(self, reports: list[Any]) -> Any:
        """None when all make the same collective; else what each makes, and where."""
        if len({report["collective"] for report in reports}) == 1:
            return None
        return [
            [report["collective"], report["where"], rank]
            for rank, report in zip(self.channel.ranks, reports, strict=True)
        ]

    def _missing(self) -> dict[str, Any]:
        found = super()._missing()
        asked = self._watcher.ask(found["missing"])
        absent: dict[str, list[int]] = {}
        for rank, place in asked.items():
            absent.setdefault(place, []).append(rank)
        return {**found, "absent": absent}


def _signature(name: str, arguments: dict[str, Any]) -> str:
    """The collective in words that must be the same on all members."""
    details = [
        f"{key}={arguments[key]!r}" for key in _COMPARED if arguments.get(key) not in (None, False)
    ]
    tensor = next((value for value in arguments.values() if isinstance(value, torch.Tensor)), None)
    if tensor is not None and name in _SAME_TENSOR:
        details.append(f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}")
    return f"{name}({', '.join(details)})"


def _group_of(name: str, arguments: dict[str, Any]) -> dist.ProcessGroup | None:
    if name == "new_group":  # every rank of the world takes part, members or not
        return None
    group = arguments.get("group")
    if not name.startswith("functional "):
        return group
    functional: Any = dist._functional_collectives
    c10d: Any = dist.distributed_c10d
    if not hasattr(functional, "_resolve_group_name"):  # torch 2.2: these are not looked at
        raise CheckpointError("the group of a functional collective is not known")
    resolved = functional._resolve_group_name(group, arguments.get("tag", ""))
    found: dist.ProcessGroup = c10d._resolve_process_group(resolved)
    return found


def _missing_report(name: str, verdict: dict[str, Any]) -> str:
    missing = verdict["missing"]
    lines = [f"{name}: {name_ranks(missing)} did not come to it within {verdict['seconds']:g} s"]
    for place, ranks in verdict["places"].items():
        lines.append(f"  {name_ranks(ranks)} at {place}: waiting in {name}")
    for place, ranks in verdict["absent"].items():
        lines.append(f"  {name_ranks(ranks)}: {place}")
    lines.append(
        "  Look at: a rank test, an early return or an exception between the last collective that "
        "all ranks made and this one. A rank that is only slow needs more patience."
    )
    return "\n".join(lines)


def _mismatch(made: list[list[Any]]) -> RanksDisagreeError:
    values: dict[str, list[int]] = {}
    places: dict[tuple[str, str], list[int]] = {}
    for collective, where, rank in made:
        values.setdefault(collective, []).append(rank)
        places.setdefault((collective, where), []).append(rank)
    lines = ["the ranks are about to make different collectives"]
    for (collective, where), ranks in places.items():
        lines.append(f"  {name_ranks(ranks)} at {where}: {collective}")
    lines.append(
        "  Look at: a rank test, an early return or a condition that differs by rank before "
        "either line."
    )
    return RanksDisagreeError("collective", values, "\n".join(lines))
