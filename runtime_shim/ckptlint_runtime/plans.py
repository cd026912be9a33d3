"""torch.distributed.checkpoint's local save plans and write results as JSON.

Its own way to exchange them is a pickled object collective; through the store they cost no
process group and no rank can make another run code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
)
from torch.distributed.checkpoint.planner import (
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from torch.distributed.checkpoint.storage import WriteResult

Json = Any


def plan_to_json(plan: SavePlan) -> Json:
    """What the first rank needs of a rank's plan: its items, and the paths of flattened names."""
    return {
        "items": [_item_to_json(item) for item in plan.items],
        "paths": {name: list(path) for name, path in (plan.planner_data or {}).items()},
    }


def plan_from_json(body: Json) -> SavePlan:
    """The plan again, as the planner's global step takes it."""
    return SavePlan(
        [_item_from_json(item) for item in body["items"]],
        planner_data={name: tuple(path) for name, path in body["paths"].items()},
    )


def results_to_json(results: Sequence[WriteResult]) -> Json:
    """Where each item went: name, offsets, size, file, position, length, transforms."""
    return [
        [
            result.index.fqn,
            _ints(result.index.offset),
            result.size_in_bytes,
            result.storage_data.relative_path,
            result.storage_data.offset,
            result.storage_data.length,
            getattr(result.storage_data, "transform_descriptors", None),
        ]
        for result in results
    ]


def results_from_json(body: Json) -> list[WriteResult]:
    """The results again, as the storage writer's last step takes them."""
    results = []
    for name, offset, size, file, start, length, transforms in body:
        storage = _StorageInfo(file, start, length)
        if transforms is not None:
            storage.transform_descriptors = list(transforms)
        results.append(WriteResult(MetadataIndex(name, offset), size, storage))
    return results


def _item_to_json(item: WriteItem) -> Json:
    body: dict[str, Json] = {
        "name": item.index.fqn,
        "offset": _ints(item.index.offset),
        "kind": item.type.name,
    }
    if item.tensor_data is not None:
        tensor = item.tensor_data
        properties = tensor.properties
        body["tensor"] = {
            "offsets": _ints(tensor.chunk.offsets),
            "sizes": _ints(tensor.chunk.sizes),
            "size": _ints(tensor.size),
            "dtype": _name(properties.dtype),
            "layout": _name(properties.layout),
            "memory_format": _name(properties.memory_format),
            "requires_grad": properties.requires_grad,
            "pin_memory": properties.pin_memory,
        }
    return body


def _item_from_json(body: Json) -> WriteItem:
    data = None
    if "tensor" in body:
        tensor = body["tensor"]
        properties = TensorProperties(
            dtype=getattr(torch, tensor["dtype"]),
            layout=getattr(torch, tensor["layout"]),
            requires_grad=tensor["requires_grad"],
            memory_format=getattr(torch, tensor["memory_format"]),
            pin_memory=tensor["pin_memory"],
        )
        chunk = ChunkStorageMetadata(torch.Size(tensor["offsets"]), torch.Size(tensor["sizes"]))
        data = TensorWriteData(chunk, properties, torch.Size(tensor["size"]))
    index = MetadataIndex(body["name"], body["offset"])
    return WriteItem(index=index, type=WriteItemType[body["kind"]], tensor_data=data)


def _ints(values: Sequence[int] | None) -> list[int] | None:
    return None if values is None else [int(value) for value in values]


def _name(constant: object) -> str:
    return str(constant).removeprefix("torch.")
