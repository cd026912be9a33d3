"""What a save was asked for, and what it reports."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODES = ("full", "sharded")


@dataclass(frozen=True)
class Progress:
    """How far this rank's write has come.

    ``bytes`` are those it has written of the checkpoint ``path`` so far, in all its files;
    ``total`` are those of the tensors it has to write (headers and plain values come on top).
    """

    path: Path
    bytes: int
    total: int


class Meter:
    """Counts the bytes that this rank writes in one save, and tells the caller's callback."""

    def __init__(self, request: SaveRequest) -> None:
        self._request = request
        self._bytes = 0
        #: Bytes to write, once that is known.
        self.total = 0

    def wrote(self, amount: int) -> None:
        """Another ``amount`` bytes are written."""
        self._bytes += amount
        if self._request.progress is not None:
            self._request.progress(Progress(self._request.path, self._bytes, self.total))


@dataclass(frozen=True)
class SaveRequest:
    """The arguments of one save. ``path`` is absolute."""

    path: Path
    step: int | None
    mode: str
    overwrite: bool
    keep_last: int | None
    progress: Callable[[Progress], None] | None = None

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        step: int | None,
        mode: str,
        overwrite: bool,
        keep_last: int | None,
        progress: Callable[[Progress], None] | None,
    ) -> SaveRequest:
        """The request with its path made absolute (against this process's working directory).

        A step may be any kind of whole number, a tensor too; TypeError for another thing.
        """
        try:
            number = None if step is None else operator.index(step)
        except TypeError:
            raise TypeError(f"step is a whole number or None, not {step!r}") from None
        return cls(Path(os.path.abspath(path)), number, mode, overwrite, keep_last, progress)

    def facts(self) -> dict[str, Any]:
        """What all ranks must agree on, in the order in which differences are reported."""
        return {
            "path": str(self.path),
            "step": self.step,
            "mode": self.mode,
            "overwrite": self.overwrite,
            "keep_last": self.keep_last,
        }

    def check(self) -> None:
        """Raise ValueError or TypeError for arguments that no save could be made with."""
        if self.mode not in MODES:
            raise ValueError(f"mode is 'full' or 'sharded', not {self.mode!r}")
        if self.keep_last is not None and self.keep_last < 1:
            raise ValueError(f"keep_last is at least 1 (or None: keep all), not {self.keep_last}")
        if self.path.name.startswith(".") or self.path.name in ("", "latest"):
            raise ValueError(
                f"{str(self.path)!r} cannot name a checkpoint: hidden names and 'latest' are used "
                "for work in progress and for the pointer"
            )
