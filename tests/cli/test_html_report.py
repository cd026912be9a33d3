"""``ckptlint check --output-format html``: the page that a team publishes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from workspace import BAD, GOOD, Workspace

VOID = {"meta", "input", "br", "link", "img"}


@dataclass
class Element:
    """An element of a page: what it is, and all text below it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    pieces: list[str | Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(p if isinstance(p, str) else p.text for p in self.pieces)

    def all(self, tag: str, kind: str = "") -> list[Element]:
        """Return the elements below with this tag and, when given, this class."""
        found = []
        for child in self.children:
            classes = (child.attributes.get("class") or "").split()
            if child.tag == tag and (not kind or kind in classes):
                found.append(child)
            found.extend(child.all(tag, kind))
        return found


class _Parser(HTMLParser):
    """Builds the tree, and refuses what does not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.stack[-1].children.append(element)
        self.stack[-1].pieces.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.stack[-1].pieces.append(data)


def parsed(text: str) -> Element:
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert len(parser.stack) == 1, "something was not closed"
    return parser.stack[0]


def page(workspace: Workspace, *arguments: str) -> Element:
    return parsed(workspace.run("check", "--output-format", "html", *arguments).stdout)


def test_a_finding_is_shown_with_all_that_explains_it(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    root = page(workspace)
    (finding,) = root.all("details", "finding")
    assert "open" in finding.attributes
    summary = finding.all("summary")[0].text
    assert "CKP101only rank 0 reaches engine.save_checkpoint; the job hangs" in summary
    assert "train.py:6:9 in train" in summary
    assert "safe fix" in summary
    assert "What to do: call it on every rank" in finding.all("p", "help")[0].text
    lines = [line.text for line in finding.all("ol", "source")[0].all("li")]
    assert lines[1:] == [
        "    if dist.get_rank() == 0:true on rank 0 only",
        "        engine.save_checkpoint(out)collective save on some ranks",
    ]
    marked = [(m.text, m.attributes["class"]) for m in finding.all("mark")]
    assert marked == [("dist.get_rank() == 0", "aside"), ("engine.save_checkpoint(out)", "main")]
    assert "never comes" in finding.all("svg")[0].text
    diff = [line.text for line in finding.all("pre", "diff")[0].all("span")]
    assert "-    if dist.get_rank() == 0:" in diff
    assert "+    engine.save_checkpoint(out)" in diff


def test_a_report_without_findings_says_so(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    root = page(workspace)
    assert "No findings in 1 file." in root.text
    assert root.all("form") == root.all("details") == root.all("table") == []


def test_the_way_through_calls_is_listed(workspace: Workspace) -> None:
    workspace.write(
        helper="def save(engine, out):\n    engine.save_checkpoint(out)\n",
        train=BAD.replace("engine.save_checkpoint(out)", "save(engine, out)").replace(
            "import deepspeed\n", "import deepspeed\nfrom helper import save\n"
        ),
    )
    (finding,) = page(workspace).all("details", "finding")
    steps = [step.text for step in finding.all("ol", "steps")[0].all("li")]
    assert steps[0] == "true on rank 0 only train.py:6"
    assert steps[-1] == "engine.save_checkpoint is called here helper.py:2"
    files = [title.text for title in finding.all("p", "path")][:2]
    assert files == ["train.py", "helper.py"]


def test_filters_offer_what_there_is(workspace: Workspace) -> None:
    workspace.write(train=BAD, torn="def broken(rank:\n")
    root = page(workspace)
    (form,) = root.all("form", "filters")
    assert "hidden" in form.attributes, "shown by the script only"
    options = {s.attributes["name"]: [o.text for o in s.all("option")] for s in form.all("select")}
    assert options["rule"] == ["all", "CKP101", "CKP900"]
    assert set(options) == {"rule", "severity", "confidence"}
    data = [
        {k: v for k, v in d.attributes.items() if k.startswith("data-")}
        for d in root.all("details", "finding")
    ]
    assert data[1] == {
        "data-rule": "CKP101",
        "data-severity": "error",
        "data-confidence": "certain",
        "data-path": "train.py",
        "data-state": "new",
    }


def test_findings_of_the_baseline_are_marked(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    workspace.run("check", "--baseline", "known.json", "--update-baseline")
    workspace.write(other=BAD)
    root = page(workspace, "--baseline", "known.json")
    states = [d.attributes["data-state"] for d in root.all("details", "finding")]
    assert states == ["new", "in the baseline"]
    assert all(len(finding.all("svg")) == 1 for finding in root.all("details", "finding"))
    assert "state" in {s.attributes["name"] for s in root.all("select")}
    assert "1 finding in the baseline." in root.text
    assert "1errors" in root.all("div", "tiles")[0].text.replace(" ", "")


HOSTILE = '</script><script>alert("1")</script><!--'


def test_what_a_project_contains_is_never_markup(workspace: Workspace) -> None:
    name = "x<img src=x onerror=alert(1)>&quot;.py"
    bad = BAD.replace("save_checkpoint(out)", f"save_checkpoint('{HOSTILE}\x00&lt;' + out)")
    bad = bad.replace("\x00", "\\x00")
    workspace.put(name, bad.replace("if dist", f'"""{HOSTILE}"""\n    if dist'))
    root = page(workspace)
    (finding,) = root.all("details", "finding")
    assert finding.attributes["data-path"] == name
    assert HOSTILE in finding.all("mark", "main")[0].text
    assert len(root.all("script")) == 1
    assert root.all("img") == []
    assert "alert" not in root.all("script")[0].text
    assert [e.attributes for e in root.all("summary") if "onerror" in str(e.attributes)] == []


def test_the_page_needs_nothing_but_itself(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    text = workspace.run("check", "--output-format", "html").stdout
    root = parsed(text)
    links = [a.attributes["href"] or "" for a in root.all("a")]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"\bsrc=|@import|url\(|https?://(?!www\.w3\.org/)", text)


def test_drawings_are_well_formed_and_named(workspace: Workspace) -> None:
    workspace.write(train=BAD, other=BAD.replace("def train", "def other"))
    text = workspace.run("check", "--output-format", "html").stdout
    drawings = re.findall(r"<svg .*?</svg>", text, re.S)
    assert len(drawings) == 2
    names: list[str] = []
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        named = {e.get("id") for e in root.iter() if e.get("id")}
        assert set((root.get("aria-labelledby") or "").split()) == named
        names.extend(str(name) for name in named)
    assert len(set(names)) == len(names)


def test_a_function_with_two_findings_is_drawn_once(workspace: Workspace) -> None:
    workspace.write(train=BAD + "    if dist.get_rank() == 0:\n        dist.barrier()\n")
    root = page(workspace)
    first, second = root.all("details", "finding")
    assert len(first.all("svg")) == 1
    assert second.all("svg") == []
    (link,) = second.all("a")
    assert link.attributes["href"] == f"#{first.attributes['id']}"


def test_many_findings_are_folded(workspace: Workspace) -> None:
    workspace.write(**{f"train{n}": BAD for n in range(8)})
    findings = page(workspace).all("details", "finding")
    assert ["open" in finding.attributes for finding in findings] == [True] * 5 + [False] * 3


def test_headings_and_labels_are_there(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    root = page(workspace)
    assert root.all("html")[0].attributes["lang"] == "en"
    assert len(root.all("h1")) == 1
    for control in (*root.all("select"), *root.all("input")):
        assert any(control in label.children for label in root.all("label"))
    assert all(f.attributes["aria-label"] for f in root.all("figure"))


def test_a_notebook_is_shown_by_cell(workspace: Workspace) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": s}
        for s in (BAD.splitlines(True)[:2], BAD.splitlines(True)[3:])
    ]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    workspace.put("train.ipynb", json.dumps(book))
    (finding,) = page(workspace).all("details", "finding")
    assert "train.ipynb:cell 2:3:9" in finding.all("summary")[0].text
    assert "engine.save_checkpoint(out)" in finding.all("mark", "main")[0].text
    assert "cell 2:3" in finding.all("svg")[0].text
    assert "+    engine.save_checkpoint(out)" in finding.all("pre", "diff")[0].text


@pytest.mark.parametrize("flag", ["--diff", "--statistics"])
def test_settings_that_ask_for_pages_do_not_disturb(workspace: Workspace, flag: str) -> None:
    workspace.write(train=BAD)
    workspace.put("ckptlint.toml", 'output-format = "html"\n')
    assert "<html" not in workspace.run("check", flag).stdout
    assert "<html" in workspace.run("check").stdout
