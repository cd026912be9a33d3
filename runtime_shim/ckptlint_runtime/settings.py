"""Timeouts, and the arguments that every call checks in the same way."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Seconds to wait for a rank that has nothing to do but come.
DEFAULT_TIMEOUT = 600.0
#: Seconds to wait for a rank that collects or writes state.
DEFAULT_WORK_TIMEOUT = 3600.0


@dataclass(frozen=True)
class Timeouts:
    """``enter``: seconds to wait for a rank to come; ``work``: for it to finish a phase's work."""

    enter: float = DEFAULT_TIMEOUT
    work: float = DEFAULT_WORK_TIMEOUT


_defaults = Timeouts()


def set_default_timeouts(
    *, timeout: float | None = None, work_timeout: float | None = None
) -> Timeouts:
    """Set the defaults, in seconds, for calls that are not given any. Returns the former ones.

    ``run_on_rank_zero`` and ``agree`` pass their arguments on or compare them, so this is the way
    to give them a timeout. Set it to the same values on every rank.
    """
    global _defaults
    former = _defaults
    _defaults = replace(
        former,
        enter=former.enter if timeout is None else _positive("timeout", timeout),
        work=former.work if work_timeout is None else _positive("work_timeout", work_timeout),
    )
    return former


def resolve_timeouts(timeout: float | None, work_timeout: float | None) -> Timeouts:
    """The timeouts of one call: what it was given, else the defaults.

    Work is never given less time than coming.
    """
    enter = _defaults.enter if timeout is None else _positive("timeout", timeout)
    work = _defaults.work if work_timeout is None else _positive("work_timeout", work_timeout)
    return Timeouts(enter, max(enter, work) if work_timeout is None else work)


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} is a number of seconds above zero, not {value!r}")
    return float(value)
