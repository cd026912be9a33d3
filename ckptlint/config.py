"""Settings: what ``pyproject.toml`` or ``ckptlint.toml`` say, and what the command line overrides.

The nearest file above a project that speaks of ckptlint holds for it; a ``pyproject.toml`` without
the table ``[tool.ckptlint]`` is passed over, so that a package in a larger repository takes the
settings of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ckptlint.catalogue import Layer, UnknownCodeError, choose, expand, nearest
from ckptlint.choices import FORMATS, LEVELS
from ckptlint.facts import RECORDS, FactsError, FactSet, parse
from ckptlint.finding import Confidence
from ckptlint.rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG_NAMES = (".ckptlint.toml", "ckptlint.toml", "pyproject.toml")
FixStyle = Literal["plain", "runtime"]

_LISTS = ("select", "extend-select", "ignore", "exclude", "extend-exclude")
_FLAGS = ("include-tests", "force-exclude")
_WORDS: Mapping[str, tuple[object, ...]] = {
    "confidence": LEVELS,
    "output-format": FORMATS,
    "shared-filesystem": (True, False, "unknown"),
    "fix-style": ("plain", "runtime"),
}
_TABLES = ("framework", *RECORDS)
KEYS = (*_LISTS, *_FLAGS, *_WORDS, "per-file-ignores", *_TABLES)


class ConfigError(Exception):
    """Settings that cannot be used; the text names the file and the key."""


@dataclass(frozen=True)
class Overrides:
    """What the command line says, and where it says to look. None or empty: it does not say."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    confidence: Confidence | None = None
    include_tests: bool = False
    force_exclude: bool = False
    config: Path | None = None
    isolated: bool = False


@dataclass(frozen=True)
class Settings:
    """The settings of one project.

    ``base`` is the folder that patterns are relative to; ``origin`` the file they came from.
    ``codes`` are the rules that are on. ``exclude`` replaces the built-in list of folders when it
    is not None. ``shared_filesystem`` is None where it is not known whether nodes share one.
    """

    base: Path
    origin: Path | None = None
    codes: frozenset[str] = frozenset()
    confidence: Confidence = Confidence.LIKELY
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    include_tests: bool = False
    force_exclude: bool = False
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    output_format: str | None = None
    shared_filesystem: bool | None = None
    fix_style: FixStyle = "plain"
    facts: FactSet = field(default_factory=FactSet)


def load(folder: Path, overrides: Overrides, known: Mapping[str, Rule]) -> Settings:
    """Return the settings that hold in ``folder``. Raises ConfigError."""
    if overrides.isolated:
        return _settings({}, folder, None, overrides, known)
    if overrides.config is not None:
        path = overrides.config
        table = _table(path)
        if table is None:
            raise ConfigError(f"{path}: has no table [tool.ckptlint]")
        return _settings(table, path.parent, path, overrides, known)
    for parent in (folder, *folder.parents):
        for name in CONFIG_NAMES:
            path = parent / name
            if path.is_file():
                table = _table(path)
                if table is not None:
                    return _settings(table, parent, path, overrides, known)
    return _settings({}, folder, None, overrides, known)


def _table(path: Path) -> dict[str, Any] | None:
    """Read the settings of one file; None for a pyproject.toml that does not speak of ckptlint."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: {reason}") from error
    if path.name != "pyproject.toml":
        return document
    tools = document.get("tool", {})
    table = tools.get("ckptlint") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.ckptlint must be a table")
    return table


def _settings(
    table: Mapping[str, Any],
    base: Path,
    origin: Path | None,
    overrides: Overrides,
    known: Mapping[str, Rule],
) -> Settings:
    where = str(origin)
    _check_keys(table, where)
    layer = Layer(
        tuple(table["select"]) if "select" in table else None,
        tuple(table.get("extend-select", ())),
        tuple(table.get("ignore", ())),
    )
    try:
        choose([layer], known)
    except UnknownCodeError as error:
        raise ConfigError(f"{where}: {error}") from error
    spoken = Layer(overrides.select, overrides.extend_select, overrides.ignore)
    try:
        codes = choose([layer, spoken], known)
    except UnknownCodeError as error:
        raise ConfigError(str(error)) from error
    shared = table.get("shared-filesystem", "unknown")
    return Settings(
        base=base,
        origin=origin,
        codes=codes,
        confidence=overrides.confidence or Confidence(table.get("confidence", "likely")),
        exclude=tuple(table["exclude"]) if "exclude" in table else None,
        extend_exclude=tuple(table.get("extend-exclude", ())),
        include_tests=overrides.include_tests or table.get("include-tests", False),
        force_exclude=overrides.force_exclude or table.get("force-exclude", False),
        per_file_ignores=_per_file_ignores(table.get("per-file-ignores", {}), where, known),
        output_format=table.get("output-format"),
        shared_filesystem=None if shared == "unknown" else shared,
        fix_style=table.get("fix-style", "plain"),
        facts=_facts(table, where),
    )


def _check_keys(table: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if key not in KEYS:
            meant = nearest(key.replace("_", "-"), KEYS)
            hint = f"; did you mean {meant!r}?" if meant else f"; known keys: {', '.join(KEYS)}"
            raise ConfigError(f"{where}: unknown key {key!r}{hint}")
        if key in _LISTS and not _strings(value):
            raise ConfigError(f"{where}: {key} must be a list of strings")
        if key in _FLAGS and not isinstance(value, bool):
            raise ConfigError(f"{where}: {key} must be true or false")
        if key in _WORDS and _spelled(value) not in map(_spelled, _WORDS[key]):
            words = ", ".join(map(_spelled, _WORDS[key]))
            raise ConfigError(f"{where}: {key} is {_spelled(value)}; one of {words}")


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _spelled(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _per_file_ignores(
    table: object, where: str, known: Mapping[str, Rule]
) -> tuple[tuple[str, frozenset[str]], ...]:
    if not isinstance(table, dict) or not all(_strings(codes) for codes in table.values()):
        raise ConfigError(f"{where}: per-file-ignores must map patterns to lists of codes")
    try:
        return tuple(
            (pattern, frozenset().union(*(expand(code, known) for code in codes)))
            for pattern, codes in table.items()
        )
    except UnknownCodeError as error:
        raise ConfigError(f"{where}: per-file-ignores: {error}") from error


def _facts(table: Mapping[str, Any], where: str) -> FactSet:
    """Read a project's own records; it need not say where it knows them from."""
    own: dict[str, Any] = {}
    for key in (name for name in _TABLES if name in table):
        entries = table[key]
        if key == "framework":
            own[key] = entries
            continue
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ConfigError(f"{where}: [tool.ckptlint.{key}] must be written [[...]]")
        sourced = "source" in RECORDS[key].__dataclass_fields__
        own[key] = [{"source": "project settings", **e} if sourced else e for e in entries]
    try:
        return parse(own, where)
    except FactsError as error:
        raise ConfigError(str(error)) from error
