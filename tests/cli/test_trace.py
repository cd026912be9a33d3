"""``ckptlint trace`` as it is called from a shell."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from workspace import BAD, GOOD, Workspace

SVG = "{http://www.w3.org/2000/svg}"
HELPERS = """\
import torch.distributed as dist

class Keeper:
    def sync(self):
        if dist.get_rank() != 0:
            dist.barrier()
        if dist.get_rank() == 0:
            dist.barrier()

    def leave(self, done):
        for step in range(9):
            if done:
                continue
            if dist.get_rank() != 0:
                return
            dist.barrier()

def quiet(x):
    return x + 1

def outer():
    def inner():
        dist.barrier()
    inner()

def fails():
    if dist.get_rank() != 0:
        raise RuntimeError("rank 0 only")
    dist.barrier()

import sys
def gives_up():
    if dist.get_rank() != 0:
        sys.exit(1)
    dist.barrier()

def chooses(kind):
    if kind == 1:
        dist.barrier()
    elif kind == 2:
        dist.barrier()
    else:
        dist.barrier()
"""


def lines(text: str) -> list[str]:
    """Return lines with blanks squeezed, so that a test speaks of what stands in them."""
    return [re.sub(r"[ ━╌═]+", " ", line).strip() for line in text.splitlines()]


def test_the_call_that_never_meets_is_drawn_broken_with_its_finding(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.run("trace", "train.py")
    assert result.exit_code == 0
    drawn = lines(result.stdout)
    assert drawn[0] == "train.py train its one collective is not reached by every rank"
    assert "rank 0 the other ranks" in drawn
    assert "◆ yes ◇ no 5 if dist.get_rank() == 0:" in drawn
    assert "● ○ 6 engine.save_checkpoint(out) CKP101" in drawn
    assert "waits never comes" in drawn
    assert "●╌╌╌" in result.stdout
    assert drawn[-2].startswith("CKP101 line 6: only rank 0 reaches engine.save_checkpoint")
    assert drawn[-1].startswith("help: call it on every rank")


def test_ranks_that_meet_are_joined(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    result = workspace.run("trace", "train.py")
    assert "all ranks meet in 1 collective" in result.stdout
    assert "● ● 5 engine.save_checkpoint(out)" in lines(result.stdout)
    assert "●━━━" in result.stdout
    assert "CKP" not in result.stdout


def test_barriers_in_two_arms_share_a_bar(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    drawn = lines(workspace.run("trace", "keep.py::Keeper.sync").stdout)
    assert drawn[0] == "keep.py Keeper.sync all ranks meet in 1 collective"
    assert drawn[4:8] == [
        "◇ no ◆ yes 5 if dist.get_rank() != 0:",
        "◆ yes ◇ no 7 if dist.get_rank() == 0:",
        "● ● 6 dist.barrier()",
        "│ │ 8 dist.barrier()",
    ]


def test_loops_choices_and_exits_are_drawn(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    drawn = lines(workspace.run("trace", "keep.py::Keeper.leave").stdout)
    assert drawn[4:-4] == [
        "╭ │ │ 11 for step in range(9):",
        "│ ╭ │ │ 12 if done:",
        "│ │ ┴ continue ┴ continue 13 continue",
        "│ ╰ │ │",
        "│ ◇ no ◆ yes 14 if dist.get_rank() != 0:",
        "│ │ ┴ return 15 return",
        "│ ● ○ 16 dist.barrier() CKP104",
        "│ waits never comes",
        "╰ │ │",
    ]


def test_a_chain_of_elif_is_not_nested(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    drawn = lines(workspace.run("trace", "keep.py::chooses").stdout)
    assert drawn[4:13] == [
        "╭ │ │ 38 if kind == 1:",
        "│ ● ● 39 dist.barrier()",
        "╰ │ │",
        "╭ │ │ 40 elif kind == 2:",
        "│ ● ● 41 dist.barrier()",
        "╰ │ │",
        "╭ │ │ 40 elif kind == 2: otherwise",
        "│ ● ● 43 dist.barrier()",
        "╰ │ │",
    ]


def test_an_exception_ends_a_column(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    drawn = lines(workspace.run("trace", "keep.py::fails").stdout)
    assert '│ ┴ raise 28 raise RuntimeError("rank 0 only")' in drawn
    assert "● 29 dist.barrier() alone here" in drawn
    drawn = lines(workspace.run("trace", "keep.py::gives_up").stdout)
    assert "● 35 dist.barrier() alone here" in drawn
    assert "│ ┴ raise 34 sys.exit(1)" in drawn


def test_rules_that_are_switched_on_are_drawn(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    workspace.put("ckptlint.toml", 'extend-select = ["CKP110"]\n')
    drawn = lines(workspace.run("trace", "keep.py::fails").stdout)
    assert "● ○ 29 dist.barrier() CKP110" in drawn


def test_a_call_in_which_all_ranks_meet_is_folded(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    drawn = workspace.run("trace", "keep.py::outer").stdout
    assert "═══" in drawn
    assert "1 collective in outer.inner()" in drawn


def test_a_helper_in_another_file_is_drawn_with_its_name(workspace: Workspace) -> None:
    workspace.write(
        helper="def save(engine, out):\n    engine.save_checkpoint(out)\n",
        train=BAD.replace("engine.save_checkpoint(out)", "save(engine, out)").replace(
            "import deepspeed\n", "import deepspeed\nfrom helper import save\n"
        ),
    )
    drawn = lines(workspace.run("trace", "train.py").stdout)
    assert "╭ │ │ 7 save(engine, out) in save()" in drawn
    assert "│ ● ○ helper.py:2 engine.save_checkpoint(out) CKP101" in drawn


def test_a_node_leader_has_a_column_where_it_differs(workspace: Workspace) -> None:
    workspace.write(train=BAD.replace("dist.get_rank()", 'int(os.environ["LOCAL_RANK"])'))
    path = workspace.root / "train.py"
    path.write_text(f"import os\n{path.read_text()}")
    drawn = lines(workspace.run("trace", "train.py").stdout)
    assert "rank 0 the other ranks node firsts" in drawn
    assert any(line.startswith("● ○ ● 7 ") for line in drawn)


def test_without_findings_the_functions_that_communicate_are_drawn(workspace: Workspace) -> None:
    workspace.write(train=f"{GOOD}\ndef quiet():\n    pass\n\ntrain(None, None)\n")
    result = workspace.run("trace", "train.py")
    assert result.stdout.count("train.py  ") == 1


def test_only_functions_with_findings_are_drawn_where_there_are_some(workspace: Workspace) -> None:
    good = GOOD.partition("def ")[2].replace("train", "other")
    workspace.write(train=f"{BAD}\ndef {good}\ntrain(None, None)\n")
    result = workspace.run("trace", "train.py")
    assert re.findall(r"^train\.py  (\S+)", result.stdout, re.M) == ["train"]


def test_a_function_without_collectives_gives_a_picture_that_says_so(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    result = workspace.run("trace", "keep.py::quiet")
    assert result.exit_code == 0
    assert result.stdout.strip() == "keep.py  quiet  no collective is reached"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("keep.py::Keeper.snyc", "keep.py has no function Keeper.snyc; did you mean Keeper.sync?"),
        ("keep.py::oute", "keep.py has no function oute; did you mean outer?"),
        ("keep.py::zzz", "keep.py has no function zzz"),
        ("two.py::save", "two.py has several functions save: A.save, B.save"),
        ("gone.py", "no such file or folder"),
        (".", ". is a folder; name one of its files"),
        ("torn.py", "torn.py:1: syntax error"),
        ("plain.py", "plain.py: no function of it reaches a collective that is known"),
    ],
)
def test_errors_say_what_is_wrong(workspace: Workspace, target: str, message: str) -> None:
    workspace.write(keep=HELPERS, torn="def broken(:\n", plain="x = 1\n")
    workspace.write(two="class A:\n def save(self): pass\nclass B:\n def save(self): pass\n")
    result = workspace.run("trace", target)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_the_end_of_a_name_will_do(workspace: Workspace) -> None:
    workspace.write(keep=HELPERS)
    assert "keep.py  Keeper.sync" in workspace.run("trace", "keep.py::sync").stdout
    assert "keep.py  outer.inner" in workspace.run("trace", "keep.py::inner").stdout


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_pictures_keep_within_the_terminal(workspace: Workspace, width: int) -> None:
    long = f'out + "{"é漢" * 60}"'
    workspace.write(train=BAD.replace("save_checkpoint(out)", f"save_checkpoint({long})"))
    shown = _in_terminal(workspace.root, width)
    picture = shown.partition("\nCKP101")[0].splitlines()[1:]
    assert "engine.save" in shown
    assert max(map(_cells, picture)) <= width


def _in_terminal(folder: Path, width: int) -> str:
    """Run the command with a terminal of this width as its output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "ckptlint", "trace", "train.py"],
        cwd=folder,
        stdout=theirs,
        env=environment,
    )
    os.close(theirs)
    data = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    assert process.wait() == 0
    os.close(ours)
    return data.decode().replace("\r\n", "\n")


