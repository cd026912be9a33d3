"""Who a finding is when its lines are left out: rule, file, function and statement.

A statement is told by its syntax tree, so wrapping lines, changing quotes or moving the function
does not make another finding of it. Baselines and the fingerprints of reports are built on this.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ckptlint.catalogue import UNUSED_SUPPRESSION
from ckptlint.finding import Finding, Span
from ckptlint.source import Source, SourceError

# The parts of a compound statement that are statements of their own.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list")
_LONGEST = 160  # characters of a statement that are kept; the rest is hashed


@dataclass(frozen=True, order=True)
class Identity:
    """What stays when lines move. ``path`` is written with forward slashes."""

    path: str
    function: str
    code: str
    statement: str


def identities(findings: Iterable[Finding], sources: Mapping[str, Source]) -> list[Identity]:
    """Return the identity of each finding; two alike in one function share theirs."""
    statements: dict[str, _Statements] = {}
    found: list[Identity] = []
    for finding in findings:
        name = finding.span.name
        text = ""
        if name in sources:
            known = statements.setdefault(name, _Statements(sources[name]))
            text = known.at(finding)
        found.append(Identity(finding.span.path, finding.function, finding.code, text))
    return found


def fingerprints(findings: Iterable[Finding], sources: Mapping[str, Source]) -> list[str]:
    """Return 32 hexadecimal digits for each finding, no two alike in one report."""
    seen: Counter[Identity] = Counter()
    found: list[str] = []
    for identity in identities(findings, sources):
        parts = (*identity.__dict__.values(), str(seen[identity]))
        seen[identity] += 1
        found.append(_digest("\0".join(parts))[:32])
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class _Statements:
    """The statements of one file, found by place."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spans: list[tuple[Span, ast.stmt]] | None = None

    def at(self, finding: Finding) -> str:
        """Return the normalised statement that a finding is about; "" where there is none."""
        try:
            if finding.code == UNUSED_SUPPRESSION:
                return self._text(finding.span)
            statement = self._enclosing(finding.span)
        except SourceError:
            return ""
        return "" if statement is None else _shortened(_normalised(statement))

    def _text(self, span: Span) -> str:
        line = self._source.lines[span.line - 1]
        return _shortened(line[span.column - 1 : span.end_column - 1].strip())

    def _enclosing(self, span: Span) -> ast.stmt | None:
        if self._spans is None:
            nodes = ast.walk(self._source.tree)
            self._spans = [(self._source.span(n), n) for n in nodes if isinstance(n, ast.stmt)]
        start = (span.line, span.column)
        around = [
            (whole, node)
            for whole, node in self._spans
            if (whole.line, whole.column) <= start < (whole.end_line, whole.end_column)
        ]
        return max(around, key=lambda pair: pair[0], default=(None, None))[1]


def _normalised(statement: ast.stmt) -> str:
    """Write a statement, or the head of a compound one, in one way only."""
    head = copy.copy(statement)
    for name in _BLOCKS:
        if isinstance(getattr(head, name, None), list):
            setattr(head, name, [])
    try:
        text = ast.unparse(_PlainStrings().visit(copy.deepcopy(head)))
    except RecursionError:
        return type(statement).__name__
    return text.replace("lambda :", "lambda:")  # as Python writes it since 3.11


class _PlainStrings(ast.NodeTransformer):
    """Turns formatted strings into calls of ``f``: how Python writes them back has changed."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        values = [v.value if isinstance(v, ast.FormattedValue) else v for v in node.values]
        arguments = [self.visit(value) for value in values]
        return ast.Call(ast.Name("f", ast.Load()), arguments, [])


def _shortened(text: str) -> str:
    text = text.replace("\n", " ")
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 20]}… {_digest(text)[:16]}"
