"""The command ``trace``: from ``FILE::FUNCTION`` to pictures."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from ckptlint import catalogue
from ckptlint.catalogue import nearest
from ckptlint.config import ConfigError, Overrides, load
from ckptlint.discovery import MissingPathError, ProjectFiles, discover
from ckptlint.engine import Request, analyse
from ckptlint.finding import Finding
from ckptlint.portrait import Portrait, plain_name, portraits
from ckptlint.reading import read
from ckptlint.report.styled import Screen
from ckptlint.source import Source, SourceError
from ckptlint.terminal import screen_of
from ckptlint.trace import html, svg, text
from ckptlint.trace.weave import weave

Format = Literal["text", "svg", "html"]
_SUFFIXES: dict[str, Format] = {".svg": "svg", ".html": "html", ".htm": "html"}


@dataclass(frozen=True)
class Target:
    """What is to be drawn: a file, and a function of it or "" for those that matter."""

    path: Path
    function: str

    @classmethod
    def parse(cls, word: str) -> Target:
        """Read ``FILE`` or ``FILE::FUNCTION``."""
        path, _, function = word.partition("::")
        return cls(Path(path), plain_name(function))


def run(target: Target, output_format: Format | None, output_file: Path | None) -> None:
    """Draw the target. Raises click.UsageError."""
    try:
        drawn = _portraits(target, Path.cwd())
    except (ConfigError, MissingPathError) as error:
        raise click.UsageError(str(error)) from error
    except SourceError as error:
        raise click.UsageError(f"{target.path}:{error.line}: {error}") from error
    pictures = [weave(portrait) for portrait in drawn]
    form = output_format or _SUFFIXES.get(output_file.suffix if output_file else "", "text")
    if form == "text":
        screen = Screen() if output_file else screen_of(sys.stdout)
        plain = not output_file and not _unicode(sys.stdout.encoding)
        drawing = text.render(pictures, screen, text.PLAIN if plain else text.Glyphs())
    else:
        screen = Screen()
        drawing = {"svg": svg.render, "html": html.render}[form](pictures)
    # A file name may hold bytes that are no text in any encoding.
    drawing = drawing.encode("utf-8", "backslashreplace").decode("utf-8")
    if output_file is None:
        click.echo(drawing, nl=False, color=screen.colours is not None)
        return
    try:
        output_file.write_text(drawing, encoding="utf-8", newline="")
    except OSError as error:
        raise click.UsageError(f"cannot write {output_file}: {error.strerror}") from error


def _unicode(encoding: str | None) -> bool:
    try:
        "●━╌○◆◇┴╭╰═│".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _portraits(target: Target, cwd: Path) -> Sequence[Portrait]:
    path = cwd / target.path
    if path.is_dir():
        raise click.UsageError(f"{target.path} is a folder; name one of its files")
    known = catalogue.rules()
    found = discover([path], lambda root: load(root, Overrides(), known))
    files = found.projects[0]
    own = read(files.asked[0], cwd)
    codes = files.settings.codes | {code for code, rule in known.items() if rule.default}
    request = _request(files, own, cwd, codes)
    names = tuple(_names(own.tree.body, ""))
    function = _meant(target.function, names, own.display)
    findings = [finding for finding in analyse(request) if finding.code != catalogue.NOT_ANALYSED]
    if function:
        return _named(request, findings, function)
    return _chosen(request, findings)


def _request(files: ProjectFiles, own: Source, cwd: Path, codes: Collection[str]) -> Request:
    from ckptlint_rules import facts

    around: list[Source] = []
    for path in files.around:
        try:
            around.append(read(path, cwd))
        except SourceError:
            continue  # what a neighbour does is then not known; `check` tells of it
    return Request(
        (own, *around), (own.display,), files.root, facts() + files.settings.facts, codes
    )


def _named(request: Request, findings: Collection[Finding], name: str) -> Sequence[Portrait]:
    """Look at one function; one inside another is met on the way through the outer one."""
    drawn = [
        portrait
        for portrait in portraits(
            request, findings, lambda _, each: name == each or name.startswith(f"{each}.")
        )
        if plain_name(portrait.watched.name) == name
    ]
    if not drawn:
        raise click.UsageError(
            f"{request.sources[0].display}::{name} cannot be drawn: it has too many paths, or is"
            " defined where no rank comes"
        )
    return drawn


def _chosen(request: Request, findings: Collection[Finding]) -> Sequence[Portrait]:
    """Look at the functions with findings, or else at those that communicate themselves."""
    drawn = portraits(request, findings, lambda *_: True)
    functions = {finding.function for finding in findings}
    faulty = [each for each in drawn if each.watched.name in functions and each.told]
    faulty = faulty or [each for each in drawn if each.told]
    if faulty:
        return faulty
    acting = [each for each in drawn if any(t.acts for t in each.watched.traces.values())]
    if not acting:
        raise click.UsageError(
            f"{request.sources[0].display}: no function of it reaches a collective that is known;"
            " `ckptlint facts NAME` tells what is known of an API"
        )
    return [each for each in acting if each.watched.name != "<module>"] or acting


def _names(body: Iterable[ast.stmt], prefix: str) -> Iterator[str]:
    """Yield the functions and methods of a file as users name them."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(statement, ast.ClassDef):
                yield f"{prefix}{statement.name}"
            yield from _names(statement.body, f"{prefix}{statement.name}.")
        else:
            for part in ("body", "orelse", "finalbody", "handlers"):
                yield from _names(getattr(statement, part, ()), prefix)
    if not prefix:
        yield "<module>"


def _meant(wanted: str, names: Sequence[str], file: str) -> str:
    """Return the function that was named; the end of a name will do where only one has it."""
    if not wanted or wanted in names:
        return wanted
    ends = [name for name in dict.fromkeys(names) if name.endswith(f".{wanted}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise click.UsageError(f"{file} has several functions {wanted}: {', '.join(ends)}")
    close = nearest(wanted, names) or nearest(wanted, [n.rpartition(".")[2] for n in names])
    hint = f"; did you mean {close}?" if close else ""
    raise click.UsageError(f"{file} has no function {wanted}{hint}")
