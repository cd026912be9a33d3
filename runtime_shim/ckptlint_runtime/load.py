"""``load_checkpoint``: every rank reads the same complete checkpoint, verified, or none does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch.distributed as dist

from .calls import Call
from .channel import open_channel
from .engines import Engine, engine_of
from .errors import CheckpointError, name_ranks
from .full import read_full
from .layout import find
from .manifest import Manifest, damage, read_manifest
from .settings import resolve_timeouts
from .sharded import read_sharded
from .signals import report_sigterm
from .state import State, parts_of, restore, templates

VERIFY = ("checksum", "size", "none")


@dataclass(frozen=True)
class Loaded:
    """What :func:`load_checkpoint` found.

    ``values`` holds the parts that were not loaded into an object: plain values, or, when no state
    was given, the whole tree. ``step`` and ``world_size`` are those of the save; ``folder`` is
    where the files stand.
    """

    path: Path
    folder: Path
    mode: str
    step: int | None
    world_size: int
    values: Mapping[str, Any] = field(default_factory=dict)


def load_checkpoint(
    path: str | os.PathLike[str],
    state: State | None = None,
    *,
    verify: str = "checksum",
    same_world_size: bool | None = None,
    map_location: Any = "cpu",
    weights_only: bool = True,
    group: dist.ProcessGroup | None = None,
    timeout: float | None = None,
    work_timeout: float | None = None,
) -> Loaded:
    """Load the checkpoint folder ``path`` into ``state``. Call it on every rank of ``group``.

    Each part of ``state`` with ``load_state_dict`` takes its part of the checkpoint; the others
    are returned in ``values``. Without ``state`` the whole tree is returned. An engine's
    checkpoint is loaded by giving the engine; without it the files are verified only, for whoever
    loads them from ``folder`` (a Lightning Trainer does).

    ``verify="checksum"`` reads every byte once more, each rank its share of the files; ``"size"``
    looks at names and sizes only. ``same_world_size=True`` refuses a checkpoint of another number
    of ranks; None refuses it where it cannot work (an engine's own format). ``weights_only`` is
    torch.load's: pass False only for checkpoints whose plain values are arbitrary objects, and
    that come from a source you trust.

    Raises RankFailedError, naming the file, on every rank when a rank misses a file, finds it
    damaged or cannot load it; no part is then promised to be as it was.
    """
    absolute = Path(os.path.abspath(path))
    channel, limits = open_channel(group), resolve_timeouts(timeout, work_timeout)
    with channel.lock, report_sigterm(channel.linger):
        call = Call(channel, "load_checkpoint", limits.enter, limits.work)
        call.enter({"path": str(absolute), "verify": verify})
        call.title = f"load_checkpoint({str(absolute)!r})"
        seen: list[Manifest] = []

        def check() -> str:
            if verify not in VERIFY:
                raise ValueError(f"verify is one of {', '.join(VERIFY)}, not {verify!r}")
            manifest = read_manifest(find(absolute))
            _check_world_size(manifest, channel.world_size, same_world_size)
            _verify(find(absolute), manifest, verify, channel.index, channel.world_size)
            seen.append(manifest)
            return manifest.nonce

        def same(nonces: list[str]) -> None:
            if len(set(nonces)) > 1:
                other = [
                    rank
                    for rank, nonce in zip(channel.ranks, nonces, strict=True)
                    if nonce != nonces[0]
                ]
                raise CheckpointError(
                    f"{name_ranks(other)} sees another checkpoint under {absolute} than "
                    f"rank {channel.ranks[0]}: the folder is not shared between the nodes"
                )

        call.phase("verify", check, same)
        values: dict[str, Any] = {}
        manifest = seen[0]
        folder = find(absolute)

        def take() -> None:
            values.update(_load(folder, manifest, state, map_location, weights_only))

        call.phase("load", take)
        call.leave()
    return Loaded(absolute, folder, manifest.mode, manifest.step, manifest.world_size, values)


def _load(
    folder: Path, manifest: Manifest, state: State | None, map_location: Any, weights_only: bool
) -> dict[str, Any]:
    engine = None if state is None else engine_of(state)
    if manifest.mode.startswith("engine:") or engine is not None:
        return _load_engine(folder, manifest, engine, state)
    parts = None if state is None else parts_of(state)
    if parts is not None:
        unknown = sorted(set(parts) - set(manifest.parts))
        if unknown:
            raise CheckpointError(
                f"{folder} has no part named {', '.join(unknown)}; it holds "
                f"{', '.join(manifest.parts) or 'nothing'}"
            )
    if manifest.mode == "sharded":
        wanted = {
            name: shape for name, shape in manifest.parts.items() if parts is None or name in parts
        }
        tree = read_sharded(folder, wanted, templates(parts or {}))
    else:
        tree = read_full(folder, map_location=map_location, weights_only=weights_only)
    return tree if parts is None else restore(parts, tree, manifest.mode)


def _load_engine(
    folder: Path, manifest: Manifest, engine: Engine | None, state: State | None
) -> dict[str, Any]:
    if engine is not None and engine.mode == manifest.mode:
        engine.load(folder)
    elif state is not None:
        raise CheckpointError(
            f"{folder} was saved with mode {manifest.mode!r}; it cannot be loaded into a "
            f"{type(state).__name__}"
        )
    return {}


def _check_world_size(manifest: Manifest, world_size: int, same: bool | None) -> None:
    required = manifest.mode.startswith("engine:") if same is None else same
    if required and manifest.world_size != world_size:
        raise CheckpointError(
            f"the checkpoint was saved by {manifest.world_size} ranks and this job has "
            f"{world_size}; mode {manifest.mode!r} "
            + ("needs the same number" if same is None else "was required to have the same number")
        )


def _verify(folder: Path, manifest: Manifest, verify: str, index: int, world_size: int) -> None:
    """Every rank looks at the size of every file; the bytes are shared out."""
    if verify == "none":
        return
    for number, (name, record) in enumerate(sorted(manifest.files.items())):
        mine = number % world_size == index
        found = damage(folder, name, record, checksum=verify == "checksum" and mine)
        if found is not None:
            raise CheckpointError(found)
