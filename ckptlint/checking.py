"""The command ``check``: from options to an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ckptlint import catalogue
from ckptlint.config import ConfigError, Overrides, Settings, load
from ckptlint.discovery import Discovery, MissingPathError, discover
from ckptlint.engine import analyse
from ckptlint.finding import Applicability, Confidence
from ckptlint.report import concise, render, statistics
from ckptlint.report.styled import Piece, Screen
from ckptlint.report.summary import counted
from ckptlint.runner import Analyse, Mode, Report, Runner
from ckptlint.source import Source
from ckptlint.terminal import screen_of

CLEAN, FINDINGS, FAILED = 0, 1, 2


@dataclass(frozen=True)
class Invocation:
    """One call of ``ckptlint check``. ``stdin`` says that the path ``-`` was given."""

    paths: tuple[Path, ...]
    overrides: Overrides
    stdin: bool = False
    stdin_filename: Path | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    output_format: str | None = None
    output_file: Path | None = None
    statistics: bool = False
    exit_zero: bool = False
    cwd: Path = field(default_factory=Path.cwd)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Invocation:
        """Check that the options go together. Raises click.UsageError."""
        paths: tuple[str, ...] = options["paths"] or (".",)
        stdin = "-" in paths
        if stdin and len(paths) > 1:
            raise click.UsageError("standard input (-) is checked alone, not with other paths")
        if options["stdin_filename"] and not stdin:
            raise click.UsageError("--stdin-filename goes with the path -")
        if options["unsafe_fixes"] and not (options["fix"] or options["diff"]):
            raise click.UsageError("--unsafe-fixes goes with --fix or --diff")
        if options["diff"] and (options["output_format"] or options["statistics"]):
            raise click.UsageError("--diff prints a patch; it has no other format")
        if options["statistics"] and options["output_format"]:
            raise click.UsageError("--statistics prints counts; it has no other format")
        if options["config"] and options["isolated"]:
            raise click.UsageError("--isolated takes no settings; --config takes some")
        level = options["confidence"]
        overrides = Overrides(
            select=_codes(options["select"]) if options["select"] else None,
            extend_select=_codes(options["extend_select"]),
            ignore=_codes(options["ignore"]),
            confidence=Confidence(level) if level else None,
            include_tests=options["include_tests"],
            force_exclude=options["force_exclude"],
            config=options["config"] and options["config"].absolute(),
            isolated=options["isolated"],
        )
        return cls(
            paths=() if stdin else tuple(map(Path, paths)),
            overrides=overrides,
            stdin=stdin,
            **{
                name: options[name]
                for name in (
                    "stdin_filename",
                    "fix",
                    "unsafe_fixes",
                    "diff",
                    "output_format",
                    "output_file",
                    "statistics",
                    "exit_zero",
                )
            },
        )

    @property
    def mode(self) -> Mode:
        """What to do with fixes."""
        if not (self.fix or self.diff):
            return Mode()
        allowed = {Applicability.SAFE, *((Applicability.UNSAFE,) if self.unsafe_fixes else ())}
        return Mode(allowed=frozenset(allowed), write=not (self.diff or self.stdin))


def _codes(values: Iterable[str]) -> tuple[str, ...]:
    """Split what an option was given, perhaps several times, at commas."""
    listed = (code.strip() for value in values for code in value.split(","))
    return tuple(code for code in listed if code)


def run(invocation: Invocation, analysis: Analyse = analyse) -> int:
    """Check what was asked, print the report, return the exit status. Raises click.UsageError."""
    from ckptlint_rules import facts

    known = catalogue.rules()

    def settings_for(root: Path) -> Settings:
        return load(root, invocation.overrides, known)

    try:
        settings = settings_for(invocation.cwd)
        discovery, overlay = _find(invocation, settings_for)
    except (ConfigError, MissingPathError) as error:
        raise click.UsageError(str(error)) from error
    runner = Runner(invocation.cwd, facts(), invocation.mode, overlay, analysis)
    report = runner.run(discovery)
    _print(invocation, settings, report, overlay)
    return _status(invocation, report)


def _find(
    invocation: Invocation, settings_for: Callable[[Path], Settings]
) -> tuple[Discovery, dict[Path, bytes]]:
    """Find the files; standard input takes the place of the file that it belongs to."""
    if not invocation.stdin:
        found = discover([invocation.cwd / path for path in invocation.paths], settings_for)
        if not found.projects and not found.failures and not found.tests:
            click.echo("ckptlint: no Python files under the given paths", err=True)
        return found, {}
    name = invocation.stdin_filename or Path("stdin.py")
    path = Path(os.path.abspath(invocation.cwd / name))
    found = discover([path], settings_for, virtual=[path])
    return found, {path: sys.stdin.buffer.read()}


def _print(
    invocation: Invocation, settings: Settings, report: Report, overlay: Mapping[Path, bytes]
) -> None:
    for error in report.errors:
        click.echo(f"ckptlint: {error}", err=True)
    if invocation.diff:
        _print_patch(invocation, report)
        return
    to_stderr = False
    if invocation.stdin and invocation.fix:
        _write_bytes(None, _fixed_stdin(report, overlay))
        to_stderr = True
    stream = sys.stderr if to_stderr else sys.stdout
    screen = Screen() if invocation.output_file else screen_of(stream)
    if invocation.statistics:
        text = statistics.render(report, screen)
    else:
        name = invocation.output_format or settings.output_format or "full"
        text = render(report, name, screen)
    # A file name may hold bytes that are no text in any encoding.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if invocation.output_file:
        _write_bytes(invocation.output_file, text.encode("utf-8"))
    else:
        click.echo(text, nl=False, err=to_stderr, color=screen.colours is not None)


def _fixed_stdin(report: Report, overlay: Mapping[Path, bytes]) -> bytes:
    """Return the text of standard input after its fixes, which may be what it was."""
    changed = {after.path: after.data for _, after in report.changes}
    return b"".join(changed.get(path, data) for path, data in overlay.items())


def _print_patch(invocation: Invocation, report: Report) -> None:
    """Print the patch on standard output and all else on standard error."""
    _write_bytes(invocation.output_file, _patch(report.changes, screen_of(sys.stdout)))
    told: list[Piece] = []
    for finding in report.findings:
        if finding.code == catalogue.NOT_ANALYSED:
            told.extend(concise.line(finding))
    fixed, remaining = len(report.fixed), len(report.findings)
    told.append((f"Would fix {counted(fixed, 'finding')}; {remaining} would remain.\n", "strong"))
    screen = screen_of(sys.stderr)
    click.echo(screen.paint(told), nl=False, err=True, color=screen.colours is not None)


def _patch(changes: Iterable[tuple[Source, Source]], screen: Screen) -> bytes:
    from ckptlint.patch import patch

    data = patch(changes)
    if screen.colours is None:
        return data
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    return screen.paint((line, _role(line)) for line in lines).encode()


def _role(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "strong"
    return {"+": "added", "-": "removed", "@": "hunk"}.get(line[:1], "")


def _write_bytes(path: Path | None, data: bytes) -> None:
    """Write to a file, or to standard output. Raises click.UsageError."""
    if path is None:
        click.echo(data, nl=False)
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror}") from error


def _status(invocation: Invocation, report: Report) -> int:
    if report.incomplete:
        return FAILED
    found = report.findings or (invocation.diff and report.changes)
    return FINDINGS if found and not invocation.exit_zero else CLEAN
