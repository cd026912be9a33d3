"""The options of ``ckptlint check`` in sections, and what a shell offers to complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ckptlint.choices import FORMATS, LEVELS


class Codes(click.types.StringParamType):
    """Codes of rules, or their beginnings, separated by commas."""

    name = "codes"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the codes that go on from what stands behind the last comma."""
        from ckptlint.catalogue import rules

        before, comma, begun = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{code}", help=rule.name)
            for code, rule in rules().items()
            if code.startswith(begun.upper())
        ]


class RuleName(Codes):
    """The code or the name of one rule."""

    name = "rule"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer codes, and names where a name has been begun."""
        from ckptlint.catalogue import rules

        named = [
            CompletionItem(rule.name, help=rule.code)
            for rule in rules().values()
            if incomplete and rule.name.startswith(incomplete)
        ]
        return named or super().shell_complete(ctx, param, incomplete)


class _Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Sectioned(click.Command):
    """A command whose help lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section in the order in which its first option was declared."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in sorted(options, key=lambda option: not isinstance(option, _Option)):
            record = option.get_help_record(ctx)
            if record is not None:
                title = option.section if isinstance(option, _Option) else "Help"
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Suggesting(click.Group):
    """A group that says what was probably meant by a command that there is not, and ends with the
    status of a shell when it is interrupted: 1 would say that there are findings."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("ckptlint: interrupted", err=True)
            ctx.exit(130)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises click.UsageError."""
        from ckptlint.catalogue import nearest

        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            meant = nearest(name, self.list_commands(ctx))
            if Path(name).exists():
                meant = f"check {' '.join(args)}"
            hint = f"; did you mean `ckptlint {meant}`?" if meant else ""
            raise click.UsageError(f"there is no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


_FILE = click.Path(dir_okay=False, path_type=Path)
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _option(section: str, name: str, **settings: Any) -> _Decorator:
    return click.option(name, cls=_Option, section=section, **settings)


_OPTIONS = (
    _option(
        "Which rules",
        "--select",
        metavar="CODES",
        multiple=True,
        type=Codes(),
        help="Check these rules instead of those that are on by default. CODES are codes or "
        "beginnings of codes, separated by commas (CKP101,CKP2), or ALL.",
    ),
    _option(
        "Which rules",
        "--extend-select",
        metavar="CODES",
        multiple=True,
        type=Codes(),
        help="Check these rules besides the selected ones.",
    ),
    _option(
        "Which rules",
        "--ignore",
        metavar="CODES",
        multiple=True,
        type=Codes(),
        help="Do not check these rules. Of two options that name a rule the longer code "
        "wins: --select CKP1 --ignore CKP101 checks the other rules of the hundreds.",
    ),
    _option(
        "Which rules",
        "--confidence",
        type=click.Choice(LEVELS),
        help="Show findings at least this sure: certain (rank test and operation are both "
        "resolved), likely (one of them is known by its usual name), or possible "
        "(advice).  [default: likely]",
    ),
    _option(
        "Fixes",
        "--fix",
        is_flag=True,
        help="Apply the safe fixes, and report what remains. Each fix has been analysed "
        "before it is offered; files are replaced at once, with their mode and "
        "encoding.",
    ),
    _option(
        "Fixes",
        "--unsafe-fixes",
        is_flag=True,
        help="With --fix or --diff: apply also fixes that change more than what waits for "
        "what. Read what they did.",
    ),
    _option(
        "Fixes",
        "--diff",
        is_flag=True,
        help="Print what --fix (or --add-ignore) would change as a patch that git applies, "
        "and write nothing.",
    ),
    _option(
        "Accepting findings",
        "--add-ignore",
        metavar="REASON",
        help="Silence what is found: write a comment `# ckptlint: ignore[CODE] REASON` above"
        " each statement.",
    ),
    _option(
        "Accepting findings",
        "--baseline",
        type=_FILE,
        help="Count only findings that this file does not hold. It tells findings by "
        "function and statement, so edits elsewhere do not bring them back.  [setting: "
        "baseline]",
    ),
    _option(
        "Accepting findings",
        "--update-baseline",
        is_flag=True,
        help="Write the findings into the baseline, and take out those that are gone. Files "
        "and rules that were not checked keep their entries.",
    ),
    _option(
        "Accepting findings",
        "--no-baseline",
        is_flag=True,
        help="Show what the baseline of the settings holds, too.",
    ),
    _option(
        "Output",
        "--output-format",
        type=click.Choice(FORMATS),
        help="How to report: full and concise for people; html as a page to publish; json for "
        "programs; github (annotations), gitlab (Code Quality), sarif (code scanning), junit and "
        "rdjson (reviewdog) for services.  [default: full; setting: output-format]",
    ),
    _option(
        "Output",
        "--output-file",
        type=_FILE,
        help="Write the report, or the patch of --diff, to this file instead of standard output.",
    ),
    _option(
        "Output",
        "--statistics",
        is_flag=True,
        help="Count the findings of each rule instead of telling them.",
    ),
    _option(
        "Output",
        "--exit-zero",
        is_flag=True,
        help="Exit with 0 even when there are findings; a file that could not be analysed "
        "still gives 2.",
    ),
    _option(
        "Which files",
        "--include-tests",
        is_flag=True,
        help="Check also test files that are found by walking a folder.  [setting: include-tests]",
    ),
    _option(
        "Which files",
        "--force-exclude",
        is_flag=True,
        help="Heed exclusions also for files that are named, as hooks name them.  [setting: "
        "force-exclude]",
    ),
    _option(
        "Which files",
        "--stdin-filename",
        type=click.Path(path_type=Path),
        help="Check standard input (path -) as if it stood in this file, in the project around it.",
    ),
    _option(
        "Settings",
        "--config",
        type=_EXISTING,
        help="Take the settings from this file instead of the nearest ckptlint.toml or "
        "pyproject.toml.",
    ),
    _option(
        "Settings",
        "--isolated",
        is_flag=True,
        help="Take no settings from any file.",
    ),
    _option(
        "Settings",
        "--no-cache",
        is_flag=True,
        help="Analyse anew what was analysed before, and keep nothing for the next run.",
    ),
    _option(
        "Settings",
        "--jobs",
        metavar="N",
        type=click.IntRange(min=1),
        help="Use at most this many processes. What is found does not depend on it.  [default: as"
        " many as there are processors]",
    ),
    _option(
        "Settings",
        "--show-settings",
        is_flag=True,
        help="Print the settings that hold for the paths and where they come from, and check"
        " nothing.",
    ),
)


def check_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of ``check``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
