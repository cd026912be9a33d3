"""Ask a rank that does not come where it is: a thread in every rank answers for its main thread."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Sequence

from .control_store import ControlStore, StoreLostError
from .where import main_thread_place

#: Seconds between two looks at whether somebody asks. Daemon thread: it ends with the process.
_POLL_SECONDS = 0.25
_ANSWER_SECONDS = 2.0


class Watcher:
    """Answers ``ask`` of other ranks, and says so when this rank's program has ended.

    ``store`` is the same on all ranks of the job; ``rank`` is this process's global rank.
    """

    def __init__(self, store: ControlStore, rank: int) -> None:
        self._store = store
        self._rank = rank
        self._stopped = threading.Event()
        self._asked = store.count("asked", 0)
        self._thread = threading.Thread(target=self._answer, name="ckptlint-watch", daemon=True)
        self._thread.start()
        atexit.register(self._say_goodbye)

    def stop(self) -> None:
        """Stop answering."""
        atexit.unregister(self._say_goodbye)
        self._stopped.set()
        self._thread.join()

    def ask(self, ranks: Sequence[int]) -> dict[int, str]:
        """Where those ranks are now, in words; a rank that gives no answer says so too."""
        question = self._store.count("asked")
        places: dict[int, str] = {}
        deadline = time.monotonic() + _ANSWER_SECONDS
        while len(places) < len(ranks) and time.monotonic() < deadline:
            for rank in set(ranks) - set(places):
                place = self._store.peek(f"at/{question}/{rank}") or self._store.peek(f"end/{rank}")
                if place is not None:
                    places[rank] = place
            time.sleep(0.02)
        silent = "no answer: its process is gone, or stuck in code that never yields"
        return {rank: places.get(rank, silent) for rank in ranks}

    def _answer(self) -> None:
        try:
            while not self._stopped.wait(_POLL_SECONDS):
                asked = self._store.count("asked", 0)
                for question in range(self._asked + 1, asked + 1):
                    self._store.post(f"at/{question}/{self._rank}", main_thread_place())
                self._asked = asked
        except StoreLostError:
            return

    def _say_goodbye(self) -> None:
        ended = "its program has ended" + (" with an error" if hasattr(sys, "last_type") else "")
        try:
            self._store.post(f"end/{self._rank}", ended)
        except StoreLostError:
            return
