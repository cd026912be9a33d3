"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def code(text: str) -> str:
    """Set a text in code, if there is one."""
    return f"`{text}`" if text else ""


def name(text: str) -> str:
    """Set a dotted name in code that may be broken at its dots."""
    return f"<code>{escape(text).replace('.', '.<wbr>')}</code>"


def codes(texts: Iterable[str]) -> str:
    """Set several texts in code."""
    return ", ".join(map(code, texts))


def cell(text: str) -> str:
    """Make a text fit to stand in a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").strip()


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; columns that are empty in every row are left out."""
    listed = [list(row) for row in rows]
    kept = [i for i in range(len(heads)) if any(row[i] for row in listed)]
    lines = [[heads[i] for i in kept], ["---"] * len(kept)]
    lines += [[row[i] for i in kept] for row in listed]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def sentence(text: str) -> str:
    """Begin with a capital letter and end with a full stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")
