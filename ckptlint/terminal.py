"""What is known of the terminal, and writing to it."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ckptlint.report.styled import Screen

_PATIENCE = 1.0  # seconds before a run counts as a long one
_PAUSE = 0.2  # seconds between two pictures
_WHEEL = "|/-\\"


def screen_of(stream: IO[str]) -> Screen:
    """Describe where a stream leads: colours when a person looks and did not decline them.

    ``NO_COLOR`` and ``TERM=dumb`` decline; ``FORCE_COLOR`` asks for colours in a pipe too.
    """
    person = stream.isatty()
    wanted = person or os.environ.get("FORCE_COLOR", "0") not in ("", "0")
    if not wanted or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return Screen() if not person else Screen(shutil.get_terminal_size().columns)
    from rich.console import Console

    width = shutil.get_terminal_size().columns if person else Screen().width
    system = Console(file=stream, force_terminal=True).color_system
    return Screen(width, system or "standard")


def tolerate_narrow_encodings() -> None:
    """Write characters that the terminal's encoding lacks as escapes rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def progress(files: int) -> Iterator[None]:
    """Show on the terminal that a long run is alive; nothing when nobody looks.

    It goes to standard error, and is wiped away in the end.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    done = threading.Event()
    drawing = threading.Thread(target=_draw, args=(files, done), daemon=True)
    drawing.start()
    try:
        yield
    finally:
        done.set()
        drawing.join()


def _draw(files: int, done: threading.Event) -> None:
    start = time.monotonic()
    if done.wait(_PATIENCE):
        return
    what = "1 file" if files == 1 else f"{files:,} files"
    turn = 0
    while not done.is_set():
        seconds = time.monotonic() - start
        sys.stderr.write(f"\r{_WHEEL[turn % 4]} checking {what}, {seconds:.0f} s")
        sys.stderr.flush()
        turn += 1
        done.wait(_PAUSE)
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()
