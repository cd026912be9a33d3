"""File-system layers that fail, stop the process, or record."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import torch

from ckptlint_runtime import files

T = TypeVar("T")


class FailingLayer(files.FileLayer):
    """Raises ``OSError(number)`` at the ``after``-th ``operation`` and at every later one."""

    def __init__(self, operation: str, number: int, after: int = 1) -> None:
        self._operation, self._number, self._left = operation, number, after

    def perform(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        if operation == self._operation:
            self._left -= 1
            if self._left <= 0:
                raise OSError(self._number, os.strerror(self._number), str(path))
        return action()


class KillingLayer(files.FileLayer):
    """Kills the process right before its ``at``-th call, counted from 1; or at an operation."""

    def __init__(self, at: int = 0, operation: str | None = None) -> None:
        self.calls = 0
        self._at, self._operation = at, operation

    def perform(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        self.calls += 1
        if self.calls == self._at or operation == self._operation:
            os.kill(os.getpid(), signal.SIGKILL)
        return action()


class RecordingLayer(files.FileLayer):
    """Remembers ``(operation, name)`` of every call that was made."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def perform(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        result = action()
        self.calls.append((operation, path.name))
        return result


def use(layer: files.FileLayer) -> None:
    """Make ``layer`` the one that saves of this process go through."""
    files.layer = layer


#: torch 2.2 opens the files of its shards itself: no layer can make them fail there.
needs_shards_in_the_layer = pytest.mark.skipif(
    torch.__version__ < "2.3", reason="torch 2.2 writes shards past the file-system layer"
)

IO_ERROR = errno.EIO
DISK_FULL = errno.ENOSPC
READ_ONLY = errno.EROFS
