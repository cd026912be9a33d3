"""What only IPython understands is hidden, and comes back to the letter."""

from __future__ import annotations

import ast

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from ckptlint.notebook.syntax import masked, plain, runs_python

# One cell each; ``@`` marks where the call stands that hides what IPython reads.
CELLS = {
    "%cd /tmp": "@",
    "%%time\nx = f()": "@\nx = f()",
    "!ls": "@",
    "!!ls": "@",
    "!echo don't": "@",
    '!echo "quoted': "@",
    "?f": "@",
    "??f": "@",
    "f?": "@",
    "f.g??": "@",
    ",f a b": "@",
    ";f a b": "@",
    "/f a, b": "@",
    "files = !ls": "files = @",
    "files: list = !ls # c": "files: list = @",
    "a[0], b.c = %time f()": "a[0], b.c = @",
    'a["=!"] = !ls': 'a["=!"] = @',
    "if x:\n    !ls\n    f()": "if x:\n    @\n    f()",
    "if x:\n\t%cd a\nelse:\n\t!ls": "if x:\n\t@\nelse:\n\t@",
    "!ls \\\n  -l \\\n  -a\nf()": "@\n@\n@\nf()",
    "f()\n!ls \\": "f()\n@",
    "if x:\n    !ls \\\n      -l\n    f()": "if x:\n    @\n    @\n    f()",
    "x = !ls \\\n  -l": "x = @\n@",
    'f("""\n!ls\n""")\n!ls': 'f("""\n!ls\n""")\n@',
    "f('''\n%cd \\''' ? ''')\n%cd": "f('''\n%cd \\''' ? ''')\n@",
    "f(a\n% b)\n%cd": "f(a\n% b)\n@",
    "x = a \\\n% b\n%cd": "x = a \\\n% b\n@",
    "f()  # what?\n!ls": "f()  # what?\n@",
    "f('what?')\n!ls": "f('what?')\n@",
    "x = '#'; y = a % b\n!ls": "x = '#'; y = a % b\n@",
    "x != y\nx %= y\n!ls": "x != y\nx %= y\n@",
    "f(x=\n!ls)": None,
    "pip install -q deepspeed": "@",
    "cd ..": "@",
    "x = 1\r\n!ls\r\nf()\r\n": "x = 1\r\n@\r\nf()\r\n",
}


@pytest.mark.parametrize("cell", CELLS)
def test_commands_are_hidden_line_by_line(cell: str) -> None:
    expected = CELLS[cell]
    found = masked(cell, 3)
    shown = found.code
    for call in found.hidden:
        shown = shown.replace(call, "@")
    assert shown == (cell if expected is None else expected)
    if expected is not None:
        ast.parse(found.code)
    assert plain(found.code, found.hidden) == cell or "\\\n" in cell


@pytest.mark.parametrize(
    # A command over several lines is one line to IPython, and the bare words of its magics and its
    # automatic calls depend on what the names hold at the time.
    "cell",
    [c for c in CELLS if not c.startswith(("%%", "pip", "cd", ",", ";", "/")) and "\\\n" not in c],
)
def test_ipython_sees_a_command_in_the_same_lines(cell: str) -> None:
    """A line is hidden when IPython rewrites it, and left alone when it does not."""
    text = cell.replace("\r\n", "\n")
    hidden = masked(text, 1).hidden
    after = TransformerManager().transform_cell(text).splitlines()
    changed = [
        n for n, (a, b) in enumerate(zip(text.splitlines(), after, strict=True), 1) if a != b
    ]
    assert [int(call.split("_")[3].strip("()")) for call in hidden] == changed


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("x = 1", True),
        ("", True),
        ("%%time\nx = 1", True),
        ("\n%%capture out\nx = 1", True),
        ("%%bash\nls", False),
        ("%%writefile train.py\nx = 1", False),
        ("%%html\n<p>", False),
        ("%%!\nls", False),
        ("%time x", True),
    ],
)
def test_cells_of_other_languages_are_no_part_of_the_program(cell: str, python: bool) -> None:
    assert runs_python(cell) is python
