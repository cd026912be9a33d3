"""Say where in the caller's program something happened, in the words of a stack trace."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType

from .errors import Failure

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", os.__file__[:-5])


def caller() -> str:
    """``"train.py:88 in main"``: the innermost frame that is not this package's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return describe_frame(frame)


def describe_frame(frame: FrameType | None) -> str:
    """``"train.py:88 in main"`` for a frame, ``"unknown"`` for none."""
    if frame is None:
        return "unknown"
    return _place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def describe_failure(rank: int, error: BaseException, called_at: str) -> Failure:
    """The exception as plain text that may travel to the other ranks (never the object itself).

    ``called_at`` is where the program called this package: what to show of an error of its own.
    """
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    # Somebody's own line says more than the line of a library that it called.
    own = [frame for frame in outside if not any(name in frame.filename for name in _LIBRARIES)]
    last = (own or outside)[-1] if outside else None
    where = called_at if last is None else _place(last.filename, last.lineno or 0, last.name)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-8))
    return Failure(rank, type(error).__name__, _text_of(error)[:2000], where, text[-6000:])


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # the others must hear of the error all the same
        return f"(it has no text: its __str__ raised {type(broken).__name__})"


def _place(filename: str, line: int, function: str) -> str:
    try:
        shown = filename.removeprefix(os.getcwd() + os.sep)
    except OSError:  # the working directory was deleted
        shown = filename
    return f"{shown}:{line} in {function}"


def main_thread_place() -> str:
    """Where the main thread is now: its innermost line outside libraries, from any thread."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    innermost = frame
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return describe_frame(frame or innermost)


def caller_outside_libraries() -> str:
    """The innermost line of the program itself that led here."""
    frame: FrameType | None = sys._getframe(1)
    innermost = frame
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return describe_frame(frame or innermost)


def functions_on_stack() -> Iterator[str]:
    """Names of the functions that led here, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back


def _is_library(filename: str) -> bool:
    return filename.startswith((_PACKAGE, "<frozen")) or any(
        name in filename for name in _LIBRARIES
    )
