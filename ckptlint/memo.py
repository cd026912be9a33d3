"""Answers that an earlier run may have found already."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any


class Memo:
    """Finds everything anew and keeps nothing; see ``kept/answers.py`` for one that does."""

    def answer(self, key: str, find: Callable[[], Any]) -> Any:
        """Return what ``find`` gives (plain data, as JSON has it), or what it gave for this key
        while all that it asks had the same answers."""
        return find()

    def known(self, key: str) -> Any:
        """Return what is kept for a key and still holds, or None."""

    def former(self, key: str) -> Any:
        """Return what is kept for a key, whether or not it still holds, or None."""

    def keep(self, key: str, value: Any, questions: Iterable[str]) -> None:
        """Keep a value, which must not be None, with what was asked for it."""

    def change(self, questions: Iterable[str]) -> None:
        """Tell that more questions have another answer now."""


def digest(parts: Iterable[str]) -> str:
    """Return a short name for some strings in their order."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()
