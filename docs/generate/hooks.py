"""The hooks of the site: pages made when it is built, the navigation, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import command_pages
import framework_pages
import rule_pages
from drawings import with_pictures
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

from ckptlint.trace.style import SHAPES, THEMES

# A page that is named here and not written yet is left out; one that is written and not named
# here comes last, so that no page is lost.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Start": ("start.md", "how-it-thinks.md", "limits.md"),
    "Use": (
        "commands.md",
        "configuration.md",
        "suppression.md",
        "baseline.md",
        "ci.md",
        "pre-commit.md",
        "editors.md",
        "notebooks.md",
        "pictures.md",
    ),
    "Rules": ("rules/index.md", "rules/*.md"),
    "Frameworks": ("frameworks/index.md", "frameworks/*.md"),
    "Runtime": ("runtime.md",),
    "Measured": ("performance.md", "precision.md"),
    "Extend": ("facts.md", "add-a-rule.md", "architecture.md"),
}


@cache
def generated() -> Mapping[str, str]:
    """Make the pages that nobody writes, by name."""
    return {
        name: text
        for module in (rule_pages, framework_pages, command_pages)
        for name, text in module.pages()
    }


def navigation(written: list[str]) -> list[Any]:
    """Order all pages; ``written`` are those in the folder."""
    there = dict.fromkeys([*written, *generated()])
    nav: list[Any] = ["index.md"]
    for title, names in SECTIONS.items():
        pages = dict.fromkeys(
            page for name in names for page in there if PurePosixPath(page).match(name)
        )
        if pages:
            nav.append({title: list(pages)})
        for page in pages:
            del there[page]
    there.pop("index.md")
    return [*nav, {"More": list(there)}] if there else nav


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the navigation."""
    config.nav = navigation([path.name for path in sorted(Path(config.docs_dir).glob("*.md"))])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the rules, the facts and the command line."""
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "style.css", content=_style(Path(config.docs_dir))))
    return files


def _style(docs: Path) -> str:
    own = (docs / "theme" / "site.css").read_text(encoding="utf-8")
    light = HtmlFormatter(style="default").get_style_defs(".codehilite")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".codehilite")
    code = f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n"
    return f"{THEMES}{code}{SHAPES}{own}"


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Draw the pictures of a page."""
    return with_pictures(markdown, PurePosixPath(page.file.src_uri).stem)
