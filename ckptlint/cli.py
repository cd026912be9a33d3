"""The command line. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckptlint import __version__
from ckptlint.options import RuleName, Sectioned, Suggesting, check_options

if TYPE_CHECKING:
    from ckptlint.rule import Rule


_INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


@click.group(cls=Suggesting, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="ckptlint %(version)s")
def cli() -> None:
    """Find collective calls and checkpoint saves that only some ranks reach.

    In a distributed job a collective call returns only when every rank has made it. ckptlint
    compares what each rank does and reports calls that some ranks never reach, before the job
    hangs on them.
    """


@cli.command(cls=Sectioned)
@click.argument("paths", nargs=-1, type=click.Path())
@check_options
def check(**options: object) -> None:
    """Check files and folders (default: the current folder).

    Folders are walked, heeding .gitignore. Test files found there are not checked, since tests
    build mismatches on purpose; a file that is named is always checked. Write - to check standard
    input.

    \b
    Examples:
      ckptlint check                         the whole project
      ckptlint check train.py --diff         what --fix would change
      ckptlint check --update-baseline --baseline ckptlint-baseline.json
      ckptlint check --output-format sarif --output-file ckptlint.sarif

    Exit status: 0 when nothing was found, 1 when something was, 2 when the usage was wrong or a
    file could not be analysed.
    """
    from ckptlint.checking import Invocation, run

    try:
        sys.exit(run(Invocation.from_options(options)))
    except KeyboardInterrupt:
        click.echo("ckptlint: interrupted", err=True)
        sys.exit(_INTERRUPTED)


@cli.command()
@click.argument("code", type=RuleName())
def explain(code: str) -> None:
    """Explain a rule, given its code or its name."""
    rule = _rule(code)
    text = f"# {rule.code}: {rule.name}\n\n{rule.text.rstrip()}\n"
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text, nl=False)


def _rule(code: str) -> Rule:
    from ckptlint.catalogue import UnknownCodeError, find, rules

    try:
        return find(code, rules())
    except UnknownCodeError as error:
        raise click.UsageError(str(error)) from error


@cli.command()
@click.option(
    "--output-format",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="How to list them: as a table for people, or as JSON for programs.",
)
def rules(output_format: str) -> None:
    """List all rules with what they find, and whether they can be fixed."""
    from ckptlint import catalogue, lookup
    from ckptlint.terminal import screen_of

    known = catalogue.rules().values()
    if output_format == "json":
        click.echo(lookup.rules_as_json(known))
    else:
        click.echo(lookup.rules_as_table(known, screen_of(sys.stdout)), nl=False)


@cli.command()
@click.argument("name")
def facts(name: str) -> None:
    """Tell what is known of an API: who must call it, and what happens otherwise.

    NAME is a dotted name or the end of one, such as save_checkpoint or Accelerator.save_state.
    """
    from ckptlint import lookup
    from ckptlint.terminal import screen_of
    from ckptlint_rules import facts as all_facts

    try:
        text = lookup.facts_about(name, all_facts(), screen_of(sys.stdout))
    except lookup.UnknownNameError as error:
        raise click.UsageError(str(error)) from error
    click.echo(text, nl=False)


@cli.command()
@click.argument("target", metavar="FILE[::FUNCTION]")
@click.option(
    "--output-format",
    type=click.Choice(("text", "svg", "html")),
    help="How to draw.  [default: what the name of the output file says, else text]",
)
@click.option(
    "--output-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the pictures to this file.",
)
def trace(target: str, output_format: str | None, output_file: Path | None) -> None:
    """Draw what each rank does in a function, side by side.

    Time runs downwards and each kind of rank has a column. A bar joins the ranks that meet in a
    collective; a call that some ranks never reach is drawn broken, with its finding.

    FUNCTION is a name such as main or Trainer.save. Without it the functions with findings are
    drawn, or when there are none those that communicate.
    """
    from ckptlint.trace.command import Target, run

    run(Target.parse(target), output_format, output_file)  # type: ignore[arg-type]


@cli.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--check", "only_check", is_flag=True, help="Only tell whether the copy is current.")
@click.option("--force", is_flag=True, help="Overwrite a copy that was changed.")
def vendor(folder: Path, only_check: bool, force: bool) -> None:
    """Copy the runtime into DIR, for machines where nothing may be installed.

    DIR must be on Python's path there, as the folder of the script that is run is. A copy that was
    changed by hand is not overwritten.

    Exit status: 0 when the copy is current, 1 when --check finds that it is not, 2 when there is
    none or it cannot be made.
    """
    from ckptlint import vendoring

    if only_check and force:
        raise click.UsageError("--check changes nothing, so that there is nothing to force")
    try:
        source = vendoring.installed()
        if only_check:
            difference = vendoring.outdated(folder, source)
            click.echo(difference or f"{folder / vendoring.PACKAGE} is current ({source.version})")
            sys.exit(1 if difference else 0)
        done = vendoring.vendor(folder, source, force)
    except vendoring.VendorError as error:
        raise click.UsageError(str(error)) from error
    what = "Copied the runtime to" if done else "Nothing to do: the runtime is current in"
    click.echo(f"{what} {folder / vendoring.PACKAGE} ({source.version}).")


@cli.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print the script that completes commands, options, codes and formats in a shell.

    \b
    In ~/.bashrc:                   eval "$(ckptlint completion bash)"
    In ~/.zshrc:                    eval "$(ckptlint completion zsh)"
    In ~/.config/fish/config.fish:  ckptlint completion fish | source
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "ckptlint", "_CKPTLINT_COMPLETE").source())


@cli.command()
def server() -> None:
    """Serve an editor over standard input and output (the Language Server Protocol).

    Editors start this themselves; docs/editors.md shows how to tell them. It shows findings while
    one types, offers fixes, and tells of an API who must call it.
    """
    from ckptlint.server import MissingLibraryError, run

    try:
        run()
    except MissingLibraryError as error:
        raise click.ClickException(str(error)) from error


def main() -> None:
    """Run the command line; a fault of our own exits with 2, since 1 says that there are
    findings."""
    from ckptlint.terminal import tolerate_narrow_encodings

    tolerate_narrow_encodings()
    try:
        cli(prog_name="ckptlint")
    except Exception:
        import traceback

        traceback.print_exc()
        click.echo("ckptlint: this is a fault of ckptlint itself; please report it", err=True)
        sys.exit(2)
