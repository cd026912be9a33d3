"""torch.distributed.checkpoint's storage writer, made to write through our file layer."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.distributed.checkpoint import filesystem as torch_filesystem
from torch.distributed.checkpoint.filesystem import FileSystemWriter

from . import files
from .files import CheckedFile, FileRecord, read_record

# torch 2.2 opens its files itself, without a file system that could be exchanged.
_FileSystem: Any = getattr(torch_filesystem, "FileSystem", object)


class Ledger:
    """Size and checksum of every file a storage writer has finished in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written: dict[str, CheckedFile] = {}

    def take(self, names: Iterable[str]) -> dict[str, FileRecord]:
        """The records of those files. One that was written past us is synced and read instead."""
        records: dict[str, FileRecord] = {}
        for name in names:
            file = self.written.pop(name, None)
            if file is None:
                files.layer.sync_file(self._folder / name)
                records[name] = read_record(self._folder / name)
            else:
                records[name] = file.record
        return records


def writer_into(folder: Path, wrote: Callable[[int], None]) -> tuple[FileSystemWriter, Ledger]:
    """A storage writer for ``folder``, and the ledger of what it writes.

    ``wrote`` is called with the number of bytes after each write (from torch 2.3 on).
    """
    ledger = Ledger(folder)
    exchangeable = _FileSystem is not object
    # The exchanged file system syncs by itself, where a failure or a death can be tested.
    writer = FileSystemWriter(folder, sync_files=not exchangeable)
    if exchangeable:
        writer.fs = _CheckedFileSystem(ledger, wrote)
    return writer, ledger


class _CheckedFileSystem(_FileSystem):  # type: ignore[misc]
    """torch's file system, writing through the layer and entering each file in the ledger."""

    def __init__(self, ledger: Ledger, wrote: Callable[[int], None]) -> None:
        super().__init__()
        self._ledger = ledger
        self._wrote = wrote

    @contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Generator[Any, None, None]:
        """A stream to write into; it is synced when it is closed, by torch or here."""
        if mode != "wb":
            with super().create_stream(path, mode) as stream:
                yield stream
            return
        target = Path(path)
        with files.layer.create(target, self._wrote, sync_on_close=True) as file:
            self._ledger.written[target.name] = file
            with file.telling():
                yield file

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Rename inside the private folder."""
        files.layer.rename(Path(path), Path(new_path))
        self._ledger.written[Path(new_path).name] = self._ledger.written.pop(Path(path).name)
