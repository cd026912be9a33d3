"""The command ``check``: from options to an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import click

from ckptlint import baseline, catalogue
from ckptlint.baseline import BaselineError, Comparison
from ckptlint.config import ConfigError, Settings, load
from ckptlint.discovery import Discovery, MissingPathError, discover
from ckptlint.finding import Finding
from ckptlint.invocation import Invocation
from ckptlint.output import Failure, check_place, show, tell
from ckptlint.report.summary import counted
from ckptlint.request import ProcessLostError, Request
from ckptlint.runner import Analyse, Report, Runner
from ckptlint.settings_shown import shown
from ckptlint.terminal import progress
from ckptlint.trace.picture import Pictures

CLEAN, FINDINGS, FAILED = 0, 1, 2

__all__ = ["Invocation", "run"]


def run(invocation: Invocation, analysis: Analyse | None = None) -> int:
    """Check what was asked, print the report, return the exit status. Raises Failure.

    With an ``analysis`` of its own nothing is kept on disk.
    """
    from ckptlint_rules import facts

    known = catalogue.rules()

    def settings_for(root: Path) -> Settings:
        return load(root, invocation.overrides, known)

    check_place(invocation.output_file)
    try:
        settings = settings_for(invocation.cwd)
        discovery, overlay = _find(invocation, settings_for)
        if invocation.show_settings:
            click.echo(shown(discovery, settings, invocation.cwd), nl=False)
            return CLEAN
        _check_baselines(invocation, discovery)
        with progress(sum(len(project.asked) for project in discovery.projects)):
            runner = Runner(
                invocation.cwd,
                cache(facts),
                invocation.mode,
                overlay,
                draw=_pictures if _format(invocation, settings) == "html" else None,
                cached=not invocation.no_cache,
                jobs=invocation.jobs or _processors(),
            )
            if analysis is not None:
                runner = replace(runner, analyse=analysis, cached=False)
            report = runner.run(discovery)
        if invocation.update_baseline:
            report = _updated(report)
        if invocation.add_ignore:
            _tell_unsilenced(report)
    except (ConfigError, MissingPathError, BaselineError, ProcessLostError) as error:
        raise Failure(str(error)) from error
    show(invocation, _format(invocation, settings), report, overlay)
    return _status(invocation, report)


def _processors() -> int:
    """Return how many processes can run at once: a container may have less than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _find(
    invocation: Invocation, settings_for: Callable[[Path], Settings]
) -> tuple[Discovery, dict[Path, bytes]]:
    """Find the files; standard input takes the place of the file that it belongs to."""
    if not invocation.stdin:
        found = discover([invocation.cwd / path for path in invocation.paths], settings_for)
        if not found.projects and not found.failures and not found.tests:
            tell("no Python files under the given paths")
        return found, {}
    name = invocation.stdin_filename or Path("stdin.py")
    path = Path(os.path.abspath(invocation.cwd / name))
    found = discover([path], settings_for, virtual=[path])
    return found, {path: sys.stdin.buffer.read()}


def _format(invocation: Invocation, settings: Settings) -> str:
    """Return the format of the report; a patch and the statistics use none."""
    if invocation.diff or invocation.statistics:
        return "full"
    return invocation.output_format or settings.output_format or "full"


def _pictures(request: Request, findings: Sequence[Finding]) -> Pictures:
    from ckptlint.trace.gallery import pictures

    return pictures(request, findings)


def _check_baselines(invocation: Invocation, discovery: Discovery) -> None:
    """Raise BaselineError when a baseline is to be written and nothing says where."""
    named = any(project.settings.baseline for project in discovery.projects)
    if invocation.update_baseline and discovery.projects and not named:
        raise BaselineError(
            "--update-baseline needs a file: give --baseline FILE, or set baseline in the settings"
        )


def _updated(report: Report) -> Report:
    """Write the baselines; what then remains to be told is what none of them may hold."""
    findings = list(report.findings)
    accepted: list[Comparison] = []
    for comparison in report.comparisons:
        new = comparison.accepted()
        baseline.write(new.baseline)
        added, removed = len(new.known - comparison.known), sum(comparison.stale.values())
        size = counted(sum(new.baseline.counts.values()), "finding")
        tell(f"{new.baseline.path} holds {size} ({added} added, {removed} removed)")
        compared = set(comparison.marked)
        findings = [finding for finding in findings if finding not in compared]
        findings += new.marked
        accepted.append(new)
    findings.sort(key=lambda finding: finding.sort_key)
    return replace(report, findings=tuple(findings), comparisons=tuple(accepted))


def _tell_unsilenced(report: Report) -> None:
    for finding in report.new:
        if finding.code not in (catalogue.NOT_ANALYSED, catalogue.UNUSED_SUPPRESSION):
            place = f"{finding.span.name}:{finding.span.line}"
            tell(f"{place}: {finding.code} is not silenced: the file cannot hold the comment")


def _status(invocation: Invocation, report: Report) -> int:
    if report.incomplete:
        return FAILED
    found = report.new or (invocation.diff and report.changes)
    return FINDINGS if found and not invocation.exit_zero else CLEAN
