"""``mode="full"``: one file, written by the group's first rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, cast

import torch

from . import files
from .files import FileRecord

NAME = "state.pt"


def write_full(
    folder: Path, tree: Mapping[str, Any], wrote: Callable[[int], None] | None = None
) -> dict[str, FileRecord]:
    """Write ``tree`` to ``folder/state.pt``, durably; return its record by name.

    ``wrote`` is called with the number of bytes after each write.
    """
    with files.layer.create(folder / NAME, wrote) as file, file.telling():
        torch.save(dict(tree), cast(IO[bytes], file))
        return {NAME: file.sync()}


def read_full(
    folder: Path, *, map_location: Any = "cpu", weights_only: bool = True
) -> dict[str, Any]:
    """The tree that was saved, tensors on ``map_location``."""
    loaded: dict[str, Any] = torch.load(
        folder / NAME, map_location=map_location, weights_only=weights_only
    )
    return loaded
