"""Which files are passed over: built-in folders, ``.gitignore`` at every level, own patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

BUILT_IN = frozenset(
    {
        ".bzr",
        ".cache",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pyenv",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        ".vscode",
        "__pycache__",
        "__pypackages__",
        "_build",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    }
)


@dataclass(frozen=True)
class Patterns:
    """Lines in the language of ``.gitignore``, relative to ``base`` (an absolute folder)."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str, folder: bool) -> bool | None:
        """True: ignored; False: taken back by a ``!`` line; None: not spoken of."""
        prefix = self.base if self.base.endswith(os.sep) else self.base + os.sep
        if not path.startswith(prefix):
            return None
        relative = path[len(prefix) :].replace(os.sep, "/")
        return self.spec.check_file(f"{relative}/" if folder else relative).include


def patterns(base: str, lines: Iterable[str]) -> Patterns | None:
    """Compile patterns; None when there are none. A line that git cannot read either is skipped."""
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return Patterns(base, GitIgnoreSpec.from_lines(kept))
    except ValueError:
        return Patterns(base, GitIgnoreSpec.from_lines(filter(_readable, kept)))


def _readable(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def gitignore(folder: str, name: str = ".gitignore") -> Patterns | None:
    """Read the ignore file of one folder, if there is one."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
            return patterns(folder, file.read().splitlines())
    except OSError:
        return None


def ignored(path: str, folder: bool, stack: Iterable[Patterns]) -> bool:
    """Say whether git passes ``path`` over; ``stack`` holds the deepest folder's patterns last."""
    verdicts = (each.verdict(path, folder) for each in reversed(tuple(stack)))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def above(folder: str) -> tuple[Patterns, ...]:
    """Return the ignore files that hold in ``folder`` from the folders above it, up to the top
    of its git repository; nothing outside one. A folder that they ignore, and that was named
    nevertheless, is not judged by them."""
    found: list[Patterns | None] = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return ()
        current = parent
        found.append(gitignore(current))
    found.append(gitignore(current, os.path.join(".git", "info", "exclude")))
    stack = tuple(each for each in reversed(found) if each is not None)
    while folder.startswith(current) and folder != current:
        if ignored(folder, True, stack):
            return ()
        folder = os.path.dirname(folder)
    return stack
