"""Which files to check: the paths that were named, and the project around them.

The files *asked* for are those under the named paths. A finding may need the rest of the project,
so every Python file below a project's root comes along, whatever was named. A notebook, which
nobody imports, comes only when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckptlint.catalogue import nearest
from ckptlint.config import Settings
from ckptlint.walk import Found, Walker, is_root, is_test, project_root

# Without any marker the folder is no project, perhaps a home directory: look at it and at its
# direct sub-folders, where a script's helpers live, not at everything below.
_DEPTH_WITHOUT_MARKER = 1


class MissingPathError(Exception):
    """A named path does not exist."""


@dataclass(frozen=True)
class Failure:
    """A file or folder that could not be read; ``reason`` completes "not analysed: ..."."""

    path: Path
    reason: str


@dataclass(frozen=True)
class ProjectFiles:
    """One project: its root, its settings, the files asked for and all that surround them."""

    root: Path
    settings: Settings
    asked: tuple[Path, ...]
    around: tuple[Path, ...]


@dataclass(frozen=True)
class Discovery:
    """What to analyse. ``tests`` counts the test files that were found but not asked for."""

    projects: tuple[ProjectFiles, ...]
    failures: tuple[Failure, ...] = ()
    tests: int = 0


def discover(
    named: Sequence[Path],
    settings_for: Callable[[Path], Settings],
    virtual: Collection[Path] = (),
) -> Discovery:
    """Find the files under the named paths, and their projects.

    ``settings_for`` gives the settings that hold in a project's root; ``virtual`` are files that
    need not exist on disk. Raises MissingPathError, and ConfigError from ``settings_for``.
    """
    walker = Walker(settings_for)
    asked: dict[str, dict[str, None]] = {}
    walked: dict[str, list[Found]] = {}
    tests: set[str] = set()
    unreadable: dict[str, str] = {}
    for path in dict.fromkeys(map(os.path.abspath, named)):
        if os.path.isdir(path):
            walked[path] = list(walker.walk(path, unreadable))
            for found in walked[path]:
                if found.test and not walker.scope(found.root).settings.include_tests:
                    tests.add(found.path)
                else:
                    asked.setdefault(found.root, {})[found.path] = None
        elif os.path.lexists(path) or Path(path) in virtual:
            root = project_root(os.path.dirname(path))
            if _skipped_test(path, walker, root):
                tests.add(path)
            elif not _excluded(path, walker, root):
                asked.setdefault(root, {})[path] = None
        else:
            raise MissingPathError(_missing(path))
    projects = [
        _project(root, list(files), walker, walked) for root, files in sorted(asked.items())
    ]
    checked = {str(path) for project in projects for path in project.asked}
    failures = tuple(Failure(Path(path), text) for path, text in unreadable.items())
    return Discovery(tuple(projects), failures, len(tests - checked))


def _missing(path: str) -> str:
    """Say that a named path is not there, and which one beside it was probably meant."""
    folder, name = os.path.split(path)
    beside = os.listdir(folder) if os.path.isdir(folder) else []
    meant = nearest(name, beside)
    hint = f"; did you mean {os.path.join(folder, meant)}?" if meant else ""
    return f"no such file or folder: {path}{hint}"


def _project(
    root: str, files: list[str], walker: Walker, walked: Mapping[str, list[Found]]
) -> ProjectFiles:
    real = _real_paths(files)
    asked = _once(real)
    known = {real[path] for path in asked}
    surrounding = _real_paths(_around(root, walker, walked))
    around = {path: target for path, target in surrounding.items() if target not in known}
    return ProjectFiles(
        Path(root),
        walker.scope(root).settings,
        tuple(map(Path, asked)),
        tuple(map(Path, _once(around))),
    )


def _around(root: str, walker: Walker, walked: Mapping[str, list[Found]]) -> list[str]:
    """Return every Python file of a project, from a walk already done where one covers it."""
    files = next(
        (
            found
            for folder, found in walked.items()
            if root == folder or root.startswith(os.path.join(folder, ""))
        ),
        None,
    )
    if files is None:
        depth = None if is_root(root) else _DEPTH_WITHOUT_MARKER
        # Nobody asked for these, so a folder that cannot be read is not their fault.
        files = list(walker.walk(root, {}, depth))
    return [f.path for f in files if f.root == root and not f.path.endswith(".ipynb")]


def _skipped_test(path: str, walker: Walker, root: str) -> bool:
    """Say whether a named file is a test that ``force-exclude`` leaves out all the same."""
    settings = walker.scope(root).settings
    if not settings.force_exclude or settings.include_tests:
        return False
    return is_test(os.path.relpath(path, root))


def _excluded(path: str, walker: Walker, root: str) -> bool:
    """Say whether a named file is excluded, which counts only with ``force-exclude``."""
    scope = walker.scope(root)
    if not scope.settings.force_exclude:
        return False
    above = [path]
    while above[-1] != root:
        above.append(os.path.dirname(above[-1]))
    return any(scope.excludes(each, is_folder=each != path) for each in above[:-1])


def _real_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return where each path leads; folders are followed once, not for every file in them."""
    folders: dict[str, str] = {}
    found: dict[str, str] = {}
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        target = os.path.join(folders[folder], name)
        found[path] = os.path.realpath(target) if os.path.islink(target) else target
    return found


def _once(targets: Mapping[str, str]) -> list[str]:
    """Keep one path for each file: the file itself where both it and a link to it are given."""
    chosen: dict[str, str] = {}
    for path, target in targets.items():
        if target not in chosen or path == target:
            chosen[target] = path
    return list(chosen.values())
