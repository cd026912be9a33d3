"""What a project shows of itself: the releases it pins and the backends it uses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ckptlint.facts import FactSet, Framework
from ckptlint.knowledge import Knowledge
from ckptlint.source import Source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_REQUIREMENT = re.compile(
    r"""^\s*["']?([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*((?:[=<>!~]=?=?\s*[0-9][^,;"'\#\s]*\s*,?\s*)+)"""
)
_QUOTED = re.compile(r"""["']([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*[=<>!~][^"']*)["']""")
_LOCKED = re.compile(
    r"""^name\s*=\s*["']([^"']+)["']\s*\n(?:.*\n)??version\s*=\s*["']([^"']+)["']""", re.M
)
_LOCKS = ("poetry.lock", "uv.lock", "pdm.lock")
_ENVIRONMENTS = ("environment.yml", "environment.yaml", "conda.yml", "conda.yaml")
_SETUPS = ("setup.py", "setup.cfg")
_SETTINGS = ("*.yaml", "*.yml", "*.json")
_SETTINGS_FOLDERS = ("", "config", "configs", "conf", "accelerate_configs", "deepspeed")
_MAX_SETTINGS = 200
_MAX_BYTES = 512 * 1024


def inputs(root: Path) -> list[Path]:
    """Return the files that the evidence is taken from, beside the sources; some may not exist."""
    named = (root / name for name in (*_LOCKS, *_ENVIRONMENTS, *_SETUPS, "pyproject.toml"))
    return [*named, *_requirement_files(root), *islice(_settings_files(root), _MAX_SETTINGS)]


def pinned(root: Path, facts: FactSet) -> dict[str, str]:
    """Return the release of each framework that the project's requirement files allow.

    The newest release that all specifiers admit is taken; a framework that is not mentioned, or
    for which nothing known is admitted, is left out. Reads lock files first, since they are exact.
    """
    wanted: dict[str, list[str]] = {}
    for name, specifier in _specifiers(root):
        wanted.setdefault(_normal(name), []).append(specifier)
    versions: dict[str, str] = {}
    for framework in facts.frameworks:
        release = _release(framework, wanted)
        if release is not None:
            versions[framework.name] = release
    return versions


def _release(framework: Framework, wanted: Mapping[str, list[str]]) -> str | None:
    specifiers = [s for name in framework.distributions for s in wanted.get(_normal(name), ())]
    if not specifiers:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    for text in specifiers:  # an exact pin is the release itself
        match = re.fullmatch(r"\s*===?\s*([0-9][0-9A-Za-z.]*)\s*,?\s*", text)
        if match and "*" not in text:
            return match.group(1)
    try:
        allowed = SpecifierSet(",".join(text.strip(" ,") for text in specifiers))
    except InvalidSpecifier:
        return None
    admitted = [
        release for release in framework.releases if allowed.contains(release, prereleases=True)
    ]
    return admitted[-1] if admitted else None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _specifiers(root: Path) -> Iterator[tuple[str, str]]:
    """Yield distribution names and version specifiers from every file that may hold them."""
    for name in _LOCKS:
        text = _read(root / name)
        if text:
            yield from ((n, f"=={v}") for n, v in _LOCKED.findall(text))
    for path in _requirement_files(root):
        for line in _read(path).splitlines():
            yield from _requirement(line)
    for name in _ENVIRONMENTS:
        for line in _read(root / name).splitlines():
            yield from _requirement(line.strip().removeprefix("-"))
    for name in _SETUPS:
        text = _read(root / name)
        for quoted in _QUOTED.findall(text):
            yield from _requirement(quoted)
        if name == "setup.cfg":
            for line in text.splitlines():
                yield from _requirement(line)
    yield from _pyproject(_read(root / "pyproject.toml"))


def _requirement_files(root: Path) -> list[Path]:
    return [*root.glob("*requirements*.txt"), *root.glob("requirements/*.txt")]


def _requirement(text: str) -> Iterator[tuple[str, str]]:
    match = _REQUIREMENT.match(text)
    if match:
        specifier = match.group(2).strip(" ,")
        if re.match(r"=[^=]", specifier):
            specifier = f"={specifier}"  # conda writes one sign
        yield match.group(1), specifier


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    project = table.get("project", {})
    lists = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    lists += list(table.get("dependency-groups", {}).values())
    for requirements in lists:
        for requirement in requirements:
            if isinstance(requirement, str):
                yield from _requirement(requirement)
    poetry = table.get("tool", {}).get("poetry", {})
    for name, wanted in poetry.get("dependencies", {}).items():
        version = wanted.get("version", "") if isinstance(wanted, dict) else wanted
        if isinstance(version, str) and version not in ("", "*"):
            yield name, _from_poetry(version)


def _from_poetry(version: str) -> str:
    """Turn ``^1.2`` and a bare ``1.2`` into specifiers."""
    if version[:1] == "^":
        head = version[1:].split(".")
        if head[0] == "0" and len(head) > 1:
            return f">={version[1:]},<0.{int(head[1]) + 1}" if head[1].isdigit() else ">=0"
        return f">={version[1:]},<{int(head[0]) + 1}" if head[0].isdigit() else ">=0"
    return f"=={version}" if version[:1].isdigit() else version


def _read(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > 8 * _MAX_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class Marks:
    """What shows a backend in code, or in a file of settings."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._backends: dict[bytes, set[str]] = {}
        for evidence in knowledge.evidence:
            for name in evidence.names:
                mark = name.rpartition(".")[2].encode()
                self._backends.setdefault(mark, set()).add(evidence.backend)
            for text in evidence.text:
                self._backends.setdefault(text.encode(), set()).add(evidence.backend)
        marks = sorted(self._backends, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, marks)) if marks else rb"(?!)")

    def of(self, data: bytes) -> frozenset[str]:
        """Return the backends that a text shows."""
        found = set(self._pattern.findall(data))
        return frozenset(backend for mark in found for backend in self._backends[mark])

    def in_settings(self, root: Path) -> frozenset[str]:
        """Return the backends that the files of settings of a project show."""
        return frozenset[str]().union(*map(self.of, _settings(root)))


def backends(root: Path, sources: Iterable[Source], knowledge: Knowledge) -> frozenset[str]:
    """Return the backends that the project's code or settings files show."""
    marks = Marks(knowledge)
    return marks.in_settings(root).union(*(marks.of(source.code) for source in sources))


def _settings(root: Path) -> Iterator[bytes]:
    for path in islice(_settings_files(root), _MAX_SETTINGS):
        try:
            if path.stat().st_size <= _MAX_BYTES:
                yield path.read_bytes()
        except OSError:
            continue


def _settings_files(root: Path) -> Iterator[Path]:
    for folder in _SETTINGS_FOLDERS:
        for glob in _SETTINGS:
            yield from sorted((root / folder).glob(glob))
