"""The writing half of a save, per kind of content. Uses no process group of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .calls import Call
from .commit import commit, log_saved, partial_folder
from .engines import Engine, check_complete, sync_share
from .files import FileRecord
from .full import write_full
from .request import Meter, SaveRequest
from .state import size_of

Json = Any


def write_full_save(call: Call, request: SaveRequest, tree: Mapping[str, Any]) -> None:
    """The first rank writes everything; the others wait for its answer."""

    def work() -> Json:
        if not call.channel.decides:
            return {"files": {}}
        meter = Meter(request)
        meter.total = size_of(tree)
        records = write_full(partial_folder(call, request), tree, meter.wrote)
        return {"files": to_json(records)}

    conclude_save(call, request, "write", dict.fromkeys(tree), work, "full")


def write_engine_save(call: Call, request: SaveRequest, engine: Engine) -> None:
    """The engine writes as it is used to; then the ranks share the work of syncing its files."""
    folder, channel = partial_folder(call, request), call.channel
    call.phase("write", lambda: _nothing(engine.save(folder)))

    def work() -> Json:
        return {"files": to_json(sync_share(folder, channel.index, channel.world_size))}

    def finish(reports: list[Json]) -> dict[str, FileRecord]:
        records: dict[str, FileRecord] = {}
        for report in reports:
            records.update(from_json(report["files"]))
        check_complete(folder, records)
        return records

    conclude_save(call, request, "sync", {}, work, engine.mode, finish)


def conclude_save(
    call: Call,
    request: SaveRequest,
    phase: str,
    parts: Mapping[str, Json],
    work: Any,
    mode: str,
    finish: Any = lambda _reports: {},
) -> None:
    """The last phase: ``work`` on every rank returns its files' records; then the commit.

    ``finish`` runs on the first rank before the commit and returns records of files it adds.
    ``parts`` are the names of the state with their shapes, known to the first rank by then.
    """

    def conclude(reports: list[Json]) -> Json:
        records: dict[str, FileRecord] = {}
        for report in reports:
            records.update(from_json(report["files"]))
        records.update(finish(reports))
        commit(call, request, parts, records, mode)
        return sum(record.size for record in records.values())

    size = call.phase(phase, work, conclude)
    call.leave()
    log_saved(call, request, size)


def _nothing(_result: object) -> None:
    """What an engine's save returns is its own affair and may not be JSON."""


def to_json(records: Mapping[str, FileRecord]) -> Json:
    """File records as a rank reports them."""
    return {name: asdict(record) for name, record in records.items()}


def from_json(records: Json) -> dict[str, FileRecord]:
    """The records again."""
    return {name: FileRecord(**record) for name, record in records.items()}
