"""The settings that hold, in the words of a settings file: ``ckptlint check --show-settings``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ckptlint.config import Globs, Settings
from ckptlint.config_file import spelled
from ckptlint.discovery import Discovery
from ckptlint.project import display_path
from ckptlint.report.summary import counted


def shown(discovery: Discovery, settings: Settings, cwd: Path) -> str:
    """Write the settings of each project that was found; without one those of ``cwd``."""
    projects = [(each.root, each.settings, len(each.asked)) for each in discovery.projects]
    parts = (_project(*each, cwd) for each in projects or [(cwd, settings, 0)])
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts)


def _project(root: Path, settings: Settings, files: int, cwd: Path) -> Iterator[str]:
    origins = [display_path(path, cwd) for path in reversed(settings.origins)]
    yield f"# {root}: {counted(files, 'file')} to check"
    yield f"# settings from {' which extends '.join(origins) if origins else 'no file'}"
    yield f"select = {_listed(sorted(settings.codes))}"
    yield f"confidence = {spelled(settings.confidence.value)}"
    yield f"include-tests = {spelled(settings.include_tests)}"
    yield f"force-exclude = {spelled(settings.force_exclude)}"
    if settings.exclude is None:
        yield "# exclude: the built-in list of folders that hold no code of the project's own"
    else:
        yield from _globs("exclude", [settings.exclude], root)
    yield from _globs("extend-exclude", settings.extend_exclude, root)
    if settings.baseline is not None:
        yield f"baseline = {_text(display_path(settings.baseline, cwd))}"
    yield f"output-format = {spelled(settings.output_format or 'full')}"
    shared = settings.shared_filesystem
    yield f"shared-filesystem = {spelled('unknown' if shared is None else shared)}"
    yield f"fix-style = {spelled(settings.fix_style)}"
    if settings.facts.records:
        yield f"# and {counted(len(settings.facts.records), 'fact')} of the project's own"
    if settings.per_file_ignores:
        yield ""
        yield "[per-file-ignores]"
    for ignores in settings.per_file_ignores:
        codes = _listed(sorted(ignores.codes))
        yield f"{_text(ignores.pattern)} = {codes}{_below(ignores.base, root)}"


def _globs(key: str, globs: Sequence[Globs], root: Path) -> Iterator[str]:
    for each in globs:
        yield f"{key} = {_listed(each.lines)}{_below(each.base, root)}"


def _below(base: Path, root: Path) -> str:
    """Say what patterns are relative to, where that is not the project itself."""
    return "" if base == root else f"  # below {base}"


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
