"""The projects around the open files, kept in memory from one analysis to the next.

Which files there are is looked up once and again when something on the disk is said to have
changed; files are read again when they changed, and those that did not keep their syntax trees.
All of it runs in one thread.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ckptlint import catalogue, evidence
from ckptlint.config import Overrides, Settings, load
from ckptlint.config_file import CONFIG_NAMES
from ckptlint.discovery import Discovery, ProjectFiles, discover
from ckptlint.engine import Request, analyse
from ckptlint.facts import FactSet
from ckptlint.finding import Applicability
from ckptlint.knowledge import Knowledge
from ckptlint.project import display_path
from ckptlint.reading import read, source
from ckptlint.runner import Mode, Report, Runner
from ckptlint.server.documents import Desk
from ckptlint.server.narrow import narrowed
from ckptlint.source import Source, SourceError

# In an editor the settings decide what is checked: a file that is excluded shows nothing.
_OVERRIDES = Overrides(force_exclude=True)


@dataclass
class Session:
    """Analyses what is open. ``cwd`` is the folder that display names are relative to."""

    cwd: Path
    _found: tuple[tuple[Path, ...], Discovery] | None = None
    _settings: dict[Path, tuple[int, int] | None] = field(default_factory=dict)
    _sources: dict[Path, tuple[object, Source]] = field(default_factory=dict)
    _backends: dict[Path, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def facts(self) -> FactSet:
        """The facts of all frameworks."""
        from ckptlint_rules import facts

        return facts()

    def forget(self) -> None:
        """Look up anew which files there are, and their settings."""
        self._found = None

    def check(self, desk: Desk, fixes: bool) -> Report:
        """Analyse the open files. Raises ConfigError."""
        return self._run(desk, Mode(offer=fixes))

    def fixed(self, desk: Desk) -> Report:
        """Apply the safe fixes to the open files, in memory. Raises ConfigError."""
        return self._run(desk, Mode(allowed=frozenset({Applicability.SAFE})))

    def _run(self, desk: Desk, mode: Mode) -> Report:
        found = self._discovery(desk)
        runner = Runner(
            self.cwd,
            lambda: self.facts,
            mode,
            analyse=lambda request: analyse(self._narrowed(request)),
            reader=lambda path, _: self._read(path, desk),
        )
        return runner.run(found)

    def _narrowed(self, request: Request) -> Request:
        """Look at what the open files need; what backends the project shows is asked once."""
        known = self._backends.get(request.root)
        if known is None:
            knowledge = Knowledge(request.facts, evidence.pinned(request.root, request.facts))
            known = evidence.backends(request.root, request.sources, knowledge)
            self._backends[request.root] = known
        return narrowed(request, known)

    def request(self, desk: Desk, path: Path) -> Request | None:
        """Return what the analysis needs to look at one open file, its source first, or None when
        it is not checked. Raises ConfigError."""
        for files in self._discovery(desk).projects:
            if path in files.asked:
                return self._request(files, desk, path)
        return None

    def _request(self, files: ProjectFiles, desk: Desk, path: Path) -> Request:
        sources: list[Source] = []
        for each in dict.fromkeys((path, *files.asked, *files.around)):
            try:
                sources.append(self._read(each, desk))
            except SourceError:
                continue  # told where it is checked
        return self._narrowed(
            Request(
                sources,
                (self.display(path),),
                files.root,
                self.facts + files.settings.facts,
                files.settings.codes,
                runtime=files.settings.fix_style == "runtime",
            )
        )

    def display(self, path: Path) -> str:
        """Return the name that a file has in reports."""
        return display_path(path, self.cwd)

    def path(self, display: str) -> Path:
        """Return the file that has a name in reports."""
        return self.cwd / display

    def _read(self, path: Path, desk: Desk) -> Source:
        document = desk.documents.get(path)
        if document is not None:
            key: object = document.data
        else:
            key = _signature(path)
        known = self._sources.get(path)
        if known is not None and known[0] == key and key is not None:
            return known[1]
        if document is not None:
            found = source(path, document.data, self.cwd)
        else:
            found = read(path, self.cwd)
        self._sources[path] = (key, found)
        return found

    # -- which files, under which settings -------------------------------------------------------

    def _discovery(self, desk: Desk) -> Discovery:
        paths = tuple(sorted(desk.documents))
        if self._found is None or self._found[0] != paths or self._settings_changed():
            self._found, self._settings, self._backends = None, {}, {}
            found = discover(paths, self._settings_for, virtual=paths)
            self._found = (paths, found)
        return self._found[1]

    def _settings_for(self, root: Path) -> Settings:
        for folder in (root, *root.parents):
            for name in CONFIG_NAMES:
                self._settings[folder / name] = _signature(folder / name)
        settings = load(root, _OVERRIDES, catalogue.rules())
        self._settings.update((path, _signature(path)) for path in settings.origins)
        return settings

    def _settings_changed(self) -> bool:
        return any(_signature(path) != known for path, known in self._settings.items())


def _signature(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file does; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
