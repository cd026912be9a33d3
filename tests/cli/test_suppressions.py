"""Comments that silence findings, as users write, keep and lose them."""

from __future__ import annotations

import json

import pytest

from workspace import BAD, GOOD, Workspace, places

SILENCED = BAD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] one rank\n")
IDLE = GOOD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] one rank\n")
HELPER = (
    "def save(engine, out):\n    engine.save_checkpoint(out)  # ckptlint: ignore[CKP101] meant\n"
)
CALLER = BAD.replace("engine.save_checkpoint(out)", "save(engine, out)").replace(
    "import deepspeed\n", "import deepspeed\nfrom helper import save\n"
)


def test_a_comment_that_silences_nothing_is_found_and_taken_away(workspace: Workspace) -> None:
    workspace.write(used=SILENCED, idle=IDLE)
    result = workspace.check()
    assert places(result) == ["idle.py:5:34 CKP901"]
    assert result.exit_code == 1
    assert workspace.check("--fix").exit_code == 0
    assert (workspace.root / "idle.py").read_text() == GOOD
    assert (workspace.root / "used.py").read_text() == SILENCED


def test_a_fix_that_mends_the_code_leaves_no_comment_behind(workspace: Workspace) -> None:
    text = BAD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP103]\n")
    path = workspace.put("train.py", text)
    assert workspace.check("--fix", "--unsafe-fixes").exit_code == 0
    assert "ckptlint" not in path.read_text()
    assert "get_rank" not in path.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select", "CKP103,CKP901"],
        ["--ignore", "CKP101"],
        ["--ignore", "CKP901"],
        ["--select", "CKP901"],
    ],
)
def test_only_rules_that_ran_call_a_comment_unused(
    workspace: Workspace, arguments: list[str]
) -> None:
    workspace.write(idle=IDLE)
    assert places(workspace.check(*arguments)) == []


def test_a_comment_that_is_used_by_another_file_is_used_whichever_file_is_named(
    workspace: Workspace,
) -> None:
    workspace.write(helper=HELPER, caller=CALLER)
    assert places(workspace.check()) == []
    assert places(workspace.check("helper.py")) == []
    assert places(workspace.check("caller.py")) == []
    (workspace.root / "caller.py").unlink()
    assert places(workspace.check("helper.py")) == ["helper.py:2:34 CKP901"]


def test_findings_below_the_shown_confidence_use_their_comments(workspace: Workspace) -> None:
    # The name "engine" is the usual one, no more: the finding is not certain.
    text = SILENCED.replace("engine: deepspeed.DeepSpeedEngine", "engine")
    workspace.write(train=text)
    assert places(workspace.check("--confidence", "possible")) == []
    assert places(workspace.check("--confidence", "certain")) == []
    workspace.write(train=text.split("  # ckptlint")[0] + "\n")
    assert places(workspace.check("--confidence", "possible")) == ["train.py:6:9 CKP101"]
    assert places(workspace.check("--confidence", "certain")) == []


def test_where_a_file_was_not_analysed_no_comment_is_judged(workspace: Workspace) -> None:
    workspace.write(idle=IDLE, torn="def broken(rank:\n")
    result = workspace.check()
    assert places(result) == ["torn.py:1:1 CKP900"]
    assert places(workspace.check("--ignore", "CKP900")) == []


@pytest.mark.parametrize("torn", ["def broken(:\n", b"\xff\xfe"])
def test_a_torn_file_around_the_named_one_counts_too(
    workspace: Workspace, torn: str | bytes
) -> None:
    text = CALLER.replace("save(engine, out)\n", "save(engine, out)  # ckptlint: ignore[CKP101]\n")
    workspace.write(helper=HELPER, caller=text)
    assert workspace.check("caller.py").exit_code == 0
    workspace.write(helper=torn)
    result = workspace.check("caller.py")
    assert (result.exit_code, places(result)) == (0, [])
    assert result.stdout == "No findings in 1 file.\n"


def test_findings_about_comments_can_be_ignored_like_others(workspace: Workspace) -> None:
    workspace.write(idle=IDLE.replace("[CKP101]", "[CKP101, CKP901]"), other=IDLE)
    workspace.put("ckptlint.toml", '[per-file-ignores]\n"other.py" = ["CKP901"]\n')
    assert places(workspace.check()) == []


def test_what_a_fix_of_a_comment_would_do_is_told_in_json(workspace: Workspace) -> None:
    workspace.write(idle=IDLE)
    (finding,) = json.loads(workspace.run("check", "--output-format", "json").stdout)["findings"]
    assert finding["fix"]["applicability"] == "safe"
    assert (finding["severity"], finding["baselined"]) == ("warning", False)


