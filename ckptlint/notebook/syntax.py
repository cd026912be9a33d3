"""IPython's own syntax, hidden behind calls so that Python can read a cell.

``%magic``, ``!command``, ``?help`` and their kin are replaced, line by line, by calls of a function
that nobody defines: to the analysis they may do anything but communicate. A cell that is Python as
it stands is never changed, since nothing of IPython's syntax is.

Source: IPython/core/inputtransformer2.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# Cell magics whose body runs in the namespace of the notebook.
_TRANSPARENT = frozenset(
    {"capture", "code_wrap", "debug", "memit", "mprun", "prun", "px", "time", "timeit", "wandb"}
)
# Magics that people write without a percent sign, as `pip install x`.
_BARE = (
    "alias|bookmark|cat|cd|conda|cp|dirs|env|ldir|less|load|load_ext|ls|mamba|man|matplotlib|micromamba"
    "|mkdir|more|mv|pip|popd|pushd|pwd|rehashx|reload_ext|rm|rmdir|run|set_env|store|timeit|uv"
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_CELL_MAGIC = re.compile(r"%%(\w*)")
_COMMAND = re.compile(r"[%!?,;/]")
_HELP = re.compile(r"[^#'\"]*\?$")
_WORDS = re.compile(rf"(?:{_BARE})[ \t]+(?!(?:and|for|if|in|is|not|or)\b)-{{0,2}}[\w./~]")
_CALL = re.compile(r"_ipython_\d+_\d+\(\)")
_TOKEN = re.compile(
    r"""
      (?P<comment> \# .* )
    | (?P<quote> \"\"\" | ''' )
    | " (?: \\. | [^"\\] )* "? | ' (?: \\. | [^'\\] )* '?
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?<! [=!<>+\-*/%&|^@:] ) = (?!=) [ \t]* (?P<command> [%!] )
    """,
    re.VERBOSE,
)
_CLOSING = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote}|.*", re.DOTALL) for quote in ('"""', "'''")}


@dataclass(frozen=True)
class Masked:
    """A cell that Python can read: ``hidden`` maps each call to the text that it stands for.

    A masked line has its call at its end, so the columns before it are those of the cell.
    """

    code: str
    hidden: Mapping[str, str] = field(default_factory=dict)


def runs_python(text: str) -> bool:
    """Say whether a cell is part of the program: one of ``%%bash`` or ``%%writefile`` is not."""
    magic = _CELL_MAGIC.match(text.lstrip())
    return magic is None or magic[1] in _TRANSPARENT


def masked(text: str, cell: int) -> Masked:
    """Hide what only IPython understands. ``cell`` tells the calls of one cell from another's."""
    scanner = _Scanner()
    hidden: dict[str, str] = {}
    written: list[str] = []
    indent: str | None = None  # of the command that goes on from the line before
    for number, line in enumerate(filter(None, _LINE.findall(text)), 1):
        if indent is None:
            column = scanner.command(line.rstrip("\r\n"))
            if column is None:
                written.append(line)
                continue
            indent = line[: len(line) - len(line.lstrip(" \t"))]
        else:
            column, line = len(indent), indent + line.removeprefix(indent)
        bare = line.rstrip("\r\n")
        call = f"_ipython_{cell}_{number}()"
        hidden[call] = bare[column:]
        written.append(bare[:column] + call + line[len(bare) :])
        indent = indent if bare.endswith("\\") else None
    return Masked("".join(written), hidden)


def plain(text: str, hidden: Mapping[str, str]) -> str:
    """Put back what was hidden."""
    return _CALL.sub(lambda match: hidden.get(match[0], match[0]), text)


@dataclass
class _Scanner:
    """Reads a cell line by line, as far as is needed to know where a statement may begin."""

    depth: int = 0
    quote: str = ""
    continued: bool = False

    def command(self, line: str) -> int | None:
        """Return the column (from 0) at which a command of IPython begins that ends the line."""
        begins = not (self.depth or self.quote or self.continued)
        indent = len(line) - len(line.lstrip(" \t"))
        rest = line[indent:]
        if begins and (_COMMAND.match(rest) or _HELP.match(rest) or _WORDS.match(rest)):
            return indent
        return self._assigned(line)

    def _assigned(self, line: str) -> int | None:
        """Read a line; return where the command begins that a name is given the result of."""
        position = 0
        if self.quote:
            position = self._closed(line, 0)
        while not self.quote and (token := _TOKEN.search(line, position)):
            position = token.end()
            if token["open"]:
                self.depth += 1
            elif token["close"]:
                self.depth = max(0, self.depth - 1)
            elif token["quote"]:
                self.quote = token["quote"]
                position = self._closed(line, position)
            elif token["command"] and not self.depth:
                return token.start("command")
        self.continued = line.endswith("\\") and not self.quote
        return None

    def _closed(self, line: str, position: int) -> int:
        end = _CLOSING[self.quote].match(line, position)
        assert end is not None
        if end[0].endswith(self.quote):
            self.quote = ""
        return end.end()
