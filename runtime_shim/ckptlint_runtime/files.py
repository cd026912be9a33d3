"""Every change to the file system that a save makes goes through one layer.

One place to read what is written, synced and renamed in which order; and the place where the
tests record that order, or stop the process between any two steps.
"""

from __future__ import annotations

import io
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

#: Blocks from this size on, in bytes, are checksummed on a second thread while they are written.
_PARALLEL_FROM = 1 << 20
_READ_BLOCK = 1 << 22
#: Bytes after which progress is told, and the disk set to work while the next ones are produced.
_PIECE = 1 << 26


@dataclass(frozen=True)
class FileRecord:
    """A finished file: its size in bytes and the CRC-32 of its content."""

    size: int
    crc32: int


class FileLayer:
    """The file system as a save sees it. ``perform`` is the single point all changes pass."""

    def perform(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        """Run ``action``, which does ``operation`` ("write", "fsync", "rename" …) on ``path``."""
        return action()

    def make_dir(self, path: Path) -> None:
        """Create ``path`` and its parents; an existing one is fine."""
        self.perform("mkdir", path, lambda: path.mkdir(parents=True, exist_ok=True))

    def create(
        self,
        path: Path,
        progress: Callable[[int], None] | None = None,
        *,
        sync_on_close: bool = False,
    ) -> CheckedFile:
        """A new file to write; its parent is created where missing."""
        if not path.parent.is_dir():
            self.make_dir(path.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        descriptor = self.perform("create", path, lambda: os.open(path, flags, 0o666))
        return CheckedFile(self, path, descriptor, progress, sync_on_close)

    def write_bytes(self, path: Path, data: bytes) -> FileRecord:
        """Write a small file and sync it."""
        with self.create(path) as file:
            file.write(data)
            return file.sync()

    def sync_file(self, path: Path) -> None:
        """fsync a file that somebody else wrote."""
        self.perform("fsync", path, lambda: _sync(path, os.O_RDONLY))

    def sync_dir(self, path: Path) -> None:
        """fsync a folder, so that the names in it survive a power loss."""
        self.perform("fsync_dir", path, lambda: _sync(path, os.O_RDONLY))

    def sync_tree(self, path: Path) -> None:
        """fsync every folder from ``path`` down, innermost first (files are synced as written)."""
        for folder, _, _ in os.walk(path, topdown=False):
            self.sync_dir(Path(folder))

    def rename(self, source: Path, target: Path) -> None:
        """Rename within one folder; atomic on a POSIX file system."""
        self.perform("rename", target, lambda: os.rename(source, target))

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file over an existing one; atomic on a POSIX file system."""
        self.perform("replace", target, lambda: os.replace(source, target))

    def remove_tree(self, path: Path) -> None:
        """Delete a folder, or a file, and everything below."""
        if path.is_dir() and not path.is_symlink():
            self.perform("remove", path, lambda: shutil.rmtree(path))
        elif path.exists() or path.is_symlink():
            self.perform("remove", path, path.unlink)


class CheckedFile(io.RawIOBase):
    """A file that knows the checksum of what was written to it. Sequential writes only."""

    def __init__(
        self,
        layer: FileLayer,
        path: Path,
        descriptor: int,
        progress: Callable[[int], None] | None = None,
        sync_on_close: bool = False,
    ) -> None:
        super().__init__()
        self._layer = layer
        self._path = path
        self._descriptor = descriptor
        self._progress = progress
        self._sync_on_close = sync_on_close
        self._helper: ThreadPoolExecutor | None = None
        self._flush: Future[None] | None = None
        self._flushed_at = 0
        self._size = 0
        self._crc32 = 0
        #: The first error of a write; a serializer above may bury it under one of its own.
        self.error: Exception | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def tell(self) -> int:
        return self._size

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        """Write all of ``data`` (any bytes-like object); never a part of it."""
        view = memoryview(data).cast("B")
        try:
            self._layer.perform("write", self._path, lambda: self._write_checked(view))
        except Exception as error:
            self.error = self.error or error
            raise
        return view.nbytes

    def sync(self) -> FileRecord:
        """fsync, and say what the file holds."""
        self._layer.perform("fsync", self._path, self._sync_all)
        return self.record

    @property
    def record(self) -> FileRecord:
        """Size and checksum of what was written so far."""
        return FileRecord(self._size, self._crc32)

    def close(self) -> None:
        """Close; only what was synced, here or before, is promised to be there."""
        if self.closed:
            return
        try:
            if self._sync_on_close:
                self.sync()
        finally:
            if self._helper is not None:
                self._helper.shutdown()
            os.close(self._descriptor)
            super().close()

    def _flush_early(self) -> None:
        """Have the disk write what is there already, so that the last fsync finds little to do."""
        if self._size - self._flushed_at < _PIECE or self._helper is None:
            return
        if self._flush is not None:
            if not self._flush.done():
                return
            self._flush.result()
        self._flush = self._submit(getattr(os, "fdatasync", os.fsync), self._descriptor)
        self._flushed_at = self._size

    def _sync_all(self) -> None:
        if self._flush is not None:
            self._flush.result()  # the system reports a failed flush once: here, or never
        os.fsync(self._descriptor)

    def _submit(self, work: Callable[..., T], *arguments: Any) -> Future[T] | None:
        """Run ``work`` on a helper thread; None when there is no more starting of threads."""
        if self._helper is None:
            self._helper = ThreadPoolExecutor(2, thread_name_prefix="ckptlint-file")
        try:
            return self._helper.submit(work, *arguments)
        except RuntimeError:  # the interpreter is on its way out
            return None

    def _write_checked(self, view: memoryview) -> None:
        checksum = None
        if view.nbytes >= _PARALLEL_FROM:
            checksum = self._submit(zlib.crc32, view, self._crc32)
        try:
            self._write_all(view)
        finally:
            # Not before the checksum is done may the caller have its memory back.
            done = zlib.crc32(view, self._crc32) if checksum is None else checksum.result()
        self._crc32 = done

    def _write_all(self, view: memoryview) -> None:
        done = 0
        while done < view.nbytes:
            written = os.write(self._descriptor, view[done : done + _PIECE])
            done += written
            self._size += written
            if self._progress is not None:
                self._progress(written)
            self._flush_early()

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Raise the error of a write here where a serializer in the block buried it."""
        try:
            yield
        except Exception as error:
            if self.error is not None and error is not self.error:
                raise self.error from error
            raise


def read_record(path: Path) -> FileRecord:
    """Size and checksum of a file as it stands on disk."""
    size, crc32 = 0, 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(_READ_BLOCK):
            size += len(block)
            crc32 = zlib.crc32(block, crc32)
    return FileRecord(size, crc32)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


#: The layer in use. Tests put a recording or a failing one here.
layer = FileLayer()
