"""What ``ckptlint check`` prints: the report, or a patch, or the text of standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from ckptlint import atomic, catalogue
from ckptlint.invocation import Invocation
from ckptlint.report import concise, render, statistics
from ckptlint.report.styled import Piece, Screen
from ckptlint.report.summary import counted
from ckptlint.runner import Report
from ckptlint.source import Source
from ckptlint.terminal import screen_of


class Failure(click.ClickException):
    """What is asked cannot be done; the text says why, and what to do."""

    exit_code = 2


def check_place(path: Path | None) -> None:
    """See before a long run that its report can be written. Raises Failure."""
    if path is None:
        return
    if not path.exists() and not path.absolute().parent.is_dir():
        raise Failure(f"cannot write {path}: make the folder first")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise Failure(f"cannot write {path}: you may not write there")


def show(
    invocation: Invocation, output_format: str, report: Report, overlay: Mapping[Path, bytes]
) -> None:
    """Print what was asked for. Raises Failure when it cannot be written."""
    for error in report.errors:
        tell(error)
    if invocation.diff:
        _show_patch(invocation, report)
        return
    to_stderr = False
    if invocation.stdin and invocation.mode.allowed:
        _write(None, _changed_stdin(report, overlay))
        to_stderr = True
    stream = sys.stderr if to_stderr else sys.stdout
    screen = Screen() if invocation.output_file else screen_of(stream)
    if invocation.statistics:
        text = statistics.render(report, screen)
    else:
        text = render(report, output_format, screen)
    # A file name may hold bytes that are no text in any encoding.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if invocation.output_file:
        _write(invocation.output_file, text.encode("utf-8"))
    else:
        click.echo(text, nl=False, err=to_stderr, color=screen.colours is not None)


def tell(message: str) -> None:
    """Say something beside the report, which programs read."""
    click.echo(f"ckptlint: {message}", err=True)


def _changed_stdin(report: Report, overlay: Mapping[Path, bytes]) -> bytes:
    """Return the text of standard input after its fixes, which may be what it was."""
    changed = {after.path: after.data for _, after in report.changes}
    return b"".join(changed.get(path, data) for path, data in overlay.items())


def _show_patch(invocation: Invocation, report: Report) -> None:
    """Print the patch on standard output and all else on standard error."""
    _write(invocation.output_file, _patch(report.changes, screen_of(sys.stdout)))
    told: list[Piece] = []
    for finding in report.new:
        if finding.code == catalogue.NOT_ANALYSED:
            told.extend(concise.line(finding))
    verb = "silence" if invocation.add_ignore else "fix"
    done = len(report.silenced) + len(report.fixed)
    what = f"Would {verb} {counted(done, 'finding')}; {len(report.new)} would remain.\n"
    told.append((what, "strong"))
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


def _write(path: Path | None, data: bytes) -> None:
    """Write to a file at once, or to standard output. Raises Failure."""
    if path is None:
        click.echo(data, nl=False)
        return
    try:
        atomic.replace(str(path), data)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from error
