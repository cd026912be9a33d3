"""Writing the comments that silence findings: one above each statement, with the reason.

The comment stands on a line of its own, since there it fits whatever the statement is: one over
several lines, one that ends in a backslash or in a string, one among others on its line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ckptlint.catalogue import NOT_ANALYSED, UNUSED_SUPPRESSION
from ckptlint.finding import Applicability, Edit, Finding, Fix, Span
from ckptlint.source import Source, SourceError
from ckptlint.suppress import parsed, scanned

_INDENT = re.compile(r"[ \t]*")
_COOKIE = re.compile(r"coding[:=]")  # PEP 263: such a comment would change the encoding


def refused(reason: str) -> str:
    """Say why a reason cannot stand in a comment; "" when it can."""
    comment = _comment(["CKP101"], reason)
    if not reason.strip():
        return "give the reason, for those who read the comment later"
    if len(reason.splitlines()) > 1:
        return "the reason must be one line"
    if _COOKIE.search(reason):
        return "the reason would be read as the encoding of the file"
    found = list(parsed(comment, 1, 1))
    if len(found) != 1 or found[0].end_column <= len(comment):
        return "the reason holds another comment; write it without '#'"
    return ""


def silencing(
    findings: Sequence[Finding], sources: Mapping[str, Source], reason: str
) -> list[Finding]:
    """Return the findings with a fix that silences them; those that cannot be are left out.

    That a file was not analysed is not silenced, nor what is said of comments.
    """
    lines: dict[tuple[str, int], list[Finding]] = defaultdict(list)
    starts: dict[str, Mapping[int, int]] = {}
    for finding in findings:
        path, line = finding.span.path, finding.span.line
        if finding.code in (NOT_ANALYSED, UNUSED_SUPPRESSION) or path not in sources:
            continue
        if path not in starts:
            starts[path] = scanned(sources[path]).starts
        lines[path, starts[path].get(line, line)].append(finding)
    silenced: list[Finding] = []
    for (path, line), here in lines.items():
        comment = _comment(sorted({finding.code for finding in here}), reason)
        edit = _insertion(sources[path], line, comment)
        if edit is not None:
            fix = Fix(Applicability.SAFE, "silence it", (edit,))
            silenced += (replace(finding, fix=fix) for finding in here)
    return silenced


def _comment(codes: list[str], reason: str) -> str:
    return f"# ckptlint: ignore[{', '.join(codes)}] {reason.strip()}"


def _insertion(source: Source, line: int, comment: str) -> Edit | None:
    """Put the comment above a line, as far in and with the same end; None where the file's
    encoding cannot hold it."""
    try:
        comment.encode(source.encoding)
        text = source.lines[line - 1]
    except (SourceError, UnicodeEncodeError, IndexError):
        return None
    bare = text.lstrip("\x0c")
    indent = _INDENT.match(bare)
    ends = [each[len(each.rstrip("\r\n")) :] for each in (text, source.lines[0])]
    end = ends[0] or ends[1] or "\n"
    column = len(text) - len(bare) + 1
    place = Span(source.display, line, column, line, column)
    return Edit(place, f"{indent[0] if indent else ''}{comment}{end}")
