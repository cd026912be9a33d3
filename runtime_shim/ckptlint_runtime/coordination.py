"""Small collective calls: run something once, compare a value, find the newest checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from . import layout
from .calls import Call
from .channel import Channel, open_channel
from .errors import RanksDisagreeError, name_ranks
from .manifest import complete
from .settings import resolve_timeouts
from .signals import report_sigterm
from .verdicts import compare, disagreement

T = TypeVar("T")
P = ParamSpec("P")


def run_on_rank_zero(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` on global rank zero and return its result on every rank.

    The result crosses ranks as JSON (None, numbers, strings, lists, mappings with string keys);
    on rank zero too it is what came through JSON, so that all ranks hold equal values. Whatever
    ``fn`` raises becomes RankFailedError on all ranks. Call it on every rank, and make no
    collective call inside ``fn``: the other ranks are waiting here.
    """
    channel = open_channel()
    limits = resolve_timeouts(None, None)
    with channel.lock, report_sigterm(channel.linger):
        call = Call(channel, "run_on_rank_zero", limits.enter, limits.work)
        call.enter({"function": f"{fn.__module__}.{getattr(fn, '__qualname__', repr(type(fn)))}"})

        def work() -> T | None:
            return _plain(fn(*args, **kwargs)) if channel.decides else None

        answer: T = call.phase("run", work, lambda reports: reports[0])
        call.leave()
    return answer


def agree(value: T, name: str) -> T:
    """Return ``value`` if every rank brings an equal one; else raise RanksDisagreeError on all.

    ``value`` is anything JSON can hold; ``name`` says in the error what it is.
    """
    channel = open_channel()
    limits = resolve_timeouts(None, None)
    with channel.lock, report_sigterm(channel.linger):
        call = Call(channel, "agree", limits.enter, limits.work)
        call.enter({"name": name})
        differing = call.phase(
            "compare",
            lambda: {name: _plain(value)},
            lambda reports: compare(channel.ranks, reports),
            timeout=limits.enter,
        )
        call.leave()
    if differing:
        raise disagreement("agree", differing)
    return value


def _plain(value: T) -> T:
    """``value`` if JSON can hold it; else an error here, inside a phase, where all hear of it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the value crosses ranks as JSON: {error}; give plain values, and share tensors with "
            "a collective"
        ) from error
    return value


def latest_checkpoint(root: str | os.PathLike[str], *, timeout: float | None = None) -> Path | None:
    """The newest complete checkpoint in ``root``, the same on every rank; None if there is none.

    Call it on every rank. A torn or unfinished folder is never returned. Raises
    RanksDisagreeError when a rank does not see the checkpoint that rank zero found, which is what
    a ``root`` on node-local storage looks like.
    """
    absolute = Path(os.path.abspath(root))
    channel = open_channel()
    limits = resolve_timeouts(timeout, None)
    with channel.lock, report_sigterm(channel.linger):
        call = Call(channel, "latest_checkpoint", limits.enter, limits.work)
        call.enter({"root": str(absolute)})
        found = call.phase("find", lambda: None, lambda _reports: _newest(absolute))
        views = call.phase(
            "compare", lambda: _seen(found), lambda reports: _differing(channel, reports)
        )
        call.leave()
    if views:
        raise RanksDisagreeError("latest checkpoint", views, _not_shared(absolute, views))
    return None if found is None else Path(found)


def _newest(root: Path) -> str | None:
    path = layout.newest(root)
    return None if path is None else str(path)


def _seen(path: str | None) -> str:
    manifest = None if path is None else complete(layout.find(Path(path)))
    if path is None:
        return "none"
    return f"{path}: not there or not complete" if manifest is None else f"{path} {manifest.nonce}"


def _differing(channel: Channel, reports: list[str]) -> dict[str, list[int]] | None:
    views: dict[str, list[int]] = {}
    for rank, view in zip(channel.ranks, reports, strict=True):
        views.setdefault(view, []).append(rank)
    return views if len(views) > 1 else None


def _not_shared(root: Path, views: dict[str, list[int]]) -> str:
    lines = [f"latest_checkpoint({str(root)!r}): the ranks do not see the same checkpoint"]
    lines += [f"  {view} on {name_ranks(ranks)}" for view, ranks in views.items()]
    lines.append("  Look at: whether the folder is on storage that all nodes share.")
    return "\n".join(lines)
