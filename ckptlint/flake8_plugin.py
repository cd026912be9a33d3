"""The flake8 plugin.

flake8 hands over one file at a time, in several processes; the project around a file is analysed
once in each process and remembered. Which codes are shown is flake8's business: every rule runs
that the project's own settings do not ignore. Those that are off by default are in flake8's
default ignore list, and since ``ignore`` in somebody's settings replaces that list, they run only
when a selection names them. ``# noqa`` is left to flake8; our own comments and the baseline of the
project's settings are heeded here.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ckptlint import __version__, catalogue
from ckptlint.config import Overrides, Settings, load
from ckptlint.discovery import Discovery, ProjectFiles, discover
from ckptlint.facts import FactSet
from ckptlint.finding import Finding
from ckptlint.project import display_path
from ckptlint.rule import Rule
from ckptlint.runner import Mode, Report, Runner
from ckptlint.source import Source, SourceError
from ckptlint.walk import is_root, project_root

Problem = tuple[int, int, str, type[Any]]


class Plugin:
    """What flake8 instantiates for each file."""

    name = "ckptlint"
    version = __version__
    named: tuple[str, ...] = ()  # the codes, or their beginnings, that flake8 was told to select

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._path = Path(os.path.abspath(filename))
        self._text = "".join(lines)

    @classmethod
    def add_options(cls, manager: Any) -> None:
        """Tell flake8 which codes are off unless they are selected."""
        rules = catalogue.rules().values()
        manager.extend_default_ignore([rule.code for rule in rules if not rule.default])

    @classmethod
    def parse_options(cls, options: Any) -> None:
        """Learn which codes are selected by name."""
        cls.named = (*(options.select or ()), *(options.extend_select or ()))

    def run(self) -> Iterator[Problem]:
        """Yield the findings of the file: line (from 1), column (from 0), text and type."""
        for finding in self._findings():
            text = f"{finding.code} {finding.message}"
            yield finding.span.line, finding.span.column - 1, text, type(self)

    def _findings(self) -> Iterator[Finding]:
        name = display_path(self._path, Path.cwd())
        root = project_root(str(self._path.parent))
        report = _project(root) if is_root(root) else Report()
        source = report.sources.get(name)
        if source is None or not _same(source, self._text):
            report = _single(self._path, self._text)
        return (finding for finding in report.new if finding.span.path == name)


@cache
def _project(root: str) -> Report:
    """Analyse all files of the project with this root, tests too: flake8 chose what to show."""
    found = discover([Path(root)], _settings_for)
    projects = tuple(
        ProjectFiles(Path(root), project.settings, (*project.asked, *project.around), ())
        for project in found.projects
        if project.root == Path(root)
    )
    return _runner().run(Discovery(projects))


def _single(path: Path, text: str) -> Report:
    """Analyse one file with its project: its text is not that on disk (standard input), or no
    marker says how far the project reaches."""
    found = discover([path], _settings_for, virtual=[path])
    return _runner({path: text.encode()}).run(found)


def _runner(overlay: Mapping[Path, bytes] | None = None) -> Runner:
    return Runner(Path.cwd(), _facts, Mode(offer=False), overlay or {}, noqa=False)


def _settings_for(root: Path) -> Settings:
    return load(root, Overrides(), _rules())


@cache
def _rules() -> Mapping[str, Rule]:
    """Return the rules, on by default when they are or when flake8 selects them by name."""
    return {
        code: replace(rule, default=rule.default or code.startswith(Plugin.named))
        for code, rule in catalogue.rules().items()
    }


@cache
def _facts() -> FactSet:
    from ckptlint_rules import facts

    return facts()


def _same(source: Source, text: str) -> bool:
    """Say whether a text is that of a source; flake8 has made every line end a line feed."""
    try:
        known = source.text
    except SourceError:
        return False
    return known.replace("\r\n", "\n").replace("\r", "\n") == text
