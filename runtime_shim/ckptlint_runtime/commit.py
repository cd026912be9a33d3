"""The two ends of a save: a private folder to write into, and its publication."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from . import files, layout
from .calls import Call
from .files import FileRecord
from .manifest import Manifest, write_manifest
from .request import SaveRequest

_log = logging.getLogger("ckptlint_runtime")


def partial_folder(call: Call, request: SaveRequest) -> Path:
    """Where this call writes until it is complete. The same on all ranks."""
    return layout.hidden(request.path, call.nonce, "partial")


def prepare(call: Call, request: SaveRequest) -> None:
    """First rank: make the private folder, unless the save is refused before it begins."""
    layout.clear_leftovers(request.path)
    if request.path.exists() and not request.overwrite:
        raise FileExistsError(
            f"{request.path} exists; a checkpoint is not overwritten unless overwrite=True"
        )
    files.layer.make_dir(partial_folder(call, request))
    files.layer.sync_dir(request.path.parent)


def commit(
    call: Call,
    request: SaveRequest,
    parts: Mapping[str, Any],
    records: Mapping[str, FileRecord],
    mode: str,
) -> None:
    """First rank: the files are durable; write the marker, publish, point, retain.

    What comes after the rename can fail without harm to the checkpoint, so it is logged only.
    """
    partial = partial_folder(call, request)
    manifest = Manifest(
        mode=mode,
        step=request.step,
        world_size=call.channel.world_size,
        nonce=call.nonce,
        committed_at=time.time_ns(),
        torch=torch.__version__,
        parts=dict(sorted(parts.items())),
        files=dict(sorted(records.items())),
    )
    write_manifest(partial, manifest)
    layout.publish(partial, request.path, call.nonce, call.check_wanted)
    try:
        layout.point_to(request.path, call.nonce)
        if request.keep_last is not None:
            layout.retain(request.path.parent, request.keep_last, request.path, call.nonce)
    except OSError as error:
        _log.warning("%s is saved, but tidying up after it failed: %s", request.path, error)


def discard(call: Call, request: SaveRequest) -> None:
    """After a failure: remove what was written so far. Best effort; a later save does the rest."""
    if call.nonce and call.channel.decides:
        try:
            files.layer.remove_tree(partial_folder(call, request))
        except OSError as error:
            _log.warning("could not remove %s: %s", partial_folder(call, request), error)


def log_saved(call: Call, request: SaveRequest, size: int) -> None:
    """One record per save, on the first rank: bytes, seconds per phase, the slowest rank."""
    if not call.channel.decides:
        return
    record = {
        "event": "checkpoint_saved",
        "path": str(request.path),
        "step": request.step,
        "mode": request.mode,
        "world_size": call.channel.world_size,
        "bytes": size,
        "seconds": round(time.monotonic() - call.started, 6),
        "phases": [asdict(timing) for timing in call.timings],
    }
    _log.info("%s", json.dumps(record), extra={"checkpoint": record})
