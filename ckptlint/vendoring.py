"""Copying the runtime into a project, for clusters where nothing may be installed.

The copy is a package ``ckptlint_runtime`` with a stamp: its version and the checksum of every
file. By the stamp a later run can tell a copy that is out of date from one that was changed by
hand, which is never overwritten unasked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "ckptlint_runtime"
STAMP = "vendored.json"
_CACHES = ("__pycache__", "*.pyc", STAMP)
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


class VendorError(Exception):
    """The runtime cannot be copied or compared; the text says why."""


@dataclass(frozen=True)
class Runtime:
    """A folder that holds the runtime's files: its source, or a copy."""

    folder: Path

    @cached_property
    def version(self) -> str:
        """The release that the package says it is."""
        found = _VERSION.search((self.folder / "__init__.py").read_text(encoding="utf-8"))
        return found[1] if found else "unknown"

    @cached_property
    def checksums(self) -> Mapping[str, str]:
        """SHA-256 of every file, by its path inside the package."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in paths
            if "__pycache__" not in path.parts and path.suffix != ".pyc" and path.name != STAMP
        }

    @cached_property
    def stamp(self) -> Mapping[str, str] | None:
        """The checksums at the time of the copy, or None where there is no stamp."""
        try:
            return dict(json.loads((self.folder / STAMP).read_text(encoding="utf-8"))["files"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise VendorError(f"{self.folder / STAMP} cannot be read: {error}") from error

    @property
    def changed(self) -> list[str]:
        """The files that are not as they were copied; all of them where there is no stamp."""
        before = self.stamp or {}
        names = sorted({*before, *self.checksums})
        return [name for name in names if before.get(name) != self.checksums.get(name)]


def installed() -> Runtime:
    """Find the runtime: beside the linter's source, or installed. Raises VendorError."""
    beside = Path(__file__).resolve().parents[1] / "runtime_shim" / PACKAGE
    spec = find_spec(PACKAGE)
    found = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    for folder in (beside, *found):
        if (folder / "__init__.py").is_file() and not (folder / STAMP).exists():
            return Runtime(folder)
    raise VendorError(
        "the runtime is not installed here: pip install ckptlint-runtime (or ./runtime_shim from"
        " a clone) where ckptlint is installed"
    )


def vendor(target: Path, source: Runtime, force: bool = False) -> bool:
    """Copy the runtime into a folder; say whether anything had to be done.

    The copy appears whole or not at all. Raises VendorError when there is one that was changed,
    unless forced to, and when it cannot be written.
    """
    folder = target / PACKAGE
    if folder.exists() or folder.is_symlink():
        if folder.is_symlink() or not folder.is_dir():
            raise VendorError(f"{folder} is not a folder")
        copy = Runtime(folder)
        if not force and copy.changed:
            raise VendorError(f"{_told(copy)}; --force overwrites it")
        if not copy.changed and copy.checksums == source.checksums:
            return False
    try:
        target.mkdir(parents=True, exist_ok=True)
        _replace(folder, source)
    except OSError as error:
        raise VendorError(f"{folder} cannot be written: {error.strerror or error}") from error
    return True


def outdated(target: Path, source: Runtime) -> str | None:
    """Say in what way the copy in a folder differs from the runtime, or return None.

    Raises VendorError when there is no copy.
    """
    copy = Runtime(target / PACKAGE)
    if not copy.folder.is_dir():
        raise VendorError(f"{target} holds no copy of the runtime: ckptlint vendor {target}")
    if copy.changed:
        return _told(copy)
    if copy.checksums != source.checksums:
        return f"{copy.folder} is a copy of {copy.version}; the runtime here is {source.version}"
    return None


def _told(copy: Runtime) -> str:
    if copy.stamp is None:
        return f"{copy.folder} is not a copy that ckptlint made"
    names = copy.changed
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{copy.folder} was changed since it was copied ({', '.join(names[:3])}{more})"


def _replace(folder: Path, source: Runtime) -> None:
    """Put a new copy in the place of ``folder`` by renaming."""
    with tempfile.TemporaryDirectory(prefix=".ckptlint-", dir=folder.parent) as name:
        fresh, old = Path(name) / "fresh", Path(name) / "old"
        shutil.copytree(source.folder, fresh, ignore=shutil.ignore_patterns(*_CACHES))
        stamp = {"version": source.version, "files": dict(source.checksums)}
        (fresh / STAMP).write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
        if not folder.exists():
            os.replace(fresh, folder)
            return
        os.replace(folder, old)
        try:
            os.replace(fresh, folder)
        except BaseException:
            os.replace(old, folder)
            raise
