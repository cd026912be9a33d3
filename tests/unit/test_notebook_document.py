"""A notebook changed in place: nothing but the source that changed, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptlint.finding import Edit, Span
from ckptlint.notebook import Notebook
from ckptlint.source import SourceError


def notebook(data: str | bytes) -> Notebook:
    return Notebook(Path("/n/a.ipynb"), "a.ipynb", data.encode() if isinstance(data, str) else data)


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit(Span("a.ipynb", line, column, end_line, end_column), text)


# Odd on purpose: keys in an unusual order, four kinds of spacing, escapes that were not needed.
ODD = r"""{ "nbformat":4,"nbformat_minor" : 5,
	"cells": [
  {"source": ["# caf\u00e9 \/ é\n",
              "x = 1\n",   "y = 2"], "outputs": [{"data": {"text/plain": ["\u00e9 x = 1"]}}],
   "metadata": {"b": 1e3, "a": 1.0}, "cell_type": "code", "execution_count": 7},
  {"cell_type": "markdown", "metadata": {}, "source": ["x = 1"]},
  {"cell_type": "raw", "metadata": {}, "source": ["x = 1"]},
  {"cell_type": "code", "outputs": [], "metadata": {}, "execution_count": null,
   "source": "\u007a = 3\nw = \"\u2603\""}
 ], "metadata": {}}"""


def test_lines_of_a_list_are_replaced_and_all_else_keeps_its_bytes() -> None:
    after = notebook(ODD).edited([edit(2, 1, 2, 6, "if x:\n    x = 2")])
    assert after.data.decode() == ODD.replace(
        '"x = 1\\n",   "y = 2"', '"if x:\\n",\n              "    x = 2\\n",\n              "y = 2"'
    )


def test_a_source_that_is_one_string_stays_one() -> None:
    after = notebook(ODD).edited([edit(6, 1, 6, 2, "v = 0\nw")])
    assert after.data.decode() == ODD.replace(r"\nw = \"\u2603", r"\nv = 0\nw = \"\u2603")


def test_characters_are_written_as_the_file_writes_them() -> None:
    assert "é☃" in notebook(ODD).edited([edit(2, 5, 2, 6, "'é☃'")]).data.decode()
    plain = ODD.replace("é", "e")
    assert r"x = '\u00e9\u2603'" in notebook(plain).edited([edit(2, 5, 2, 6, "'é☃'")]).data.decode()


def test_lines_can_go_and_a_list_of_one_line_can_grow() -> None:
    one = '{"nbformat": 4, "cells": [{"cell_type": "code", "source": [\r\n  "x"\r\n ]}]}'
    grown = notebook(one).edited([edit(1, 1, 1, 2, "a\nb\nc")]).data.decode()
    assert grown == one.replace('"x"', '"a\\n",\r\n  "b\\n",\r\n  "c"')
    shrunk = notebook(grown).edited([edit(1, 1, 3, 1, "")])
    assert shrunk.data.decode() == one.replace('"x"', '"c"')
    tight = notebook(one.replace("\r\n", "").replace(" ", "")).edited([edit(1, 2, 1, 2, "\ny")])
    assert '["x\\n", "y"]' in tight.data.decode()
    assert notebook(one).edited([edit(1, 1, 1, 2, "")]).data.decode().endswith('"source": []}]}')


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbf" + ODD.encode()
    assert notebook(data).edited([]).data == data
    assert notebook(data).lines[1] == "x = 1\n"


def test_several_edits_in_several_cells_go_in_at_once() -> None:
    after = notebook(ODD).edited(
        [edit(5, 1, 5, 2, "Z"), edit(3, 5, 3, 6, "4"), edit(2, 1, 2, 2, "X")]
    )
    cells = json.loads(after.data)["cells"]
    assert "".join(cells[0]["source"]) == "# café / é\nX = 1\ny = 4"
    assert cells[3]["source"] == 'Z = 3\nw = "☃"'


TEXTS = st.text(st.sampled_from('xé☃😀\\"/\n\t'), max_size=12)


@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS, st.data(), st.booleans(), st.booleans())
def test_any_edit_changes_its_cell_and_no_other_byte(
    cells: list[str], new: str, data: st.DataObject, listed: bool, ascii_only: bool
) -> None:
    before = [f"# {cell}".replace("\n", "\n# ") for cell in cells]
    written = [
        {"cell_type": "code", "source": s.splitlines(True) if listed else s, "é": "é"}
        for s in before
    ]
    text = json.dumps({"cells": written, "nbformat": 4}, indent=1, ensure_ascii=ascii_only)
    found = notebook(text)
    number = data.draw(st.integers(0, len(cells) - 1))
    start = data.draw(st.integers(0, len(before[number])))
    end = data.draw(st.integers(start, len(before[number])))

    def place(offset: int) -> tuple[int, int]:
        above = before[number][:offset].split("\n")
        return found.line(number + 1, len(above)), len(above[-1]) + 1

    after = found.edited([edit(*place(start), *place(end), new)])
    changed = f"{before[number][:start]}{new}{before[number][end:]}"
    sources = ["".join(cell["source"]) for cell in json.loads(after.data)["cells"]]
    assert sources == [*before[:number], changed, *before[number + 1 :]]
    head, tail = (json.dumps(each, ensure_ascii=ascii_only) for each in ("é", 4))
    assert after.json.count(f"{head}: {head}") == len(cells)
    assert after.json.endswith(f'"nbformat": {tail}\n}}')
    unchanged = [part for part in text.split(f'"{head[1:-1]}"') if part not in after.json]
    assert len(unchanged) <= 1


def test_an_edit_over_two_cells_is_refused() -> None:
    with pytest.raises(SourceError, match="another cell"):
        notebook(ODD).edited([edit(3, 1, 5, 2, "")])


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        ("", "not valid JSON", 1),
        ('{"nbformat": 4,\n"cells": [', "not valid JSON", 2),
        ("{}", "does not say which nbformat", 1),
        ("[]", "does not say which nbformat", 1),
        ('{"nbformat": 4}', "no list of cells", 1),
        ('{"nbformat": 3, "worksheets": []}', "jupyter nbconvert --to notebook --inplace", 1),
        (b'{"nbformat": 4,\n"cells": [], "\xff": 1}', "not valid utf-8", 2),
        ("[" * 100_000, "nested too deeply", 1),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_reason(
    data: str | bytes, reason: str, line: int
) -> None:
    with pytest.raises(SourceError, match=reason) as caught:
        _ = notebook(data).tree
    assert caught.value.line == line
    assert notebook(data).pieces == {"a.ipynb": notebook(data)}


@pytest.mark.parametrize(
    "cell",
    [
        {"cell_type": "code"},
        {"cell_type": "code", "source": 3},
        {"cell_type": "code", "source": ["x", 3]},
        {"cell_type": "code", "source": "SELECT x", "metadata": {"vscode": {"languageId": "sql"}}},
        {"source": "not python"},
        7,
    ],
)
def test_a_cell_without_python_is_passed_over(cell: object) -> None:
    good = {"cell_type": "code", "source": "x = 1", "metadata": {}}
    assert notebook(json.dumps({"nbformat": 4, "cells": [cell, good]})).text == "x = 1\n\n"


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({}, "x\n\n"),
        ({"kernelspec": {"language": "python"}}, "x\n\n"),
        ({"kernelspec": {"name": "ir", "language": "R"}}, ""),
        ({"language_info": {"name": "julia"}}, ""),
        ({"language_info": {"name": "ipython"}}, "x\n\n"),
        ([], "x\n\n"),
    ],
)
def test_a_notebook_of_another_language_has_no_cells_of_ours(metadata: object, text: str) -> None:
    cells = [{"cell_type": "code", "source": "x"}]
    found = notebook(json.dumps({"nbformat": 4, "metadata": metadata, "cells": cells}))
    assert found.text == text


def test_a_cell_may_be_indented_as_a_whole() -> None:
    source = "  if x:\n    y\n  z\nw"
    found = notebook(
        json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": source}]})
    )
    assert [node.lineno for node in found.tree.body] == [1, 3, 4]


def test_a_bracket_does_not_reach_into_the_next_cell() -> None:
    cells = [{"cell_type": "code", "source": source} for source in ("x = 1", "y = (", ")")]
    with pytest.raises(SourceError) as caught:
        _ = notebook(json.dumps({"nbformat": 4, "cells": cells})).tree
    assert (caught.value.cell, caught.value.line) == (2, 1)


def test_places_on_a_hidden_line_are_those_of_the_command() -> None:
    cells = [{"cell_type": "code", "source": source} for source in ("a", "x = !ls -l\ny")]
    found = notebook(json.dumps({"nbformat": 4, "cells": cells}))
    line = found.lines[2].rstrip("\n")
    assert found.placed(Span("a.ipynb", 3, 1, 3, len(line) + 1)) == Span("a.ipynb", 1, 1, 1, 11, 2)
    assert found.written(line) == "x = !ls -l"
    assert found.pieces["a.ipynb:cell 2"].text == "x = !ls -l\ny\n"


def test_a_line_of_a_cell_is_found_in_the_file() -> None:
    first, last = notebook(ODD).pieces.values()
    assert [first.row(line) for line in (1, 2, 3)] == [3, 4, 4]
    assert [last.row(line) for line in (1, 2)] == [9, 9]
    odd = '{"nbformat": 4, "cells": [{"cell_type": "code", "source": [\n"a",\n"b\\nc\\n",\n"d"]}]}'
    (cell,) = notebook(odd).pieces.values()
    assert [cell.row(line) for line in (1, 2, 3)] == [2, 3, 4]
