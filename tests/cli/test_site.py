"""The documentation site: built without a network or a warning, and every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from ckptlint_rules import FACTS, RULES

ROOT = Path(__file__).parents[2]


@dataclass
class Page(HTMLParser):
    """What a page defines, and what it points to."""

    text: str
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()

    def __hash__(self) -> int:
        return id(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (tag == "link" and "href" in given):
            self.loads.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where no network answers."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **nowhere},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search("WARNING|ERROR", done.stderr), done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_there_is_a_page_for_each_rule_and_each_framework(site: Path) -> None:
    for code, module in RULES.items():
        text = (site / "rules" / code / "index.html").read_text(encoding="utf-8")
        assert module.rule.name in text
    for path in FACTS.glob("*.toml"):
        assert (site / "frameworks" / path.stem / "index.html").is_file()


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: Mapping[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            base = site if path.name == "404.html" else path.parent
            target = path
            if parts.path:
                target = (base / unquote(parts.path).lstrip("/")).resolve()
                target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and unquote(parts.fragment) not in pages[target].ids:
                broken.append(f"{path.relative_to(site)}: {link} (no such anchor)")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: Mapping[Path, Page]) -> None:
    for page in pages.values():
        assert [load for load in page.loads if re.match(r"(https?:)?//", load)] == []
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\((?!data:)", sheet.read_text(encoding="utf-8"))


def test_every_page_is_reached_from_the_first(site: Path, pages: Mapping[Path, Page]) -> None:
    first = pages[site / "index.html"]
    reached = {(site / link / "index.html").resolve() for link in first.links}
    reached |= {site / "index.html", site / "404.html"}
    assert set(pages) <= reached


def test_ids_are_unique_and_drawings_well_formed(pages: Mapping[Path, Page]) -> None:
    drawn = 0
    for path, page in pages.items():
        assert len(set(page.ids)) == len(page.ids), path
        for drawing in re.findall(r'<svg class="trace".*?</svg>', page.text, re.S):
            ElementTree.fromstring(drawing)
            drawn += 1
    assert drawn > 10


def test_pictures_stand_in_the_pages_that_ask_for_them(site: Path) -> None:
    text = (site / "how-it-thinks" / "index.html").read_text(encoding="utf-8")
    assert text.count('<svg class="trace"') >= 5
    assert "never comes" in text
    assert "python picture" not in text
    assert "<!-- picture" not in (site / "index.html").read_text(encoding="utf-8")


def test_the_example_of_a_rule_is_drawn(site: Path) -> None:
    text = (site / "rules" / "CKP101" / "index.html").read_text(encoding="utf-8")
    bad, good = re.findall(r'<svg class="trace".*?</svg>', text, re.S)
    assert "never comes" in bad
    assert "never comes" not in good


def test_facts_say_who_must_call_what(site: Path) -> None:
    text = (site / "frameworks" / "deepspeed" / "index.html").read_text(encoding="utf-8")
    name = "<code>deepspeed.<wbr>DeepSpeedEngine.<wbr>save_checkpoint</code>"
    row = re.search(rf"<tr>\s*<td>{name}.*?</tr>", text, re.S)
    assert row is not None
    assert "every rank" in row.group()
    assert "the job hangs" in row.group()


def test_every_option_is_in_the_reference(site: Path) -> None:
    text = (site / "commands" / "index.html").read_text(encoding="utf-8")
    for word in ("--output-format", "--select", "FILE[::FUNCTION]", "ckptlint explain"):
        assert word in text
