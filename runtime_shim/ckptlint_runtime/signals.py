"""Turn a fatal SIGTERM into an exception while a call runs, so that the other ranks hear of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class TerminatedError(BaseException):
    """SIGTERM came during a call. Not an Exception: user code must not swallow it."""


@contextmanager
def report_sigterm(last_words: Callable[[], None]) -> Iterator[None]:
    """Raise TerminatedError on SIGTERM inside the block, then let the signal do its work.

    ``last_words`` runs before the process dies of it: the time to let others read its answer.

    Only where SIGTERM would kill the process: a handler of the program's own stays in charge (it
    commonly notes that time is short, and a save in progress should then be finished). Signals
    reach the main thread only, so in other threads the block changes nothing.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    terminated = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal terminated
        if not terminated:
            terminated = True
            raise TerminatedError("the process was asked to terminate (SIGTERM)")

    signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if terminated:
            last_words()
            signal.raise_signal(signal.SIGTERM)