# -- writing comments ------------------------------------------------------------------------------

COMMENT = "# ckptlint: ignore[CKP101] one rank, see #12"


def added(workspace: Workspace, text: str | bytes, *arguments: str) -> bytes:
    """Silence what is found in a file, see that nothing is found any more, return the file."""
    path = workspace.put("train.py", text)
    result = workspace.check("--add-ignore", "one rank, see #12", *arguments)
    assert result.exit_code == 0
    assert places(result) == []
    assert "Silenced" in result.stdout
    again = workspace.check("--confidence", "possible")
    assert (again.exit_code, places(again)) == (0, [])
    return path.read_bytes()


def test_a_comment_with_the_reason_is_written_above_the_statement(workspace: Workspace) -> None:
    lines = added(workspace, BAD).decode().splitlines()
    assert lines[5:] == [f"        {COMMENT}", "        engine.save_checkpoint(out)"]


def test_only_the_new_lines_differ(workspace: Workspace) -> None:
    text = BAD.replace("    ", "\t").replace("\n", "\r\n").replace("out)\r\n", "out) # é \t\r\n")
    after = added(workspace, b"\xef\xbb\xbf" + text.encode())
    line = f"\t\t{COMMENT}\r\n".encode()
    assert after.count(line) == 1
    assert after.replace(line, b"") == b"\xef\xbb\xbf" + text.encode()


def test_the_encoding_is_kept(workspace: Workspace) -> None:
    text = f"# -*- coding: latin-1 -*-\nname = 'é'\n{BAD}".encode("latin-1")
    after = added(workspace, text)
    assert after.replace(f"        {COMMENT}\n".encode(), b"") == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "        x = k(\n            engine.save_checkpoint(\n            out),\n        )\n",
            f"        {COMMENT}\n        x = k(\n",
        ),
        (
            "        text = '''\n'''; engine.save_checkpoint(out)\n",
            f"        {COMMENT}\n        text = '''\n",
        ),
        (
            "        x = 1; \\\n        engine.save_checkpoint(out)\n",
            f"        {COMMENT}\n        x = 1; \\\n",
        ),
        (
            "        # Why it is saved.\n        engine.save_checkpoint(out)\n",
            f"        # Why it is saved.\n        {COMMENT}\n        engine",
        ),
        (
            "        # ckptlint: ignore[CKP103] other\n        engine.save_checkpoint(out)\n",
            f"        # ckptlint: ignore[CKP103] other\n        {COMMENT}\n        engine",
        ),
        ("        engine.save_checkpoint(out)", f"        {COMMENT}\n        engine"),
        (
            "        if out: engine.save_checkpoint(out)\n        else: print(out)\n",
            f"        {COMMENT}\n        if out: engine",
        ),
    ],
    ids=["lines", "string", "backslash", "comment", "suppression", "no newline", "one-liner"],
)
def test_the_comment_stands_where_the_statement_allows(
    workspace: Workspace, before: str, after: str
) -> None:
    head = BAD[: BAD.index("        engine")]
    path = workspace.put("train.py", head + before)
    result = workspace.check("--add-ignore", "one rank, see #12", "--ignore", "CKP901")
    assert (result.exit_code, places(result)) == (0, [])
    assert path.read_text().startswith(head + after)
    compile(path.read_text(), "train.py", "exec")
    assert places(workspace.check("--ignore", "CKP901")) == []


def test_one_comment_names_all_rules_of_a_statement(workspace: Workspace) -> None:
    text = BAD.replace("        engine.save_checkpoint(out)\n", "        pass\n") + (
        "    rank = dist.get_rank()\n"
        "    rank == 0 and engine.save_checkpoint(out); rank == 0 and dist.barrier()\n"
    )
    workspace.write(train=text)
    codes = sorted({place.split()[1] for place in places(workspace.check())})
    assert len(codes) == 2
    after = added(workspace, text).decode()
    assert f"    # ckptlint: ignore[{', '.join(codes)}] one rank, see #12\n" in after


def test_several_files_are_silenced_at_once(workspace: Workspace) -> None:
    workspace.write(one=BAD, clean=GOOD)
    workspace.put("größe 1/two.py", BAD + BAD[BAD.index("    if") :])
    result = workspace.check("--add-ignore", "reviewed in May")
    assert result.stdout == "Silenced 3 findings; 0 remaining.\n"
    assert (workspace.root / "clean.py").read_text() == GOOD
    assert workspace.check().exit_code == 0