def _cells(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_colours_are_for_people(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write(train=BAD)
    assert "\x1b[" not in workspace.run("trace", "train.py").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31m●╌╌" in workspace.run("trace", "train.py").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in workspace.run("trace", "train.py").stdout


def test_a_terminal_without_unicode_gets_plain_characters(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = subprocess.run(
        [sys.executable, "-m", "ckptlint", "trace", "train.py"],
        cwd=workspace.root,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert "*-----" in result.stdout.decode("ascii")


HOSTILE = BAD.replace(
    "def train(engine: deepspeed.DeepSpeedEngine, out):",
    """\
def train(engine: deepspeed.DeepSpeedEngine, out):
    \"\"\"</script><script>alert(1)</script>\"\"\"
""",
).replace("(out)\n", '(out + "</svg><script>alert(1)</script>\x1b&amp;")\n')


def test_an_svg_is_xml_with_what_the_picture_says(workspace: Workspace) -> None:
    workspace.write(train=HOSTILE)
    workspace.run("trace", "train.py", "--output-file", "out.svg")
    root = ElementTree.parse(workspace.root / "out.svg").getroot()
    assert root.tag == f"{SVG}svg"
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "style", "rect", "line", "circle", "path", "text", "title", "desc"}
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"rank 0", "the other ranks", "waits", "never comes", "CKP101"} <= set(texts)
    assert any("</svg><script>" in (text or "") for text in texts)
    (told,) = root.iter(f"{SVG}desc")
    assert (told.text or "").endswith(
        "engine.save_checkpoint, line 8, is called by rank 0, waiting in vain for the other ranks."
    )
    assert [e.get("class") for e in root.iter(f"{SVG}circle")] == ["dot bad", "hole bad"]


def test_all_words_of_an_svg_lie_within_it(workspace: Workspace) -> None:
    call = "very_long_name_of_a_function_that_waits_for_every_rank_of_the_job"
    workspace.write(
        train=f"import torch.distributed as dist\n\ndef {call}():\n    dist.barrier()\n\n"
        f"def main():\n    result = first_of(second_of({call}(), 1, 2, 3, 4, 5), 6, 7, 8, 9)\n"
    )
    workspace.run("trace", "train.py::main", "--output-file", "out.svg")
    (drawing,) = ElementTree.parse(workspace.root / "out.svg").getroot().findall(f"{SVG}svg")
    (remark,) = (e for e in drawing.iter(f"{SVG}text") if "1 collective in" in (e.text or ""))
    reach = float(remark.get("x", "0")) + 6 * len(remark.text or "")
    assert reach < float(drawing.get("width", "0"))


class _Page(HTMLParser):
    """Collects elements and the stack of open ones."""

    VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_needs_nothing_but_itself(workspace: Workspace) -> None:
    workspace.write(train=HOSTILE)
    result = workspace.run("trace", "train.py", "--output-format", "html")
    page = _Page(result.stdout)
    assert page.open == []
    assert "script" not in page.tags
    assert {"svg", "figure", "h2", "title"} <= set(page.tags)
    assert not re.search(r"(src|href)=|url\(|@import", result.stdout)


def test_the_format_follows_the_name_of_the_file(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    for name, begins in (("a.svg", "<svg"), ("b.html", "<!doctype html>"), ("c.txt", "train.py")):
        assert workspace.run("trace", "train.py", "--output-file", name).stdout == ""
        assert (workspace.root / name).read_text().startswith(begins)


def test_a_picture_that_cannot_be_written_is_an_error(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.run("trace", "train.py", "--output-file", "missing/a.svg")
    assert result.exit_code == 2
    assert "cannot write missing/a.svg" in result.stderr
