"""A source's columns, lines and encoding, where bytes, code points and line ends disagree."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptlint.source import Source, SourceError


def source(data: bytes | str) -> Source:
    return Source(Path("/a.py"), "a.py", data.encode() if isinstance(data, str) else data)


def call_span(text: str) -> tuple[int, int, int, int]:
    it = source(text)
    node = next(node for node in ast.walk(it.tree) if isinstance(node, ast.Call))
    span = it.span(node)
    return span.line, span.column, span.end_line, span.end_column


def test_columns_are_code_points_from_one() -> None:
    assert call_span("x = f(1)\n") == (1, 5, 1, 9)
    assert call_span("'é漢😀'; f('é')\n") == (1, 8, 1, 14)


def test_a_mark_at_the_beginning_is_no_column() -> None:
    assert call_span("\ufefff(1)\n") == (1, 1, 1, 5)


def test_form_feeds_end_no_line() -> None:
    assert call_span("x = 1\x0c\nf(1)\n") == (2, 1, 2, 5)
    assert call_span("\x0cf(1)\n")[0] == 1


def test_every_kind_of_line_end_counts_once() -> None:
    assert call_span("a\r\nb\rc\nf(1)") == (4, 1, 4, 5)


@settings(deadline=None)
@given(st.text(st.sampled_from("aé漢 \t\r\n\x0c\x0b\x1c\u2028")))
def test_lines_lose_nothing(text: str) -> None:
    assert "".join(source(text).lines) == text


@settings(deadline=None)
@given(st.text(st.sampled_from("aé漢😀")), st.integers(0, 30))
def test_columns_agree_with_the_bytes_before_them(text: str, count: int) -> None:
    it = source(text)
    offset = len(text[:count].encode())
    assert it.column(1, offset) == len(text[:count]) + 1


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b"x = 1\ny = '\xe9'\n", "not valid utf-8", 2),
        (b"# coding: klingon\n", "cannot tell the encoding", 1),
        (b"x = 1\n\ndef (:\n", "syntax error", 3),
        (b"x = 1\0\n", "null byte", 1),
        (b"x = " + b"(" * 5_000, "", 1),
    ],
)
def test_what_cannot_be_read_says_why_and_where(data: bytes, reason: str, line: int) -> None:
    with pytest.raises(SourceError) as error:
        _ = source(data).tree
    assert reason in error.value.reason
    assert error.value.line == line
