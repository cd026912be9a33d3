"""Reads checkpoints back, each in the way of its framework, as plain tensors by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

Values = Mapping[str, Any]


def compare(reader: str, several: Path, alone: Path) -> None:
    """Raise where what several ranks saved does not hold what one process alone saved.

    Each folder is named with the number of ranks that wrote into it: their parts must be there.
    """
    read: Callable[[Path, int], Values] = READERS[reader]
    got, wanted = read(several, 2), read(alone, 1)
    assert wanted, "the checkpoint holds nothing"
    torch.testing.assert_close(dict(got), dict(wanted), rtol=1e-5, atol=1e-6)


def file(folder: Path, ranks: int) -> Values:
    """One file of torch."""
    (path,) = [path for path in folder.rglob("*") if path.suffix in (".pt", ".bin", ".ckpt")]
    return flat(torch.load(path, map_location="cpu", weights_only=False))


def sharded(folder: Path, ranks: int) -> Values:
    """Distributed checkpoints; their metadata names what must be in their files."""
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    found: dict[str, Any] = {}
    for metadata in sorted(folder.rglob(".metadata")):
        whole = metadata.parent / "whole.pt"
        dcp_to_torch_save(metadata.parent, whole)
        found[metadata.parent.name] = torch.load(whole, weights_only=False)
    return flat(found)


def zero(folder: Path, ranks: int) -> Values:
    """What DeepSpeed's ranks wrote, put together."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    (latest,) = folder.rglob("latest")
    parts = list(latest.parent.rglob("*_optim_states.pt"))
    assert len(parts) == ranks, "a rank's part is missing"
    return get_fp32_state_dict_from_zero_checkpoint(str(latest.parent))


def safe(folder: Path, ranks: int) -> Values:
    """One file of safetensors."""
    from safetensors.torch import load_file

    (path,) = folder.rglob("*.safetensors")
    return load_file(path)


def accelerate(folder: Path, ranks: int) -> Values:
    """An Accelerator's state: the model, and each rank's random state."""
    assert len(list(folder.rglob("random_states_*.pkl"))) == ranks, "a random state is missing"
    return safe(folder, ranks)


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Name the tensors inside of mappings and sequences; what else is there is left out."""
    found: dict[str, Any] = {}
    if isinstance(value, torch.Tensor):
        found[prefix] = value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            found.update(flat(inner, f"{prefix}.{key}" if prefix else str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            found.update(flat(inner, f"{prefix}.{index}"))
    return found


READERS: Mapping[str, Callable[[Path, int], Values]] = {
    "file": file,
    "sharded": sharded,
    "zero": zero,
    "safe": safe,
    "accelerate": accelerate,
}
