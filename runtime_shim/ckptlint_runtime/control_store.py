"""The control channel: JSON values in the c10d store of the job.

A store, not collectives: it has timeouts, it can say who has checked in, it works from threads,
and using it cannot put the collectives of a process group out of step. No value is pickled, so a
peer can make this process read a wrong value but never run code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from torch._C._distributed_c10d import Store

from .local_store import LocalStore
from .old_store import OldStore

#: No JSON text, so no value that this package posts is equal to it.
_ABSENT = "-"


class StoreLostError(ConnectionError):
    """The store does not answer any more: the process that hosts it is gone."""


class ControlStore:
    """JSON over one c10d store, below one prefix. Counts its operations in ``operations``."""

    def __init__(self, store: Store | LocalStore | OldStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self.operations = 0

    def below(self, prefix: str) -> ControlStore:
        """The same connection, one folder deeper."""
        return ControlStore(self._store, self._key(prefix))

    def post(self, key: str, value: Any) -> None:
        """Set ``key``, overwriting."""
        self._do("set", self._key(key), json.dumps(value))

    def settle(self, key: str, value: Any) -> Any:
        """Set ``key`` unless it is set; return what stands there now. The first writer wins."""
        return json.loads(self._do("compare_set", self._key(key), "", json.dumps(value)))

    def peek(self, key: str) -> Any:
        """The value, or None when the key is not set. Does not wait, and changes nothing."""
        # A comparison that never holds reads without waiting, in one operation. A separate test
        # for the key is not there in torch 2.2, and a read after it may find the key dropped.
        found = bytes(self._do("compare_set", self._key(key), _ABSENT, _ABSENT))
        return None if found == _ABSENT.encode() else json.loads(found)

    def has(self, key: str) -> bool:
        """Whether ``key`` is set. Does not wait."""
        return self.peek(key) is not None

    def read(self, keys: Sequence[str]) -> list[Any]:
        """The values of keys that are known to be set."""
        if not keys:
            return []
        full = [self._key(key) for key in keys]
        if getattr(self._store, "has_extended_api", bool)():
            return [json.loads(value) for value in self._do("multi_get", full)]
        return [json.loads(self._do("get", key)) for key in full]

    def count(self, key: str, amount: int = 1) -> int:
        """Add to a counter and return its new value (0 creates or reads it)."""
        return int(self._do("add", self._key(key), amount))

    def drop(self, key: str) -> None:
        """Forget ``key``, so that a long job does not fill the store."""
        self._do("delete_key", self._key(key))

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def _do(self, operation: str, *arguments: Any) -> Any:
        self.operations += 1
        try:
            return getattr(self._store, operation)(*arguments)
        except RuntimeError as error:
            raise StoreLostError(
                f"the c10d store of the job did not answer ({operation}): {error}"
            ) from error


class Pause:
    """Sleeps that grow: short while the ranks are in step, then long enough to spare the store.

    The ranks ask again instead of waiting inside the store: a wait there holds the lock of the
    client that the process groups share, keeps signal handlers from running, and writes a warning
    to the terminal when it ends without an answer. The longest sleep grows with the world, so
    that all ranks together ask a few thousand times a second at most.
    """

    SHORTEST = 0.0002
    LONGEST = 0.05
    PER_RANK = 0.0001

    def __init__(self, world_size: int) -> None:
        self._next = self.SHORTEST
        self._longest = max(self.LONGEST, world_size * self.PER_RANK)

    def __call__(self) -> None:
        time.sleep(self._next)
        self._next = min(self._next * 1.5, self._longest)
