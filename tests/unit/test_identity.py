"""What makes a finding the same one after its file was edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptlint.finding import Confidence, Finding, Severity, Span
from ckptlint.identity import fingerprints, identities
from ckptlint.source import Source


def statement(text: str, line: int, column: int) -> str:
    """Return the statement that a finding at this place is about."""
    source = Source(Path("/a.py"), "a.py", text.encode())
    (identity,) = identities([finding(line, column)], {"a.py": source})
    assert (identity.path, identity.function, identity.code) == ("a.py", "f", "CKP101")
    return identity.statement


def finding(line: int, column: int, code: str = "CKP101", end: int = 0) -> Finding:
    span = Span("a.py", line, column, line, end or column + 1)
    return Finding(code, "name", Severity.ERROR, Confidence.CERTAIN, "m", "h", span, "f")


@pytest.mark.parametrize(
    "text",
    [
        "save('out', tag=1)\n",
        'save("out", tag=1)\n',
        "save(\n    'out',\n    tag=1,\n)\n",
        "save('out',  # why\n     tag = 1)\n",
        "(save)('o' 'ut', tag=0x1)\n",
        "save('out', tag=1); other()\n",
        "\x0csave('out', tag=1)\r\n",
    ],
)
def test_a_statement_is_the_same_however_it_is_written(text: str) -> None:
    column = 2 if text.startswith("\x0c") else 1
    assert statement(text, 1, column) == "save('out', tag=1)"


def test_another_argument_makes_another_statement() -> None:
    assert statement("save('in', tag=1)\n", 1, 1) != statement("save('out', tag=1)\n", 1, 1)


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        (
            "if rank == 0 and save():\n    x()\nelse:\n    y()\n",
            (1, 18),
            "if rank == 0 and save():",
        ),
        ("while save():\n    x()\n", (1, 7), "while save():"),
        ("for x in save():\n    x()\n", (1, 10), "for x in save():"),
        ("with save() as s:\n    x()\n", (1, 6), "with save() as s:"),
        ("@on_main\ndef f(a, b=1):\n    x()\n", (2, 1), "def f(a, b=1):"),
        ("class A:\n    def f(self):\n        save()\n", (3, 9), "save()"),
        ("try:\n    save()\nfinally:\n    x()\n", (2, 5), "save()"),
        ("if a:\n    x()\nelif save():\n    y()\n", (3, 6), "if save():"),
        ("match save():\n    case 1:\n        x()\n", (1, 7), "match save():"),
        ("if a: é(); save()\n", (1, 12), "save()"),
    ],
)
def test_of_a_compound_statement_the_head_counts(
    text: str, place: tuple[int, int], expected: str
) -> None:
    assert statement(text, *place) == expected


def test_formatted_strings_are_written_in_the_same_way_by_every_python() -> None:
    text = """save(f"step-{step!r:>{width}} of {total['n']}")\n"""
    assert statement(text, 1, 1) == "save(f('step-', step, ' of ', total['n']))"


def test_a_lambda_without_arguments_is_written_in_the_same_way_by_every_python() -> None:
    assert statement("on_main(lambda  : save())\n", 1, 17) == "on_main(lambda: save())"


def test_a_long_statement_is_cut_and_still_told_from_another() -> None:
    start = "save(" + "a, " * 100
    one, other = (statement(f"{start}{end})\n", 1, 1) for end in ("b", "c"))
    assert len(one) < 170
    assert one[:100] == other[:100]
    assert one != other


def test_a_comment_is_its_own_text() -> None:
    source = Source(Path("/a.py"), "a.py", b"x()  # ckptlint: ignore[CKP101] why\n")
    (identity,) = identities([finding(1, 6, "CKP901", end=40)], {"a.py": source})
    assert identity.statement == "# ckptlint: ignore[CKP101] why"


def test_where_there_is_no_statement_there_is_none() -> None:
    assert statement("", 1, 1) == ""
    assert statement("def broken(:\n", 1, 1) == ""
    (identity,) = identities([finding(1, 1)], {})
    assert identity.statement == ""


def test_findings_alike_are_numbered() -> None:
    source = Source(Path("/a.py"), "a.py", b"save()\nsave()\nother()\n")
    places = [finding(1, 1), finding(2, 1), finding(3, 1)]
    marks = fingerprints(places, {"a.py": source})
    assert len(set(marks)) == 3
    assert fingerprints(places[:1], {"a.py": source}) == marks[:1]


def test_identities_leave_the_tree_as_it_was() -> None:
    import ast

    source = Source(Path("/a.py"), "a.py", b'if a:\n    save(f"{x}")\n')
    before = ast.dump(source.tree)
    identities([finding(1, 1), finding(2, 5)], {"a.py": source})
    assert ast.dump(source.tree) == before
