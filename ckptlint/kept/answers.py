"""Answers that were kept, each with the questions that were asked for it."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ckptlint.kept.database import Database, loaded, stored, text
from ckptlint.memo import Memo
from ckptlint.questions import Questions

_LASTING = "fixes"  # beginning of keys that are kept although nobody asked for them in a run


class KeptMemo(Memo):
    """Answers on disk: one holds when none of its questions is among the ``changed``."""

    def __init__(
        self, database: Database | None, questions: Questions, changed: Iterable[str]
    ) -> None:
        self._database = database
        self._questions = questions
        self._changed = {_hashed(each) for each in changed}
        self._hashes: dict[str, int] = {}
        self.kept: dict[str, tuple[str, bytes]] = {}
        self.used: set[str] = set()

    def answer(self, key: str, find: Callable[[], Any]) -> Any:
        """Return what an earlier run found, or find it and keep it."""
        value = self.known(key)
        if value is None:
            with self._questions.apart() as asked:
                value = [find()]
            self.keep(key, value, asked.all())
        return value[0]

    def known(self, key: str) -> Any:
        """Return what is kept for a key and still holds, or None."""
        row = self._kept("value, questions", key)
        if row is None or not self._holds(row[1]):
            return None
        self.used.add(key)
        return loaded(row[0])

    def former(self, key: str) -> Any:
        """Return what is kept for a key, whether or not it still holds."""
        row = self._kept("value", key)
        return None if row is None else loaded(row[0])

    def _kept(self, columns: str, key: str) -> tuple[Any, ...] | None:
        if self._database is None:
            return None
        return self._database.one(f"select {columns} from answer where key = ?", stored(key))

    def keep(self, key: str, value: Any, questions: Iterable[str]) -> None:
        """Keep a value, which must not be None, with what was asked for it."""
        hashes = array("Q", sorted({self._hash(each) for each in questions}))
        self.kept[key] = (json.dumps(value), hashes.tobytes())

    def change(self, questions: Iterable[str]) -> None:
        """Tell that more questions have another answer now."""
        self._changed.update(map(_hashed, questions))

    def lost(self) -> Iterator[str]:
        """Yield the keys of answers that no longer hold, or belong to no question of today."""
        kept = self._database.all("select key, questions from answer") if self._database else ()
        for name, questions in kept:
            key = text(name)
            if key not in self.used and (
                not key.startswith(_LASTING) or not self._holds(questions)
            ):
                yield key

    def _holds(self, questions: bytes) -> bool:
        return self._changed.isdisjoint(array("Q", questions))

    def _hash(self, question: str) -> int:
        known = self._hashes.get(question)
        if known is None:
            known = self._hashes[question] = _hashed(question)
        return known


def _hashed(question: str) -> int:
    data = question.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
