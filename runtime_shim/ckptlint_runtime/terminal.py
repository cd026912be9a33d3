"""One line about a long save, on the terminal of the first rank."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TextIO

from .request import Progress, SaveRequest

#: A save shorter than this, in seconds, is not worth a line.
DELAY = 1.0
_INTERVAL = 0.2


class TerminalLine:
    """Shows how far a save has come, on one line that is rewritten and in the end erased."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._next = self._started + DELAY
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        """Rewrite the line, a few times a second at most."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        seconds = now - self._started
        text = (
            f"saving {progress.path.name}: {_size(progress.bytes)} of {_size(progress.total)}, "
            f"{seconds:.0f} s, {_size(progress.bytes / seconds)}/s"
        )
        self._put(text)

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self._width:
            self._put("")
            self._stream.write("\r")
            self._stream.flush()

    def _put(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


@contextmanager
def shown(request: SaveRequest, first: bool) -> Iterator[SaveRequest]:
    """The request, with a terminal line for its progress where somebody looks at it.

    Not where the caller has a callback of his own, and on the first rank only.
    """
    if request.progress is not None or not first or not sys.stderr.isatty():
        yield request
        return
    line = TerminalLine(sys.stderr)
    try:
        yield replace(request, progress=line)
    finally:
        line.erase()


def _size(amount: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
