"""What is known of the terminal, and writing to it."""

from __future__ import annotations

import os
import shutil
import sys
from typing import IO

from ckptlint.report.styled import Screen


def screen_of(stream: IO[str]) -> Screen:
    """Describe where a stream leads: colours when a person looks and did not decline them.

    ``NO_COLOR`` and ``TERM=dumb`` decline; ``FORCE_COLOR`` asks for colours in a pipe too.
    """
    person = stream.isatty()
    wanted = person or bool(os.environ.get("FORCE_COLOR"))
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
