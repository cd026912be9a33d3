"""Put a function before every collective of torch.distributed, and take it away again.

Another one comes after ``init_process_group``.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

#: Collectives by name. Sends and receives are left out: a rank test around them is right.
COLLECTIVES = (
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "new_group",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
)
FUNCTIONAL = (
    "all_gather_single",
    "all_gather_tensor",
    "all_reduce",
    "all_to_all_single",
    "broadcast",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
)

#: Called with the collective's name and its arguments by name.
Before = Callable[[str, dict[str, Any]], None]


class Interception:
    """While installed, ``before`` runs ahead of each outermost collective of this process.

    ``begun`` runs when the process has joined its job.
    """

    def __init__(self, before: Before, begun: Callable[[], object] = lambda: None) -> None:
        self._before = before
        self._begun = begun
        self._replaced: list[tuple[Any, str, Any]] = []

    def install(self) -> None:
        """Replace the functions, also where a module has imported one by name already."""
        for name in COLLECTIVES:
            original = getattr(dist.distributed_c10d, name, None)
            if original is not None:
                self._replace(name, original, self._wrap(original, name))
        functional = sys.modules.get("torch.distributed._functional_collectives")
        for name in FUNCTIONAL:
            original = getattr(functional, name, None)
            if original is not None:
                self._replace(name, original, self._wrap(original, f"functional {name}"))
        start = dist.distributed_c10d.init_process_group
        self._replace("init_process_group", start, self._followed(start))

    def remove(self) -> None:
        """Put the originals back."""
        for module, name, original in self._replaced:
            setattr(module, name, original)
        self._replaced.clear()

    def _replace(self, name: str, original: Any, wrapped: Any) -> None:
        for module in list(sys.modules.values()):
            if getattr(module, "__dict__", {}).get(name) is original:
                setattr(module, name, wrapped)
                self._replaced.append((module, name, original))

    def _followed(self, original: Any) -> Any:
        @functools.wraps(original)
        def followed(*args: Any, **kwargs: Any) -> Any:
            original(*args, **kwargs)
            self._begun()

        return followed

    def _wrap(self, original: Any, label: str) -> Any:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            # Some collectives are made of others; only what the program called is looked at.
            if _inside.depth == 0:
                try:
                    bound = signature.bind(*args, **kwargs)
                except TypeError:  # a wrong call: let the original say so
                    return original(*args, **kwargs)
                self._before(label, bound.arguments)
            _inside.depth += 1
            try:
                return original(*args, **kwargs)
            finally:
                _inside.depth -= 1

        return wrapped


class _Inside(threading.local):
    depth = 0


_inside = _Inside()
