"""Notebooks on the command line: findings, fixes and comments by cell, nothing else touched."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from workspace import BAD, GOOD, Workspace, places

IMPORTS = "!pip install deepspeed\nimport deepspeed\nimport torch.distributed as dist"
SAVE = """\
def train(engine: deepspeed.DeepSpeedEngine, out):
    if is_main:
        !mkdir -p \\
            "{out}"
        engine.save_checkpoint(out)
        files = !ls -l"""


def code(source: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 3,
        "id": more.pop("id", "c"),
        "metadata": {},
        "outputs": [],
        "source": source.splitlines(keepends=True),
        **more,
    }


def notebook(*cells: dict[str, Any]) -> str:
    named = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
    document = {
        "cells": named,
        "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "P"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def training() -> str:
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "aGVsbG8="}}
    return notebook(
        {"cell_type": "markdown", "metadata": {}, "source": "# Träning"},
        code(IMPORTS),
        code("%%bash\nif [ 1 ]; then"),
        code("is_main = dist.get_rank() == 0\n\n?dist.barrier"),
        code(SAVE, outputs=[picture]),
        code("await train(engine, '/tmp/x')"),
    )


def test_a_finding_is_placed_by_cell_and_so_is_what_explains_it(workspace: Workspace) -> None:
    workspace.put("train.ipynb", training())
    assert places(workspace.check()) == ["train.ipynb:cell 5:5:9 CKP101"]
    shown = workspace.run("check", "train.ipynb").stdout
    assert " --> train.ipynb:cell 5:5:9 in train\n" in shown
    assert " 3 |         !mkdir -p \\\n" in shown
    assert " 6 |         files = !ls -l\n" in shown
    assert " 2 |     if is_main:\n" in shown


def test_a_call_in_one_cell_explains_a_finding_in_another(workspace: Workspace) -> None:
    helper = "def keep(engine, out):\n    engine.save_checkpoint(out)\n"
    call = BAD.replace("engine.save_checkpoint(out)", "keep(engine, out)")
    workspace.put("a.ipynb", notebook(code(helper), code(call)))
    shown = workspace.run("check").stdout
    assert " --> a.ipynb:cell 2:6:9 in train\n" in shown
    assert " ::: a.ipynb:cell 1:2:5\n" in shown


def test_json_keeps_its_fields_and_adds_the_cell(workspace: Workspace) -> None:
    workspace.put("train.ipynb", training())
    workspace.write(train=BAD)
    report = json.loads(workspace.run("check", "--output-format", "json").stdout)
    in_cell, in_file = report["findings"]
    assert (in_cell["path"], in_cell["cell"], in_cell["line"]) == ("train.ipynb", 5, 5)
    assert [(r["cell"], r["line"], r["column"]) for r in in_cell["related"]] == [(5, 2, 8)]
    (edit,) = in_cell["fix"]["edits"]
    assert (edit["cell"], edit["line"], edit["column"]) == (5, 5, 1)
    assert edit["text"] == "    engine.save_checkpoint(out)\n    if is_main:"
    assert in_cell.keys() - in_file.keys() == {"cell"}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("github", "file=train.ipynb,line={row},endLine={row},col=1,endColumn=1,"),
        (
            "gitlab",
            '"path": "train.ipynb",\n      "positions": {{"begin": {{"line": {row}, "column": 1}}',
        ),
        ("junit", 'file="train.ipynb" line="{row}"'),
        (
            "rdjson",
            '"path": "train.ipynb",\n "range": {{\n "start": {{"line": {row}, "column": 1}}',
        ),
        ("sarif", '"region": {{"startLine": {row}, "startColumn": 1, "endLine": {row}'),
    ],
)
def test_programs_that_know_no_cells_are_told_the_line_of_the_file(
    workspace: Workspace, name: str, place: str
) -> None:
    path = workspace.put("train.ipynb", training())
    lines = path.read_text().splitlines()
    row = next(n for n, line in enumerate(lines, 1) if "engine.save_checkpoint" in line)
    shown = "".join(workspace.run("check", "--output-format", name).stdout.split())
    assert "".join(place.format(row=row).split()) in shown
    assert "(cell5,line5)" in shown
    assert ("trueonrank0only(cell5,line2)" in shown) is (name != "gitlab")  # it shows one place


def test_a_fix_touches_nothing_but_its_lines_and_the_notebook_stays_valid(
    workspace: Workspace,
) -> None:
    path = workspace.put("train.ipynb", training())
    before = path.read_bytes()
    result = workspace.check("--fix")
    assert result.stdout == "Found 1 finding (1 fixed, 0 remaining).\n"
    old = b'        engine.save_checkpoint(out)\\n",'
    new = b'    engine.save_checkpoint(out)\\n",\n    "    if is_main:\\n",'
    assert path.read_bytes() == before.replace(old, new)
    nbformat.validate(nbformat.read(path, as_version=4))
    assert workspace.check("--fix").stdout == "No findings in 1 file.\n"


def test_a_diff_shows_the_cells(workspace: Workspace) -> None:
    path = workspace.put("train.ipynb", training())
    before = path.read_bytes()
    result = workspace.run("check", "--diff")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "--- a/train.ipynb:cell 5\t",
        "+++ b/train.ipynb:cell 5\t",
        "@@ -2,5 +2,6 @@",
        "     if is_main:",
        "         !mkdir -p \\",
        '             "{out}"',
        "-        engine.save_checkpoint(out)",
        "+    engine.save_checkpoint(out)",
        "+    if is_main:",
        "         files = !ls -l",
    ]
    assert path.read_bytes() == before


def checked(workspace: Workspace, *sources: str) -> list[str]:
    text = notebook(*map(code, sources))
    return places(workspace.check("-", "--stdin-filename", "a.ipynb", stdin=text))


def test_comments_silence_within_their_cell(workspace: Workspace) -> None:
    meant = "# ckptlint: ignore[CKP101] meant"
    head = "import deepspeed\nimport torch.distributed as dist\nengine = deepspeed.initialize()[0]"
    test, save = "if dist.get_rank() == 0:", "    engine.save_checkpoint(out)"
    assert checked(workspace, f"{head}\n{test}\n{save}") == ["a.ipynb:cell 1:5:5 CKP101"]
    assert checked(workspace, f"{head}\n{test}\n    {meant}\n{save}") == []
    assert checked(workspace, f"{head}\n{test}\n{save}  {meant}") == []
    assert checked(workspace, head, f"{meant}\n{test}\n{save}") == []
    assert checked(workspace, f"{head}\n{meant}", f"{test}\n{save}") != []


def test_comments_are_written_and_taken_away_in_cells(workspace: Workspace) -> None:
    path = workspace.put("train.ipynb", training())
    before = path.read_bytes()
    assert workspace.check("--add-ignore", "meant").exit_code == 0
    comment = b'    "        # ckptlint: ignore[CKP101] meant\\n",\n'
    save = b'    "        engine.save_checkpoint(out)\\n",\n'
    assert path.read_bytes() == before.replace(save, comment + save)
    assert places(workspace.check()) == []
    path.write_bytes(before.replace(save, comment))
    assert places(workspace.check()) == ["train.ipynb:cell 5:5:9 CKP901"]
    workspace.check("--fix")
    assert path.read_bytes() == before.replace(save, b"")


def test_a_baseline_knows_findings_in_cells_wherever_these_move(workspace: Workspace) -> None:
    path = workspace.put("train.ipynb", training())
    assert workspace.check("--baseline", "known.json", "--update-baseline").exit_code == 0
    document = json.loads(path.read_text())
    document["cells"].insert(0, code("first = 1"))
    document["cells"][5]["source"].insert(1, "    # a new line\n")
    path.write_text(json.dumps(document))
    assert places(workspace.check("--baseline", "known.json")) == []
    assert places(workspace.check()) == ["train.ipynb:cell 6:6:9 CKP101"]


def test_a_picture_names_the_cells(workspace: Workspace) -> None:
    workspace.put("train.ipynb", training())
    drawn = workspace.run("trace", "train.ipynb::train").stdout
    assert drawn.startswith("train.ipynb  train")
    assert "cell 5:5" in drawn
    assert "CKP101 cell 5:5: only rank 0 reaches" in drawn


def test_standard_input_is_fixed_as_a_notebook(workspace: Workspace) -> None:
    result = workspace.run("check", "--fix", "-", "--stdin-filename", "x.ipynb", stdin=training())
    assert json.loads(result.stdout)["cells"][4]["source"][4:6] == [
        "    engine.save_checkpoint(out)\n",
        "    if is_main:\n",
    ]
    clean = notebook(code(GOOD))
    again = workspace.run("check", "--fix", "-", "--stdin-filename", "x.ipynb", stdin=clean)
    assert again.stdout == clean


def test_walking_finds_notebooks_and_passes_tests_over(workspace: Workspace) -> None:
    for name in ("a", "deep/b", "test_c", "tests/d", ".ipynb_checkpoints/a-checkpoint"):
        workspace.put(f"{name}.ipynb", notebook(code(BAD)))
    result = workspace.check()
    assert places(result) == ["a.ipynb:cell 1:6:9 CKP101", "deep/b.ipynb:cell 1:6:9 CKP101"]
    assert "2 test files not checked" in result.stdout


def test_a_notebook_sees_its_neighbours_and_is_nobodys_module(workspace: Workspace) -> None:
    workspace.write(keep="def keep(engine, out):\n    engine.save_checkpoint(out)\n")
    workspace.put("keep.ipynb", notebook(code("def keep(engine, out):\n    pass")))
    call = BAD.replace("engine.save_checkpoint(out)", "keep(engine, out)")
    workspace.put("train.ipynb", notebook(code("from keep import keep"), code(call)))
    assert places(workspace.check()) == ["train.ipynb:cell 2:6:9 CKP101"]


def test_a_cell_that_is_not_python_is_told_by_cell(workspace: Workspace) -> None:
    workspace.put("torn.ipynb", notebook(code("x = 1"), code("!ls\nprint 'old'"), code(BAD)))
    result = workspace.check()
    assert result.exit_code == 2
    assert places(result) == ["torn.ipynb:cell 2:2:1 CKP900"]
    assert " 2 | print 'old'\n" in workspace.run("check").stdout


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"cells": [', "torn.ipynb:1:1: CKP900 not analysed: not valid JSON"),
        ('{"nbformat": 3}', "not analysed: a notebook of the old format 3; `jupyter nbconvert"),
    ],
)
def test_a_damaged_or_old_notebook_is_told(workspace: Workspace, content: str, told: str) -> None:
    workspace.put("torn.ipynb", content)
    for arguments in ((), ("torn.ipynb",)):
        result = workspace.check(*arguments)
        assert result.exit_code == 2
        assert told in result.stdout


def test_an_empty_notebook_is_clean(workspace: Workspace) -> None:
    workspace.put("a.ipynb", notebook())
    workspace.put("b.ipynb", notebook(code(""), code("\n"), code("# nothing")))
    assert workspace.check().stdout == "No findings in 2 files.\n"
