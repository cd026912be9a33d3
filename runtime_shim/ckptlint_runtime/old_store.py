"""A c10d store of torch before 2.4, whose ``compare_set`` must not be called.

There it makes its result while it does not hold the interpreter's lock, which crashes the process,
always on Python 3.10 and 3.12 (pytorch issues 123983 and 125990, mended by pull request 128212).
"""

from __future__ import annotations

import time
from typing import Any

#: Seconds to wait for a value whose writer has announced it; it was killed if it takes longer.
_PATIENCE = 10.0


class OldStore:
    """``compare_set`` made of counters: beside each key, one says that it is set.

    One thing is weaker: when a rank is killed between its claim to a key and the value, ranks that
    want to set that key too fail after ten seconds as if the store were lost.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    def add(self, key: str, amount: int) -> int:
        """Add to a counter."""
        return int(self._store.add(key, amount))

    def set(self, key: str, value: str) -> None:
        """Set ``key``, overwriting."""
        self._store.set(key, value)
        self.add(f"{key}#set", 1)

    def get(self, key: str) -> bytes:
        """The value of a key that is set."""
        return bytes(self._store.get(key))

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """With ``expected`` "": set the key unless it is set. Else: read it without waiting."""
        if expected == "" and self.add(f"{key}#claim", 1) == 1:
            self.set(key, desired)
            return desired.encode()
        deadline = time.monotonic() + _PATIENCE
        while self.add(f"{key}#set", 0) == 0:
            if expected != "":
                return expected.encode()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{key} was claimed, but its value did not come")
            time.sleep(0.001)
        return self.get(key)

    def delete_key(self, key: str) -> bool:
        """Forget ``key``."""
        for beside in (f"{key}#set", f"{key}#claim"):
            self._store.delete_key(beside)
        return bool(self._store.delete_key(key))
