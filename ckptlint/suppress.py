"""Comments that silence findings: ``# ckptlint: ignore[CKP101] reason`` and ``# noqa: CKP101``.

They are found with ``tokenize``, so a comment that is quoted in a string is none; nor is one that
is quoted in another comment, behind anything but a space.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ckptlint.finding import Finding, Span
from ckptlint.source import Source, SourceError

Kind = Literal["line", "file", "noqa"]

# A reason ends where another comment begins; "#12" is the number of an issue.
_OURS = re.compile(
    r"(?<!\S)#\s*ckptlint:\s*ignore(?P<file>-file)?(?!\w)(?:\s*\[(?P<codes>[^\]]*)\])?"
    r"(?P<reason>(?:[^#]|#(?=\d))*)"
)
_NOQA = re.compile(
    r"#\s*noqa(?!\w)(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE
)
_LAYOUT = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


@dataclass(frozen=True)
class Suppression:
    """One comment. ``codes`` may be beginnings of codes; an empty tuple stands for all codes.
    ``end_column`` is exclusive.
    """

    kind: Kind
    line: int
    column: int
    end_column: int
    codes: tuple[str, ...]
    reason: str

    def names(self, code: str) -> bool:
        """Say whether the comment speaks of this code."""
        return not self.codes or code.startswith(self.codes)


@dataclass(frozen=True)
class Comments:
    """The suppressions of one file.

    ``starts`` maps each line of a statement that spans several to the first of them, so that a
    comment above the statement counts for a call deep inside it. ``alone`` holds the lines that are
    nothing but a comment: a suppression may be the first of several such lines.
    """

    suppressions: tuple[Suppression, ...] = ()
    starts: Mapping[int, int] = field(default_factory=dict)
    alone: frozenset[int] = frozenset()

    def covering(self, code: str, span: Span, own: bool) -> Iterator[Suppression]:
        """Yield the comments that silence a finding with this span.

        ``own`` is false for a related place: there a bare ``# noqa``, which rarely is about us,
        does not count.
        """
        for each in self.suppressions:
            if not each.names(code):
                continue
            if each.kind == "file" or (
                (each.kind == "line" or own or each.codes)
                and (span.line <= each.line <= span.end_line or self._above(each, span))
            ):
                yield each

    def _above(self, comment: Suppression, span: Span) -> bool:
        if comment.kind != "line" or comment.line not in self.alone:
            return False
        for line in (span.line, self.starts.get(span.line, span.line)):
            if comment.line < line and self.alone.issuperset(range(comment.line, line)):
                return True
        return False


def comments(source: Source) -> Comments:
    """Find the suppressions of a file; one that cannot be read as Python has none."""
    if b"ckptlint" not in source.data and b"noqa" not in source.data.lower():
        return Comments()
    return scanned(source)


def scanned(source: Source) -> Comments:
    """Find the suppressions and the statements of a file that may have no suppression."""
    found: list[Suppression] = []
    starts: dict[int, int] = {}
    alone: set[int] = set()
    first = 0
    code = False
    lines = iter(source.lines)
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                found.extend(parsed(token.string, token.start[0], token.start[1] + 1))
                if token.line.lstrip().startswith("#"):
                    alone.add(token.start[0])
            elif token.type == tokenize.NEWLINE:
                starts.update(dict.fromkeys(range(first, token.end[0] + 1), first))
                code = False
            elif not code and token.type not in _LAYOUT:
                code, first = True, token.start[0]
    except (tokenize.TokenError, SyntaxError, SourceError):
        pass  # what stands above the fault still counts
    return Comments(tuple(found), starts, frozenset(alone))


def parsed(comment: str, line: int, column: int) -> Iterator[Suppression]:
    """Yield the suppressions in one comment, which begins at this place."""
    for match in _OURS.finditer(comment):
        codes = match["codes"]
        listed = tuple(code.strip() for code in (codes or "").split(",") if code.strip())
        if codes is not None and not listed:
            continue  # an empty pair of brackets names nothing
        yield Suppression(
            "file" if match["file"] else "line",
            line,
            column + match.start(),
            column + match.end(),
            listed,
            match["reason"].strip(" :-"),
        )
    for match in _NOQA.finditer(comment):
        codes = re.split(r"[,\s]+", match["codes"].upper()) if match["codes"] else []
        yield Suppression(
            "noqa", line, column + match.start(), column + match.end(), tuple(codes), ""
        )


def suppressions(
    finding: Finding, comments_of: Callable[[str], Comments], noqa: bool = True
) -> Iterator[tuple[str, Suppression]]:
    """Yield the comments that silence a finding, each with the file it stands in.

    ``comments_of`` gives the comments of a file by its display name. Without ``noqa`` those
    comments are left to whoever called.
    """
    spans = [finding.span, *(related.span for related in finding.related)]
    for position, span in enumerate(spans):
        for found in comments_of(span.path).covering(finding.code, span, own=position == 0):
            if found.kind == "noqa" and not noqa:
                continue
            if found.kind == "file" and span.path != finding.span.path:
                continue  # silencing a whole file is about the findings in it
            yield span.path, found
