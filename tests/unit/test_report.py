"""What the output formats write, to the character."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ckptlint.choices import FORMATS
from ckptlint.engine import not_analysed
from ckptlint.finding import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Severity,
    Span,
)
from ckptlint.report import concise, full, github, render, statistics
from ckptlint.report import json as json_format
from ckptlint.report.styled import Screen
from ckptlint.runner import Counts, Report
from ckptlint.source import Source

TRAIN = """\
def main(engine):
    if rank() == 0:
        print("saving")
        helper(engine)
    done()
"""
HELPER = "def helper(engine):\n    engine.save_checkpoint()\n"


def span(path: str, line: int, column: int, end: int, end_line: int = 0) -> Span:
    return Span(path, line, column, end_line or line, end)


FINDING = Finding(
    code="CKP101",
    name="collective-save-on-some-ranks",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    message="only rank 0 reaches engine.save_checkpoint through helper(); the job hangs",
    help="call it on every rank",
    span=span("train.py", 4, 9, 23),
    function="main",
    related=(
        Related(span("train.py", 2, 8, 19), "true on rank 0 only"),
        Related(span("lib/helper.py", 2, 5, 29), "called here"),
    ),
    fix=Fix(
        Applicability.SAFE,
        "move it out of the test",
        (Edit(span("train.py", 4, 5, 9), ""),),
    ),
)


def report(*findings: Finding, **sources: str) -> Report:
    texts = {"train.py": TRAIN, "lib/helper.py": HELPER, **sources}
    return Report(
        findings=findings,
        files=Counts(checked=2),
        sources={name: Source(Path(f"/{name}"), name, t.encode()) for name, t in texts.items()},
    )


def drawn(finding: Finding, text: str, width: int = 160) -> list[str]:
    """Return the lines of the full format that show the code, without their numbers."""
    lines = full.render(report(finding, **{"train.py": text}), Screen(width)).splitlines()
    return [line.partition(" |")[2] for line in lines if " |" in line]


def alone(line: int, column: int, end: int, end_line: int = 0) -> Finding:
    place = span("train.py", line, column, end, end_line)
    return replace(FINDING, span=place, related=(), fix=None)


def test_full_shows_the_code_the_causes_and_the_cure() -> None:
    assert full.render(report(FINDING), Screen()) == (
        f"error[CKP101]: {FINDING.message}\n"
        " --> train.py:4:9 in main\n"
        "   |\n"
        " 1 | def main(engine):\n"
        " 2 |     if rank() == 0:\n"
        "   |        ----------- true on rank 0 only\n"
        ' 3 |         print("saving")\n'
        " 4 |         helper(engine)\n"
        "   |         ^^^^^^^^^^^^^^ collective save on some ranks\n"
        " 5 |     done()\n"
        "   |\n"
        " ::: lib/helper.py:2:5\n"
        "   |\n"
        " 1 | def helper(engine):\n"
        " 2 |     engine.save_checkpoint()\n"
        "   |     ------------------------ called here\n"
        "   |\n"
        "   = help: call it on every rank\n"
        "   = fix: move it out of the test ([*] --fix applies it)\n"
        "\n"
        "Found 1 finding in 2 files.\n"
        "[*] 1 fixable with --fix.\n"
        "To learn more: ckptlint explain CKP101\n"
    )


def test_full_tells_when_it_is_not_certain() -> None:
    text = full.render(report(replace(FINDING, confidence=Confidence.LIKELY)), Screen())
    assert "   = note: likely, not certain\n" in text


def test_full_says_when_all_is_well() -> None:
    assert full.render(report(), Screen()) == "No findings in 2 files.\n"


def test_marks_stand_below_wide_characters_and_tabs() -> None:
    assert drawn(alone(1, 7, 10), "'漢é', f(x)\n")[1:3] == [
        " '漢é', f(x)",
        "        ^^^ collective save on some ranks",
    ]
    assert drawn(alone(1, 2, 5), "\tf(x)\n")[1:3] == [
        "     f(x)",
        "     ^^^ collective save on some ranks",
    ]


def test_a_statement_over_several_lines_is_shown_to_its_end() -> None:
    text = "save(\n    a,\n    b,\n)\nnext()\n"
    assert drawn(alone(1, 1, 2, end_line=4), text)[1:7] == [
        " save(",
        " ^^^^^ collective save on some ranks",
        "     a,",
        "     b,",
        " )",
        " next()",
    ]


def test_lines_far_apart_leave_out_what_is_between() -> None:
    text = "if rank == 0:\n" + "    x = 1\n" * 20 + "    save()\n"
    related = (Related(span("train.py", 1, 4, 13), "true on rank 0 only"),)
    finding = replace(alone(22, 5, 11), related=related)
    lines = full.render(report(finding, **{"train.py": text}), Screen()).splitlines()
    assert lines[3:8] == [
        " 1 | if rank == 0:",
        "   |    --------- true on rank 0 only",
        " ...",
        "22 |     save()",
        "   |     ^^^^^^ collective save on some ranks",
    ]


def test_two_marks_on_one_line_stand_one_below_the_other() -> None:
    related = (Related(span("train.py", 1, 4, 13), "true on rank 0 only"),)
    finding = replace(alone(1, 15, 21), related=related)
    assert drawn(finding, "if rank == 0: save()\n")[1:4] == [
        " if rank == 0: save()",
        "    --------- true on rank 0 only",
        "               ^^^^^^ collective save on some ranks",
    ]


def test_a_very_long_line_is_cut_around_its_mark() -> None:
    shown = drawn(alone(1, 501, 507), "x" * 500 + "save()" + "y" * 500 + "\n", width=80)
    line, mark = shown[1], shown[2]
    assert len(line) < 80
    assert line.startswith(" …x")
    assert line.endswith("y…")
    assert line[mark.index("^") : mark.rindex("^") + 1] == "save()"


def test_code_cannot_steer_the_terminal() -> None:
    (line,) = [line for line in drawn(alone(1, 1, 2), "f('\x1b[2J')\n") if "f(" in line]
    assert line == " f('\N{REPLACEMENT CHARACTER}[2J')"


def test_a_file_that_cannot_be_decoded_is_told_without_its_code() -> None:
    broken = Source(Path("/train.py"), "train.py", b"\xff")
    told = replace(
        report(not_analysed("train.py", "not valid utf-8")), sources={"train.py": broken}
    )
    text = full.render(told, Screen())
    assert text.startswith("error[CKP900]: not analysed: not valid utf-8\n --> train.py:1:1\n")


def test_a_place_beyond_the_end_of_its_file_is_told_without_code() -> None:
    assert drawn(alone(9, 1, 2), "x = 1\n") == [""]


def test_colours_add_nothing_but_colours() -> None:
    import re

    coloured = full.render(report(FINDING), Screen(colours="standard"))
    assert "\x1b[1;31merror[CKP101]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == full.render(report(FINDING), Screen())


def test_concise_is_one_line_each() -> None:
    unfixable = replace(FINDING, fix=None, span=span("train.py", 5, 1, 2), message="m")
    assert concise.render(report(FINDING, unfixable), Screen()).splitlines()[:2] == [
        "train.py:4:9: CKP101[*] only rank 0 reaches engine.save_checkpoint through helper(); "
        "the job hangs",
        "train.py:5:1: CKP101 m",
    ]


def test_json_is_the_contract() -> None:
    told = replace(report(FINDING), fixed=(replace(FINDING, fix=None),), files=Counts(2, 3, 4))
    document = json.loads(json_format.render(told, Screen()))
    expected = {
        "code": "CKP101",
        "name": "collective-save-on-some-ranks",
        "severity": "error",
        "confidence": "certain",
        "message": FINDING.message,
        "path": "train.py",
        "line": 4,
        "column": 9,
        "end_line": 4,
        "end_column": 23,
        "function": "main",
        "related": [
            {"path": "train.py", "line": 2, "column": 8, "message": "true on rank 0 only"},
            {"path": "lib/helper.py", "line": 2, "column": 5, "message": "called here"},
        ],
        "fix": {
            "applicability": "safe",
            "message": "move it out of the test",
            "edits": [
                {
                    "path": "train.py",
                    "line": 4,
                    "column": 5,
                    "end_line": 4,
                    "end_column": 9,
                    "text": "",
                }
            ],
        },
        "baselined": False,
    }
    assert document == {
        "version": 1,
        "findings": [expected],
        "fixed": [{**expected, "fix": None}],
        "files": {"checked": 2, "skipped": 3, "failed": 4},
    }


def test_github_gets_an_annotation_with_all_that_matters() -> None:
    assert github.render(report(FINDING), Screen()).splitlines()[0] == (
        "::error file=train.py,line=4,endLine=4,col=9,endColumn=23,"
        "title=CKP101 collective-save-on-some-ranks"
        "::only rank 0 reaches engine.save_checkpoint through helper(); the job hangs"
        "%0Atrain.py:2: true on rank 0 only%0Alib/helper.py:2: called here"
        "%0Ahelp: call it on every rank"
    )


def test_github_escapes_what_would_end_a_field() -> None:
    odd = replace(alone(1, 1, 2), message="100%\nsure: a,b")
    odd = replace(odd, span=replace(odd.span, path="a:b,c%.py"), severity=Severity.WARNING)
    line = github.render(report(odd), Screen()).splitlines()[0]
    assert line.startswith("::warning file=a%3Ab%2Cc%25.py,line=1,")
    assert "::100%25%0Asure: a,b%0Ahelp" in line


def test_github_annotates_ten_of_a_kind_and_logs_the_rest() -> None:
    errors = [replace(FINDING, message=f"e{n}") for n in range(12)]
    warnings = [replace(FINDING, message=f"w{n}", severity=Severity.WARNING) for n in range(3)]
    lines = github.render(report(*errors, *warnings), Screen()).splitlines()
    assert [line.split(" ")[0] for line in lines[:13]] == ["::error"] * 10 + ["::warning"] * 3
    assert lines[13:17] == [
        "::group::2 more findings; GitHub shows 10 of a kind",
        "train.py:4:9: CKP101[*] e10",
        "train.py:4:9: CKP101[*] e11",
        "::endgroup::",
    ]


def test_statistics_put_the_most_frequent_first() -> None:
    other = replace(FINDING, code="CKP103", name="barrier-on-some-ranks", fix=None)
    assert statistics.render(report(FINDING, other, other), Screen()) == (
        "2      CKP103 barrier-on-some-ranks\n1  [*] CKP101 collective-save-on-some-ranks\n"
    )


def test_the_summary_tells_what_was_left_out() -> None:
    told = replace(report(), files=Counts(checked=1, skipped=1, failed=2))
    assert full.render(told, Screen()) == (
        "No findings in 1 file.\n"
        "2 files could not be analysed (CKP900).\n"
        "1 test file not checked (--include-tests checks them).\n"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_every_kind_of_finding(name: str) -> None:
    unsafe = replace(FINDING, fix=Fix(Applicability.UNSAFE, "m", ()), severity=Severity.WARNING)
    text = render(report(FINDING, unsafe, not_analysed("gone.py", "why")), name, Screen())
    assert text.count("CKP900") >= 1
