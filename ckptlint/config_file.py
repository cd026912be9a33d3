"""One file of settings: reading it, finding it, and checking what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckptlint.catalogue import nearest
from ckptlint.choices import FORMATS, LEVELS
from ckptlint.facts import RECORDS, FactsError, FactSet, parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG_NAMES = (".ckptlint.toml", "ckptlint.toml", "pyproject.toml")
LISTS = ("select", "extend-select", "ignore", "exclude", "extend-exclude")
FLAGS = ("include-tests", "force-exclude")
PATHS = ("extend", "baseline")
WORDS: Mapping[str, tuple[object, ...]] = {
    "confidence": LEVELS,
    "output-format": FORMATS,
    "shared-filesystem": (True, False, "unknown"),
    "fix-style": ("plain", "runtime"),
}
_TABLES = ("framework", *RECORDS)
KEYS = (*PATHS, *LISTS, *FLAGS, *WORDS, "per-file-ignores", *_TABLES)


class ConfigError(Exception):
    """Settings that cannot be used; the text names the file and the key."""


@dataclass(frozen=True)
class ConfigFile:
    """What one file says; paths and patterns in it are relative to its folder."""

    path: Path
    table: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The folder that the file stands in."""
        return self.path.parent

    def named(self, key: str) -> Path | None:
        """The file that a key names, if it is set."""
        value = self.table.get(key)
        return None if value is None else self.folder / Path(value).expanduser()


def nearest_file(folder: Path) -> ConfigFile | None:
    """Return the nearest file, upwards, that speaks of ckptlint. Raises ConfigError."""
    for parent in (folder, *folder.parents):
        for name in CONFIG_NAMES:
            path = parent / name
            if path.is_file():
                found = _read(path)
                if found is not None:
                    return found
    return None


def named_file(path: Path) -> ConfigFile:
    """Return the settings of a file that was named. Raises ConfigError."""
    found = _read(path)
    if found is None:
        raise ConfigError(f"{path}: has no table [tool.ckptlint]")
    return found


def with_extended(file: ConfigFile) -> Iterator[ConfigFile]:
    """Yield the files that a file extends, the farthest first, and the file itself.

    Raises ConfigError for a file that is missing, or that extends itself in the end.
    """
    chain = [file]
    while (path := chain[-1].named("extend")) is not None:
        if not path.is_file():
            raise ConfigError(f"{chain[-1].path}: extend: there is no file {path}")
        seen = [each.path.resolve() for each in chain]
        if path.resolve() in seen:
            names = " → ".join(str(each.path) for each in chain)
            raise ConfigError(f"{file.path}: extends itself: {names} → {path}")
        chain.append(named_file(path))
    return reversed(chain)


def _read(path: Path) -> ConfigFile | None:
    """Read one file; None for a pyproject.toml that does not speak of ckptlint."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: {reason}") from error
    table: Any = document
    if path.name == "pyproject.toml":
        tools = document.get("tool", {})
        table = tools.get("ckptlint") if isinstance(tools, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: tool.ckptlint must be a table")
    _check(table, str(path))
    return ConfigFile(path, table)


def _check(table: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if key not in KEYS:
            meant = nearest(key.replace("_", "-"), KEYS)
            hint = f"; did you mean {meant!r}?" if meant else f"; known keys: {', '.join(KEYS)}"
            raise ConfigError(f"{where}: unknown key {key!r}{hint}")
        if key in PATHS and not isinstance(value, str):
            raise ConfigError(f"{where}: {key} must be the name of a file")
        if key in LISTS and not _strings(value):
            raise ConfigError(f"{where}: {key} must be a list of strings")
        if key in FLAGS and not isinstance(value, bool):
            raise ConfigError(f"{where}: {key} must be true or false")
        if key in WORDS and spelled(value) not in map(spelled, WORDS[key]):
            words = ", ".join(map(spelled, WORDS[key]))
            meant = nearest(str(value).lower(), map(str, WORDS[key]))
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise ConfigError(f"{where}: {key} is {spelled(value)}; one of {words}{hint}")
    ignores = table.get("per-file-ignores", {})
    if not isinstance(ignores, dict) or not all(_strings(codes) for codes in ignores.values()):
        raise ConfigError(f"{where}: per-file-ignores must map patterns to lists of codes")


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def spelled(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def own_facts(file: ConfigFile) -> FactSet:
    """Read a project's own records; it need not say where it knows them from.

    Raises ConfigError.
    """
    where, table = str(file.path), file.table
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
