"""One call of ``ckptlint check``: the options, and whether they go together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import click

from ckptlint.config import Overrides
from ckptlint.finding import Applicability, Confidence
from ckptlint.runner import Mode
from ckptlint.silence import refused


@dataclass(frozen=True)
class Invocation:
    """What is to be done. ``stdin`` says that the path ``-`` was given; ``add_ignore`` holds the
    reason for the comments to be written, or nothing."""

    paths: tuple[Path, ...]
    overrides: Overrides
    stdin: bool = False
    stdin_filename: Path | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    add_ignore: str = ""
    update_baseline: bool = False
    output_format: str | None = None
    output_file: Path | None = None
    statistics: bool = False
    show_settings: bool = False
    no_cache: bool = False
    jobs: int | None = None
    exit_zero: bool = False
    cwd: Path = field(default_factory=Path.cwd)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Invocation:
        """Check that the options go together. Raises click.UsageError."""
        paths: tuple[str, ...] = options["paths"] or (".",)
        stdin = "-" in paths
        for reason in _contradictions(options, stdin):
            raise click.UsageError(reason)
        own = {each.name for each in fields(cls)} & options.keys() - {"paths"}
        return cls(
            paths=() if stdin else tuple(map(Path, paths)),
            overrides=_overrides(options),
            stdin=stdin,
            **{name: options[name] for name in own},
        )

    @property
    def mode(self) -> Mode:
        """What to do with fixes."""
        if not (self.fix or self.diff or self.add_ignore):
            return Mode(update=self.update_baseline)
        unsafe = self.unsafe_fixes and not self.add_ignore
        allowed = {Applicability.SAFE, *((Applicability.UNSAFE,) if unsafe else ())}
        return Mode(
            allowed=frozenset(allowed),
            write=not (self.diff or self.stdin),
            reason=self.add_ignore,
        )


def _contradictions(options: Mapping[str, Any], stdin: bool) -> Iterable[str]:
    """Yield what is wrong with options, each of which is right by itself."""
    if stdin and len(options["paths"]) > 1:
        yield "standard input (-) is checked alone, not with other paths"
    if options["stdin_filename"] and not stdin:
        yield "--stdin-filename goes with the path -"
    if options["unsafe_fixes"] and not (options["fix"] or options["diff"]):
        yield "--unsafe-fixes goes with --fix or --diff"
    if options["diff"] and (options["output_format"] or options["statistics"]):
        yield "--diff prints a patch; it has no other format"
    if options["statistics"] and options["output_format"]:
        yield "--statistics prints counts; it has no other format"
    if options["config"] and options["isolated"]:
        yield "--isolated takes no settings; --config takes some"
    if options["add_ignore"] is not None:
        if options["fix"] or options["unsafe_fixes"]:
            yield "--add-ignore silences what --fix would mend; fix first, then silence the rest"
        reason = refused(options["add_ignore"])
        if reason:
            yield f"--add-ignore: {reason}"
    if options["no_baseline"] and (options["baseline"] or options["update_baseline"]):
        yield "--no-baseline leaves the baseline out; --baseline and --update-baseline use it"
    changes = options["fix"] or options["diff"] or options["add_ignore"] is not None
    if options["update_baseline"] and (changes or stdin):
        yield "--update-baseline writes down what stands in the files; change them before"


def _overrides(options: Mapping[str, Any]) -> Overrides:
    level = options["confidence"]
    return Overrides(
        select=_codes(options["select"]) if options["select"] else None,
        extend_select=_codes(options["extend_select"]),
        ignore=_codes(options["ignore"]),
        confidence=Confidence(level) if level else None,
        include_tests=options["include_tests"],
        force_exclude=options["force_exclude"],
        baseline=options["baseline"] and options["baseline"].absolute(),
        no_baseline=options["no_baseline"],
        config=options["config"] and options["config"].absolute(),
        isolated=options["isolated"],
    )


def _codes(values: Iterable[str]) -> tuple[str, ...]:
    """Split what an option was given, perhaps several times, at commas."""
    listed = (code.strip() for value in values for code in value.split(","))
    return tuple(code for code in listed if code)
