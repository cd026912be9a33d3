"""Fetch the pinned source distributions of the corpus and unpack their Python files.

``python corpus/fetch.py LIST FOLDER`` reads ``LIST`` (a TOML file of packages with versions and
hashes), asks pip where each source distribution lies, checks its SHA-256 and unpacks it into
``FOLDER/NAME-VERSION``. Nothing of a distribution is executed: pip is asked for the link only,
since it would run a package's set-up code to download it. What is there already is not fetched
again. ``--pin`` prints the list with the newest releases and their hashes instead.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pip._internal.commands.download import DownloadCommand
from pip._internal.models.link import Link
from pip._internal.network.session import PipSession

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEPT = {".py", ".toml", ".cfg", ".txt", ".yaml", ".yml", ".json", ".ipynb", ".lock"}
_MAX_KEPT = 2_000_000


@dataclass(frozen=True)
class Package:
    """A source distribution: its name on the index, its release, and the hash of its archive."""

    name: str
    version: str
    sha256: str

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


def listed(path: Path) -> list[Package]:
    """Read a list of packages."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Package(**entry) for entry in table["package"]]


class Index:
    """The package index that pip is set up to use."""

    def __init__(self) -> None:
        self._command = DownloadCommand("download", "find source distributions")
        options, _ = self._command.parse_args(["--no-deps", "--no-binary", ":all:", "x"])
        self._context = self._command.main_context()
        self._context.__enter__()
        self.session: PipSession = self._command.get_default_session(options)
        self._finder = self._command._build_package_finder(options, self.session)

    def link(self, name: str, version: str = "") -> tuple[str, Link]:
        """Return the release (the newest without ``version``) and where its archive lies."""
        candidates = self._finder.find_all_candidates(name)
        for candidate in sorted(candidates, key=lambda found: found.version, reverse=True):
            release = str(candidate.version)
            if (not version and not candidate.version.is_prerelease) or release == version:
                return release, candidate.link
        raise SystemExit(f"{name} {version}: no source distribution")

    def archive(self, link: Link) -> bytes:
        """Download an archive."""
        headers = {"Accept-Encoding": "identity"}
        response = self.session.get(link.url_without_fragment, headers=headers)
        response.raise_for_status()
        return bytes(response.content)


def members(name: str, data: bytes) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the regular files of an archive below its top folder."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield PurePosixPath(entry.filename), archive.read(entry)
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield PurePosixPath(member.name), stream.read()


def unpack(name: str, data: bytes, folder: Path) -> None:
    """Write what the analysis can read; a folder appears only when it is whole."""
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    for path, content in members(name, data):
        inner = PurePosixPath(*path.parts[1:])
        if path.suffix not in KEPT or len(content) > _MAX_KEPT or ".." in inner.parts:
            continue
        target = partial.joinpath(*inner.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    partial.rename(folder)


def fetch(packages: list[Package], folder: Path) -> None:
    """Fetch what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    index: Index | None = None
    for package in packages:
        target = folder / package.folder
        if target.exists():
            continue
        index = index or Index()
        _, link = index.link(package.name, package.version)
        data = index.archive(link)
        found = hashlib.sha256(data).hexdigest()
        if found != package.sha256:
            raise SystemExit(f"{package.folder}: SHA-256 is {found}, not {package.sha256}")
        unpack(link.filename, data, target)
        print(package.folder, flush=True)


def pin(names: list[str]) -> None:
    """Print a list of the newest releases."""
    index = Index()
    for name in names:
        version, link = index.link(name)
        digest = link.hash or hashlib.sha256(index.archive(link)).hexdigest()
        print(f'[[package]]\nname = "{name}"\nversion = "{version}"')
        print(f'sha256 = "{digest}"\n', flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetch the source distributions of a list.")
    parser.add_argument("list", type=Path, help="TOML file of packages")
    parser.add_argument("folder", type=Path, nargs="?", help="where they are unpacked")
    parser.add_argument("--pin", action="store_true", help="print the list, with newest releases")
    arguments = parser.parse_args()
    packages = listed(arguments.list)
    if arguments.pin:
        pin([package.name for package in packages])
    elif arguments.folder is None:
        parser.error("FOLDER is missing")
    else:
        fetch(packages, arguments.folder)


if __name__ == "__main__":
    main()
