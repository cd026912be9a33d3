"""Walking a folder for Python files and notebooks, and telling of which project and kind each is.

Symbolic links to folders are not followed (git and ruff do not either), so no loop can catch us.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ckptlint.config import Settings
from ckptlint.ignores import BUILT_IN, Patterns, above, gitignore, ignored, patterns
from ckptlint.source import named_as_test

ROOT_MARKERS = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", ".git", ".ckptlint.toml", "ckptlint.toml"}
)
SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True)
class Scope:
    """A project: its root, its settings and what these exclude."""

    root: str
    settings: Settings
    patterns: tuple[Patterns, ...]

    def excludes(self, path: str, is_folder: bool) -> bool:
        """Say whether the built-in list or the settings exclude this path itself."""
        built_in = is_folder and self.settings.exclude is None
        if built_in and os.path.basename(path) in BUILT_IN:
            return True
        return any(each.verdict(path, is_folder) for each in self.patterns)


@dataclass(frozen=True)
class Found:
    """A Python file or notebook on the walk; ``root`` is that of its project."""

    path: str
    root: str
    test: bool


@dataclass(frozen=True)
class _Folder:
    path: str
    scope: Scope
    ignores: tuple[Patterns, ...]
    in_tests: bool = False
    depth: int = 0


@dataclass
class Walker:
    """Walks folders; ``settings_for`` gives the settings that hold in a project's root."""

    settings_for: Callable[[Path], Settings]
    _scopes: dict[str, Scope] = field(default_factory=dict)

    def scope(self, root: str) -> Scope:
        """Return the project with this root. Raises ConfigError."""
        if root not in self._scopes:
            settings = self.settings_for(Path(root))
            globs = [*filter(None, [settings.exclude]), *settings.extend_exclude]
            own = (patterns(os.path.abspath(each.base), each.lines) for each in globs)
            self._scopes[root] = Scope(root, settings, tuple(filter(None, own)))
        return self._scopes[root]

    def walk(self, top: str, failures: dict[str, str], depth: int | None = None) -> Iterator[Found]:
        """Yield Python files and notebooks below ``top``, at most ``depth`` folders down, in order.

        A folder that cannot be read goes to ``failures``, path to reason. Raises ConfigError.
        """
        scope = self.scope(project_root(top))
        meant = "tests" in os.path.relpath(top, scope.root).split(os.sep)
        stack = [_Folder(top, scope, above(top))]
        while stack:
            folder = stack.pop()
            try:
                with os.scandir(folder.path) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name)
            except OSError as error:
                failures[folder.path] = f"the folder cannot be read: {error.strerror}"
                continue
            folder = self._entered(folder, top, {entry.name for entry in entries})
            below: list[_Folder] = []
            for entry in entries:
                is_folder = _is_folder(entry)
                if not (is_folder or _is_python(entry)):
                    continue
                if folder.scope.excludes(entry.path, is_folder):
                    continue
                if ignored(entry.path, is_folder, folder.ignores):
                    continue
                if is_folder:
                    below.append(_inside(folder, entry))
                else:
                    test = not meant and (folder.in_tests or named_as_test(entry.name))
                    yield Found(entry.path, folder.scope.root, test)
            if depth is None or folder.depth < depth:
                stack.extend(reversed(below))

    def _entered(self, folder: _Folder, top: str, names: Iterable[str]) -> _Folder:
        """Heed what a folder holds: an ignore file, the mark of a project of its own."""
        if ".gitignore" in names:
            own = gitignore(folder.path)
            folder = folder if own is None else replace(folder, ignores=(*folder.ignores, own))
        if folder.path != top and not ROOT_MARKERS.isdisjoint(names):
            folder = replace(folder, scope=self.scope(folder.path))
        return folder


def project_root(folder: str) -> str:
    """Return the nearest folder, upwards, that marks a project; ``folder`` itself without one."""
    current = folder
    while not is_root(current):
        parent = os.path.dirname(current)
        if parent == current:
            return folder
        current = parent
    return current


def is_root(folder: str) -> bool:
    """Say whether a folder holds the mark of a project."""
    return any(os.path.lexists(os.path.join(folder, marker)) for marker in ROOT_MARKERS)


def is_test(relative: str) -> bool:
    """Say whether a path below a project's root is a test's: those build mismatches on purpose."""
    *folders, name = relative.split(os.sep)
    return "tests" in folders or named_as_test(name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_python(entry: os.DirEntry[str]) -> bool:
    # Emacs locks a file that is being edited with a dangling link named .#file.py.
    if not entry.name.endswith(SUFFIXES) or entry.name.startswith(".#"):
        return False
    return not (entry.is_symlink() and os.path.isdir(entry.path))


def _inside(folder: _Folder, entry: os.DirEntry[str]) -> _Folder:
    in_tests = folder.in_tests or entry.name == "tests"
    return replace(folder, path=entry.path, in_tests=in_tests, depth=folder.depth + 1)
