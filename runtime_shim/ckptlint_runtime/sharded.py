"""``mode="sharded"``: the format of torch.distributed.checkpoint, each rank writing its part.

The planner and the storage writer are torch's; only how ranks exchange plans differs: through the
store, under the same guard as everything else, so that no rank waits in a collective for one that
has died, and so that the whole of it may run in a background thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import LoadPlan, SavePlan, WriteItem, WriteItemType

from . import files
from .calls import Call
from .commit import partial_folder
from .dcp_files import writer_into
from .files import FileRecord
from .plans import plan_from_json, plan_to_json, results_from_json, results_to_json
from .request import Meter, SaveRequest
from .shapes import is_odd, reshaped, shape_of
from .write import conclude_save, to_json

Json = Any


def write_sharded_save(call: Call, request: SaveRequest, tree: Mapping[str, Any]) -> None:
    """Plan together, write each rank's part, commit."""
    folder, channel = partial_folder(call, request), call.channel
    planner = DefaultSavePlanner()
    meter = Meter(request)
    writer, ledger = writer_into(folder, meter.wrote)
    local: list[SavePlan] = []
    metadata: list[Metadata] = []
    #: By part, on the first rank: None, or the shape that its flat names do not tell.
    parts: dict[str, Json] = {}

    def plan() -> Json:
        # Keywords: the parameters changed their order after torch 2.2. As if every rank were the
        # coordinator, because there the plans of others leave plain values out.
        planner.set_up_planner(state_dict=dict(tree), is_coordinator=True)
        writer.set_up_storage_writer(channel.decides)
        local.append(writer.prepare_local_plan(planner.create_local_plan()))
        shapes = {name: shape_of(part) for name, part in tree.items()}
        odd = {name: shape if is_odd(shape) else None for name, shape in shapes.items()}
        return {**plan_to_json(local[0]), "parts": odd}

    def plan_for_all(reports: list[Json]) -> None:
        wanted = _plain_values_once([plan_from_json(body) for body in reports])
        plans, found = planner.create_global_plan(wanted)
        metadata.append(found)
        for body in reports:
            for name, shape in body["parts"].items():
                parts.setdefault(name, shape)
        for index, (body, agreed) in enumerate(zip(reports, plans, strict=True)):
            kept = {(item.index.fqn, item.index.offset) for item in agreed.items}
            call.mail(
                "drop",
                index,
                [
                    number
                    for number, item in enumerate(body["items"])
                    if (item["name"], _size(item["offset"])) not in kept
                ],
            )

    def write() -> Json:
        dropped = set(call.read_mail("drop"))
        items = [item for number, item in enumerate(local[0].items) if number not in dropped]
        mine = dataclasses.replace(local[0], items=items)
        # The writer names files after a plan's place in the list, so give it the whole list.
        empty = SavePlan([])
        others = [empty] * channel.index
        final = planner.finish_plan(writer.prepare_global_plan([*others, mine])[-1])
        if not final.items:
            return {"files": {}, "results": []}
        meter.total = sum(map(_bytes_of, final.items))
        results = writer.write_data(final, planner).wait()
        files.layer.sync_dir(folder)
        names = {result.storage_data.relative_path for result in results}
        return {"files": to_json(ledger.take(names)), "results": results_to_json(results)}

    def finish(reports: list[Json]) -> dict[str, FileRecord]:
        writer.finish(
            metadata=metadata[0], results=[results_from_json(body["results"]) for body in reports]
        )
        return ledger.take([".metadata"])

    call.phase("plan", plan, plan_for_all)
    conclude_save(call, request, "write", parts, write, "sharded", finish)


def read_sharded(
    folder: Path, parts: Mapping[str, Json], templates: Mapping[str, Any]
) -> dict[str, Any]:
    """The tree of ``parts``, by name with their shapes, as they were saved.

    Reads without communication, each rank what it needs: parts in ``templates`` into the tensors
    there (each rank its shards, whatever the number of ranks that saved), the others whole.
    """
    metadata = FileSystemReader(folder).read_metadata()
    tree: dict[str, Any] = {name: part for name, part in templates.items()}
    if tree:
        _read(folder, metadata, tree, DefaultLoadPlanner())
    paths: Mapping[str, Any] = metadata.planner_data or {}
    flat: dict[str, Any] = {}
    for name, entry in metadata.state_dict_metadata.items():
        part = paths.get(name, (name,))[0]
        if part in parts and part not in templates:
            flat[name] = _empty(entry)
    if flat:
        planner = DefaultLoadPlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
        _read(folder, metadata, flat, planner)
    for name, value in flat.items():
        _put(tree, paths.get(name, (name,)), value)
    for name in parts.keys() - templates.keys():
        tree[name] = reshaped(parts[name], tree.get(name))
    return tree


def _read(
    folder: Path, metadata: Metadata, tree: dict[str, Any], planner: DefaultLoadPlanner
) -> None:
    reader = FileSystemReader(folder)
    planner.set_up_planner(tree, metadata, True)
    reader.set_up_storage_reader(metadata, True)
    plan: LoadPlan = reader.prepare_local_plan(planner.create_local_plan())
    (plan,) = reader.prepare_global_plan(planner.create_global_plan([plan]))
    reader.read_data(planner.finish_plan(plan), planner).wait()


def _plain_values_once(plans: Sequence[SavePlan]) -> list[SavePlan]:
    """Leave each plain value to the first rank that has it; torch would take any rank's."""
    taken: set[str] = set()
    left: list[SavePlan] = []
    for plan in plans:
        items = [
            item
            for item in plan.items
            if item.type is not WriteItemType.BYTE_IO or item.index.fqn not in taken
        ]
        taken |= {item.index.fqn for item in items if item.type is WriteItemType.BYTE_IO}
        left.append(dataclasses.replace(plan, items=items))
    return left


def _bytes_of(item: WriteItem) -> int:
    if item.tensor_data is None:
        return 0
    return item.tensor_data.chunk.sizes.numel() * item.tensor_data.properties.dtype.itemsize


def _empty(entry: Any) -> Any:
    if hasattr(entry, "size"):
        return torch.empty(entry.size, dtype=entry.properties.dtype)
    return None


def _put(tree: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Set ``tree[path[0]][path[1]]…``, making dictionaries and lists on the way."""
    for key, following in pairwise(path):
        fresh: Any = [] if isinstance(following, int) else {}
        if isinstance(tree, list):
            tree.extend([None] * (int(key) + 1 - len(tree)))
            if tree[int(key)] is None:
                tree[int(key)] = fresh
            tree = tree[int(key)]
        else:
            tree = tree.setdefault(key, fresh)
    last = path[-1]
    if isinstance(tree, list):
        tree.extend([None] * (int(last) + 1 - len(tree)))
        tree[int(last)] = value
    else:
        tree[last] = value


def _size(offset: list[int] | None) -> tuple[int, ...] | None:
    return None if offset is None else tuple(offset)
