"""Reading files into sources, and naming them as the user would."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ckptlint.notebook import Notebook
from ckptlint.project import display_path
from ckptlint.source import Source, SourceError

# A generated file of this size takes minutes to analyse and holds no training loop.
MAX_BYTES = 8 * 1024 * 1024


def source(path: Path, data: bytes, cwd: Path) -> Source:
    """Make the source of a file, or of a notebook, from its bytes."""
    kind = Notebook if path.suffix == ".ipynb" else Source
    return kind(path, display_path(path, cwd), data)


def read(path: Path, cwd: Path) -> Source:
    """Read one file. Raises SourceError when it cannot be read or is too large to be analysed."""
    try:
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            # A pipe or a device is not opened at all: reading one may never return.
            if status.st_size > MAX_BYTES:
                raise SourceError(_too_large(status.st_size))
            return source(path, path.read_bytes(), cwd)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from error
    raise SourceError("not a regular file")


def _too_large(size: int) -> str:
    mebibytes = size / (1024 * 1024)
    return f"larger than {MAX_BYTES // (1024 * 1024)} MiB ({mebibytes:.1f} MiB)"
