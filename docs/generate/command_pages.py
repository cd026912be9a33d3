"""The reference of the command line, from its own help."""

from __future__ import annotations

from collections.abc import Iterator

import click
from wording import cell, code, table

from ckptlint.cli import cli


def pages() -> Iterator[tuple[str, str]]:
    """Yield the page."""
    context = click.Context(cli, info_name="ckptlint")
    parts = ["# Command line\n", f"{_prose(cli)}\n"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            parts += [f"## ckptlint {name}\n", *_command(command, context)]
    yield "commands.md", "\n".join(parts)


def _command(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{context.command_path} {usage}\n```\n"
    yield f"{_prose(command)}\n"
    records = (option.get_help_record(context) for option in command.get_params(context))
    rows = [(code(cell(name)), cell(text)) for name, text in filter(None, records)]
    yield table(("Option", "Meaning"), rows)


def _prose(command: click.Command) -> str:
    """Return the help as paragraphs, without the marks that keep click from wrapping."""
    return (command.help or "").replace("\b\n", "").replace("\f", "").strip()
