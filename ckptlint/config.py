"""Settings: what ``pyproject.toml`` or ``ckptlint.toml`` say, and what the command line overrides.

The nearest file above a project that speaks of ckptlint holds for it; a ``pyproject.toml`` without
the table ``[tool.ckptlint]`` is passed over, so that a package in a larger repository takes the
settings of the repository. A file may extend another one, of which it then overrides what it says
itself; excluded files, ignores of files and facts of both hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ckptlint.catalogue import Layer, UnknownCodeError, choose, expand
from ckptlint.config_file import (
    ConfigError,
    ConfigFile,
    named_file,
    nearest_file,
    own_facts,
    with_extended,
)
from ckptlint.facts import FactSet
from ckptlint.finding import Confidence
from ckptlint.rule import Rule

FixStyle = Literal["plain", "runtime"]

__all__ = ["ConfigError", "FileIgnores", "Globs", "Overrides", "Settings", "load"]


@dataclass(frozen=True)
class Overrides:
    """What the command line says, and where it says to look. None or empty: it does not say."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    confidence: Confidence | None = None
    include_tests: bool = False
    force_exclude: bool = False
    baseline: Path | None = None
    no_baseline: bool = False
    config: Path | None = None
    isolated: bool = False


@dataclass(frozen=True)
class Globs:
    """Patterns in the language of ``.gitignore``, relative to the folder ``base``."""

    base: Path
    lines: tuple[str, ...]


@dataclass(frozen=True)
class FileIgnores:
    """Rules that are off in the files of a pattern, which is relative to the folder ``base``."""

    base: Path
    pattern: str
    codes: frozenset[str]


@dataclass(frozen=True)
class Settings:
    """The settings of one project.

    ``origins`` are the files they came from, the farthest first. ``codes`` are the rules that are
    on. ``exclude`` replaces the built-in list of folders when it is not None.
    ``shared_filesystem`` is None where it is not known whether nodes share one.
    """

    origins: tuple[Path, ...] = ()
    codes: frozenset[str] = frozenset()
    confidence: Confidence = Confidence.LIKELY
    exclude: Globs | None = None
    extend_exclude: tuple[Globs, ...] = ()
    include_tests: bool = False
    force_exclude: bool = False
    per_file_ignores: tuple[FileIgnores, ...] = ()
    baseline: Path | None = None
    output_format: str | None = None
    shared_filesystem: bool | None = None
    fix_style: FixStyle = "plain"
    facts: FactSet = field(default_factory=FactSet)


def load(folder: Path, overrides: Overrides, known: Mapping[str, Rule]) -> Settings:
    """Return the settings that hold in ``folder``. Raises ConfigError."""
    if overrides.isolated:
        file = None
    elif overrides.config is not None:
        file = named_file(overrides.config)
    else:
        file = nearest_file(folder)
    files = [] if file is None else list(with_extended(file))
    return _settings(files, overrides, known)


def _settings(
    files: Sequence[ConfigFile], overrides: Overrides, known: Mapping[str, Rule]
) -> Settings:
    merged: dict[str, Any] = {}
    for file in files:
        merged.update(file.table)
    shared = merged.get("shared-filesystem", "unknown")
    return Settings(
        origins=tuple(file.path for file in files),
        codes=_codes(files, overrides, known),
        confidence=overrides.confidence or Confidence(merged.get("confidence", "likely")),
        exclude=next(reversed([*_globs(files, "exclude")]), None),
        extend_exclude=tuple(_globs(files, "extend-exclude")),
        include_tests=overrides.include_tests or merged.get("include-tests", False),
        force_exclude=overrides.force_exclude or merged.get("force-exclude", False),
        per_file_ignores=tuple(ignores for file in files for ignores in _file_ignores(file, known)),
        baseline=_baseline(files, overrides),
        output_format=merged.get("output-format"),
        shared_filesystem=None if shared == "unknown" else shared,
        fix_style=merged.get("fix-style", "plain"),
        facts=sum(map(own_facts, files), FactSet()),
    )


def _codes(
    files: Sequence[ConfigFile], overrides: Overrides, known: Mapping[str, Rule]
) -> frozenset[str]:
    layers: list[Layer] = []
    for file in files:
        table = file.table
        layers.append(
            Layer(
                tuple(table["select"]) if "select" in table else None,
                tuple(table.get("extend-select", ())),
                tuple(table.get("ignore", ())),
            )
        )
        try:
            choose(layers, known)
        except UnknownCodeError as error:
            raise ConfigError(f"{file.path}: {error}") from error
    layers.append(Layer(overrides.select, overrides.extend_select, overrides.ignore))
    try:
        return choose(layers, known)
    except UnknownCodeError as error:
        raise ConfigError(str(error)) from error


def _globs(files: Sequence[ConfigFile], key: str) -> Iterable[Globs]:
    return (Globs(file.folder, tuple(file.table[key])) for file in files if key in file.table)


def _file_ignores(file: ConfigFile, known: Mapping[str, Rule]) -> Iterable[FileIgnores]:
    try:
        for pattern, codes in file.table.get("per-file-ignores", {}).items():
            named = frozenset().union(*(expand(code, known) for code in codes))
            yield FileIgnores(file.folder, pattern, named)
    except UnknownCodeError as error:
        raise ConfigError(f"{file.path}: per-file-ignores: {error}") from error


def _baseline(files: Sequence[ConfigFile], overrides: Overrides) -> Path | None:
    if overrides.no_baseline:
        return None
    named = [path for file in files if (path := file.named("baseline")) is not None]
    return overrides.baseline or next(reversed(named), None)
