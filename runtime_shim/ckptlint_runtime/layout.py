"""Names in a checkpoint root, and the steps that change which checkpoint stands under a name.

A root holds checkpoints ``<name>/``, the pointer file ``latest``, and hidden names with a nonce:
``.<name>.<nonce>.partial`` while a save writes, ``.replaced`` for the former checkpoint while it is
being replaced, ``.trash`` while one is being deleted. Only complete checkpoints ever have a plain
name. Everything here runs on one rank.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from . import files
from .manifest import Manifest, complete

POINTER = "latest"

_log = logging.getLogger("ckptlint_runtime")


def hidden(path: Path, nonce: str, kind: str) -> Path:
    """``root/.<name>.<nonce>.<kind>`` for the checkpoint ``root/<name>``."""
    return path.with_name(f".{path.name}.{nonce}.{kind}")


def clear_leftovers(path: Path) -> None:
    """Put right what an earlier save to ``path`` left when it was killed."""
    for leftover in _hidden_names(path, "replaced"):
        if not path.exists() and complete(leftover) is not None:
            files.layer.rename(leftover, path)
        else:
            files.layer.remove_tree(leftover)
    for kind in ("partial", "trash"):
        for leftover in _hidden_names(path, kind):
            files.layer.remove_tree(leftover)


def find(path: Path) -> Path:
    """``path``, or the former checkpoint that a killed replacement set aside."""
    if not path.exists():
        for candidate in _hidden_names(path, "replaced"):
            if complete(candidate) is not None:
                return candidate
    return path


def publish(partial: Path, path: Path, nonce: str, check_wanted: Callable[[], None]) -> None:
    """Give the durable folder ``partial`` its final name; ``check_wanted`` may still refuse.

    A folder cannot be renamed over another, so a checkpoint that is replaced steps aside first
    and is found by :func:`find` should the process die between the two renames.
    """
    root = path.parent
    files.layer.sync_tree(partial)
    check_wanted()
    former = hidden(path, nonce, "replaced") if path.exists() else None
    if former is not None:
        files.layer.rename(path, former)
    try:
        files.layer.rename(partial, path)
    except BaseException:
        if former is not None:
            files.layer.rename(former, path)
        raise
    files.layer.sync_dir(root)
    if former is not None:
        files.layer.remove_tree(former)


def point_to(path: Path, nonce: str) -> None:
    """Replace the pointer ``latest`` beside ``path``, atomically."""
    pointer = path.with_name(POINTER)
    for leftover in _hidden_names(pointer, "partial"):
        files.layer.remove_tree(leftover)
    fresh = hidden(pointer, nonce, "partial")
    files.layer.write_bytes(fresh, f"{path.name}\n".encode())
    files.layer.replace(fresh, pointer)
    files.layer.sync_dir(path.parent)


def retain(root: Path, keep_last: int, just_saved: Path, nonce: str) -> None:
    """Delete all but the ``keep_last`` newest complete checkpoints; never ``just_saved``.

    Only folders with a valid manifest count and only those are deleted.
    """
    others = [found for found in checkpoints(root) if found[0] != just_saved]
    others.sort(key=lambda found: found[1].committed_at, reverse=True)
    for path, _ in others[keep_last - 1 :]:
        trash = hidden(path, nonce, "trash")
        files.layer.rename(find(path), trash)
        files.layer.remove_tree(trash)


def checkpoints(root: Path) -> Iterator[tuple[Path, Manifest]]:
    """The complete checkpoints of ``root``, each under its plain name, in no order.

    One that a killed replacement set aside counts: :func:`find` leads to it.
    """
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        return
    plain = {name for name in names if not name.startswith(".")}
    aside = {name[1:].rsplit(".", 2)[0] for name in names if name.endswith(".replaced")}
    for name in sorted(plain | aside):
        found = find(root / name)
        manifest = complete(found) if found.is_dir() else None
        if manifest is not None:
            yield root / name, manifest


def newest(root: Path) -> Path | None:
    """The complete checkpoint committed last.

    The pointer is believed where it names a complete checkpoint and none is newer (one is, when a
    save died between its commit and the pointer).
    """
    found = {path: manifest.committed_at for path, manifest in checkpoints(root)}
    if not found:
        return None
    pointed: Path | None = None
    try:
        pointed = root / (root / POINTER).read_text(encoding="utf-8").strip()
    except OSError:
        _log.debug("%s has no pointer file", root)
    return max(found, key=lambda path: (found[path], path == pointed))


def _hidden_names(path: Path, kind: str) -> list[Path]:
    prefix, suffix = f".{path.name}.", f".{kind}"
    try:
        names = os.listdir(path.parent)
    except FileNotFoundError:
        return []
    return [
        path.parent / name
        for name in sorted(names)
        if name.startswith(prefix)
        and name.endswith(suffix)
        and "." not in name[len(prefix) : -len(suffix)]
    ]
