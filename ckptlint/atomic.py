"""Replacing a file at once: whoever looks sees the old content or the new one, whole."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress


def replace(path: str, data: bytes) -> None:
    """Write ``data`` under ``path``, keeping the mode and the owner of what stood there.

    A link stays a link. What is no regular file (a pipe, ``/dev/stdout``) is written to. Raises
    OSError; then the file is as it was.
    """
    status = os.stat(path) if os.path.exists(path) else None
    if status is not None and not stat.S_ISREG(status.st_mode):
        with open(path, "wb") as file:
            file.write(data)
        return
    path = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(
        prefix=".ckptlint-", suffix=".tmp", dir=os.path.dirname(path)
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if status is not None and hasattr(os, "chown"):
            with suppress(PermissionError):  # only root may give a file away
                os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, _new_mode() if status is None else stat.S_IMODE(status.st_mode))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _new_mode() -> int:
    """Return the mode that a new file gets; asking for the mask means to set it for a moment."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
