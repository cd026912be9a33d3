"""The commit marker of a checkpoint: what it holds, with the size and checksum of every file.

The manifest is written last. A folder without a valid one, or whose files have other sizes than
it says, is not a checkpoint, whatever its name.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import files
from .errors import CheckpointError
from .files import FileRecord, read_record

NAME = "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """One complete checkpoint.

    ``mode`` is ``"full"``, ``"sharded"`` or ``"engine:<kind>"``; ``committed_at`` is the first
    rank's wall clock in nanoseconds since 1970; ``files`` maps relative names to size (bytes) and
    CRC-32; ``parts`` are the top-level names of the state, each with its shape where a sharded
    checkpoint's flat names do not tell it (see :mod:`.shapes`), else None.
    """

    mode: str
    step: int | None
    world_size: int
    nonce: str
    committed_at: int
    torch: str
    parts: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, FileRecord] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes of all files together, the manifest itself not counted."""
        return sum(record.size for record in self.files.values())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write and sync ``folder/manifest.json``."""
    body: dict[str, Any] = {"format": FORMAT, **asdict(manifest)}
    body["checksum"] = _checksum(body)
    text = json.dumps(body, indent=1, sort_keys=True) + "\n"
    files.layer.write_bytes(folder / NAME, text.encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of ``folder``; CheckpointError when there is none or it is damaged."""
    path = folder / NAME
    try:
        body = json.loads(path.read_bytes())
        claimed = body.pop("checksum")
        if claimed != _checksum(body):
            raise ValueError("its checksum does not fit its content")
        found = body.pop("format")
        if found != FORMAT:
            raise CheckpointError(f"{path}: format {found}, this version reads {FORMAT}")
        records = {name: FileRecord(**record) for name, record in body.pop("files").items()}
        return Manifest(files=records, **body)
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder} is not a complete checkpoint: it has no {NAME} (an interrupted save, or a "
            "folder that something else wrote)"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error


def damage(folder: Path, name: str, record: FileRecord, *, checksum: bool) -> str | None:
    """What is wrong with one file of a checkpoint, None if nothing.

    Without ``checksum`` only presence and size are looked at; with it every byte is read.
    """
    path = folder / name
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"{path}: cannot be read ({error.strerror})"
    if size != record.size:
        return f"{path}: {size} bytes, {record.size} were saved (torn file)"
    if checksum and read_record(path).crc32 != record.crc32:
        return f"{path}: its content is not what was saved (checksum mismatch: flipped bits)"
    return None


def complete(folder: Path) -> Manifest | None:
    """The manifest if ``folder`` holds a complete checkpoint (all files, right sizes)."""
    try:
        manifest = read_manifest(folder)
    except CheckpointError:
        return None
    for name, record in manifest.files.items():
        if damage(folder, name, record, checksum=False) is not None:
            return None
    return manifest


def _checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
