"""Engines whose own save is collective: it runs in the private folder, under the same guards.

Recognised by the names of their classes, so that no library has to be imported.

================== ============================================ ===============================
state              what runs on every rank                      where it stands in the folder
================== ============================================ ===============================
DeepSpeedEngine    ``save_checkpoint`` / ``load_checkpoint``    ``engine/`` (tag ``engine``)
Accelerator        ``save_state`` / ``load_state``              ``engine/``
Lightning Trainer  ``save_checkpoint``; load: see below         ``engine.ckpt``
(Fabric, mapping)  ``fabric.save`` / ``fabric.load``            ``engine.ckpt``
================== ============================================ ===============================

A Trainer loads by itself, from ``fit(ckpt_path=...)``: give it ``Loaded.folder / "engine.ckpt"``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import files
from .errors import CheckpointError
from .files import FileRecord, read_record

TAG = "engine"
FILE = "engine.ckpt"


@dataclass(frozen=True)
class Engine:
    """How one kind of engine saves into and loads from a folder. Both are collective."""

    kind: str
    save: Callable[[Path], Any]
    load: Callable[[Path], Any]

    @property
    def mode(self) -> str:
        """The manifest's word for a checkpoint of this engine."""
        return f"engine:{self.kind}"


def engine_of(state: Any) -> Engine | None:
    """The engine that ``state`` is, or None for any other state."""
    if isinstance(state, tuple) and len(state) == 2 and _is(state[0], "Fabric", _LIGHTNING):
        return _fabric(*state)
    if _is(state, "DeepSpeedEngine", ("deepspeed",)):
        return _deepspeed(state)
    if _is(state, "Accelerator", ("accelerate",)):
        return _accelerator(state)
    if _is(state, "Trainer", _LIGHTNING):
        return _trainer(state)
    if _is(state, "Fabric", _LIGHTNING):
        raise CheckpointError(
            "a Fabric holds no state of its own: give (fabric, {'model': model, ...})"
        )
    return None


def sync_share(folder: Path, index: int, world_size: int) -> dict[str, FileRecord]:
    """fsync and checksum this rank's share of what the engine wrote, by relative name."""
    records: dict[str, FileRecord] = {}
    for name in names_below(folder)[index::world_size]:
        files.layer.sync_file(folder / name)
        records[name] = read_record(folder / name)
    return records


def names_below(folder: Path) -> list[str]:
    """The files below ``folder``, as sorted relative names with ``/``."""
    return sorted(
        (Path(parent) / name).relative_to(folder).as_posix()
        for parent, _, names in os.walk(folder)
        for name in names
    )


def check_complete(folder: Path, records: Mapping[str, FileRecord]) -> None:
    """Raise CheckpointError unless every file of ``folder`` was seen by the rank it fell to."""
    unseen = sorted(set(names_below(folder)) ^ set(records))
    if unseen:
        raise CheckpointError(
            f"the ranks do not see the same files in {folder} ({', '.join(unseen[:5])}): "
            "it is not on storage that all nodes share, or something else writes there"
        )
    if not records:
        raise CheckpointError(f"the engine's save returned, but wrote nothing into {folder}")


_LIGHTNING = ("lightning", "pytorch_lightning", "lightning_fabric")


def _is(state: Any, name: str, packages: tuple[str, ...]) -> bool:
    return any(
        base.__name__ == name and base.__module__.split(".")[0] in packages
        for base in type(state).__mro__
    )


def _deepspeed(engine: Any) -> Engine:
    def load(folder: Path) -> None:
        found, _ = engine.load_checkpoint(str(folder), tag=TAG)
        if found is None:
            raise CheckpointError(f"DeepSpeed found nothing that it can load in {folder}")

    return Engine("deepspeed", lambda folder: engine.save_checkpoint(str(folder), tag=TAG), load)


def _accelerator(accelerator: Any) -> Engine:
    def save(folder: Path) -> None:
        if accelerator.project_configuration.automatic_checkpoint_naming:
            raise CheckpointError(
                "this Accelerator names its checkpoints itself and ignores the folder it is given; "
                "set automatic_checkpoint_naming=False and use keep_last= for retention"
            )
        accelerator.save_state(str(folder / TAG))

    return Engine("accelerate", save, lambda folder: accelerator.load_state(str(folder / TAG)))


def _trainer(trainer: Any) -> Engine:
    def load(folder: Path) -> None:
        raise CheckpointError(
            f"a Trainer loads by itself: trainer.fit(model, ckpt_path={str(folder / FILE)!r})"
        )

    return Engine("lightning", lambda folder: trainer.save_checkpoint(str(folder / FILE)), load)


def _fabric(fabric: Any, state: Mapping[str, Any]) -> Engine:
    def load(folder: Path) -> None:
        fabric.load(str(folder / FILE), dict(state))

    return Engine("fabric", lambda folder: fabric.save(str(folder / FILE), dict(state)), load)