def test_nothing_to_silence_changes_nothing(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    result = workspace.check("--add-ignore", "why")
    assert (result.exit_code, result.stdout) == (0, "No findings in 1 file.\n")
    assert (workspace.root / "train.py").read_text() == GOOD


def test_what_would_be_written_can_be_seen_before(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.run("check", "--add-ignore", "why", "--diff")
    assert result.exit_code == 1
    assert "+        # ckptlint: ignore[CKP101] why\n" in result.stdout
    assert "Would silence 1 finding; 0 would remain." in result.stderr
    assert (workspace.root / "train.py").read_text() == BAD


def test_standard_input_is_silenced_onto_standard_output(workspace: Workspace) -> None:
    result = workspace.run("check", "-", "--add-ignore", "why", stdin=BAD)
    assert "        # ckptlint: ignore[CKP101] why\n        engine.save" in result.stdout
    assert "Silenced 1 finding" in result.stderr


def test_what_is_no_fault_of_the_code_is_not_silenced(workspace: Workspace) -> None:
    workspace.write(torn="def broken(rank:\n", idle=IDLE)
    result = workspace.check("--add-ignore", "why")
    assert result.exit_code == 2
    assert (workspace.root / "torn.py").read_text() == "def broken(rank:\n"
    assert (workspace.root / "idle.py").read_text() == IDLE


def test_a_file_whose_encoding_lacks_the_words_is_left_and_told(workspace: Workspace) -> None:
    text = f"# -*- coding: ascii -*-\n{BAD}"
    workspace.write(train=text, other=BAD)
    result = workspace.check("--add-ignore", "größer")
    assert result.exit_code == 1
    assert places(result) == ["train.py:7:9 CKP101"]
    assert "train.py:7: CKP101 is not silenced: the file cannot hold the comment" in result.stderr
    assert (workspace.root / "train.py").read_text() == text
    assert "größer" in (workspace.root / "other.py").read_text("utf-8")


def test_a_read_only_file_is_left_and_told(workspace: Workspace) -> None:
    path = workspace.put("train.py", BAD)
    path.chmod(0o444)
    result = workspace.check("--add-ignore", "why")
    assert result.exit_code == 2
    assert "cannot write train.py: it is read-only" in result.stderr
    assert path.read_text() == BAD


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("", "give the reason"),
        ("  ", "give the reason"),
        ("two\nlines", "one line"),
        ("see # noqa", "holds another comment"),
        ("a  # type: ignore", "holds another comment"),
        ("# ckptlint: ignore[CKP103]", "holds another comment"),
        ("the coding: utf-8 cookie", "encoding of the file"),
    ],
)
def test_a_reason_that_is_none_is_refused(workspace: Workspace, reason: str, why: str) -> None:
    workspace.write(train=BAD)
    result = workspace.check("--add-ignore", reason)
    assert result.exit_code == 2
    assert why in result.stderr
    assert (workspace.root / "train.py").read_text() == BAD


def test_fixing_and_silencing_are_two_steps(workspace: Workspace) -> None:
    result = workspace.check("--add-ignore", "why", "--fix")
    assert result.exit_code == 2
    assert "fix first, then silence the rest" in result.stderr


# -- notebooks -------------------------------------------------------------------------------------


def notebook(*cells: str) -> str:
    """Write a notebook whose cells hold these texts."""
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"c{number}",
                    "metadata": {},
                    "outputs": [],
                    "execution_count": None,
                    "source": text,
                }
                for number, text in enumerate(cells)
            ],
        }
    )


def cells(workspace: Workspace) -> list[str]:
    document = json.loads((workspace.root / "train.ipynb").read_text())
    return [cell["source"] for cell in document["cells"]]


def test_comments_of_a_notebook_are_written_and_taken_away_in_their_cells(
    workspace: Workspace,
) -> None:
    head, body = BAD.split("\n\n")
    workspace.put("train.ipynb", notebook("%matplotlib inline", head, f"%time\n{body}"))
    result = workspace.check("train.ipynb", "--add-ignore", "one rank, see #12")
    assert (result.exit_code, places(result)) == (0, [])
    silenced = body.replace("        engine", f"        {COMMENT}\n        engine")
    assert cells(workspace) == ["%matplotlib inline", head, f"%time\n{silenced}"]
    idle = body.replace(
        "    if dist.get_rank() == 0:\n        engine", f"    {COMMENT}\n    engine"
    )
    workspace.put("train.ipynb", notebook(head, idle, COMMENT))
    assert workspace.check("train.ipynb", "--fix").exit_code == 0
    assert cells(workspace) == [head, idle.replace(f"    {COMMENT}\n", ""), ""]
