"""The store of a group that has one member: a dictionary."""

from __future__ import annotations

import threading
from collections.abc import Sequence


class LocalStore:
    """What ``ControlStore`` asks of a c10d store, inside one process and safe between its threads.

    Not torch's own HashStore: in torch 2.2 that one reads past the end of its map, and may crash,
    when a key that is not set is compared.
    """

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def set(self, key: str, value: str) -> None:
        """Set ``key``, overwriting."""
        with self._lock:
            self._values[key] = value.encode()

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Set ``key`` if it holds ``expected`` ("": nothing); what it holds, or ``expected``."""
        with self._lock:
            if self._values.get(key, b"") == expected.encode():
                self._values[key] = desired.encode()
            return self._values.get(key, expected.encode())

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of keys that are set."""
        with self._lock:
            return [self._values[key] for key in keys]

    def add(self, key: str, amount: int) -> int:
        """Add to a counter."""
        with self._lock:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            return total

    def delete_key(self, key: str) -> bool:
        """Forget ``key``."""
        with self._lock:
            return self._values.pop(key, None) is not None

    def has_extended_api(self) -> bool:
        """Whether ``multi_get`` may be used."""
        return True
