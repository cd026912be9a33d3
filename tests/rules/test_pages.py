"""The manual pages: their sections, and their examples, which do what the page says."""

from __future__ import annotations

import re

import pytest

from cases import analysed_text
from ckptlint_rules import RULES

SECTIONS = [
    "What it does",
    "Why is this bad?",
    "Example",
    "Use instead",
    "Fix safety",
    "Known limits",
    "References",
]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)

each_rule = pytest.mark.parametrize("code", sorted(RULES))


def section(code: str, title: str) -> str:
    """Return the text below a heading of a rule's page."""
    _, _, rest = RULES[code].rule.text.partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0].strip()


def block(code: str, title: str) -> str:
    """Return the only Python block of a section."""
    (found,) = _BLOCK.findall(section(code, title))
    return str(found)


@each_rule
def test_pages_have_the_same_sections_in_the_same_order(code: str) -> None:
    text = RULES[code].rule.text
    assert re.findall(r"^## (.*)$", text, re.M) == SECTIONS
    assert all(section(code, title) for title in SECTIONS)


@each_rule
def test_the_first_line_sums_the_page_up(code: str) -> None:
    rule = RULES[code].rule
    assert rule.text.splitlines()[1] == ""
    assert re.fullmatch(r"[A-Z].{10,75}\.", rule.summary)


@each_rule
def test_the_example_is_found_by_this_rule_alone(code: str) -> None:
    assert [finding.code for finding in analysed_text(block(code, "Example"), code)] == [code]


@each_rule
def test_nothing_is_found_in_what_to_use_instead(code: str) -> None:
    assert analysed_text(block(code, "Use instead"), code) == []


@each_rule
def test_every_reference_is_a_link(code: str) -> None:
    for line in section(code, "References").splitlines():
        assert re.fullmatch(r"- \[[^]]+\]\(https://\S+\)", line)


@each_rule
def test_pages_fit_a_terminal(code: str) -> None:
    prose = re.sub(r"\(https://\S+\)", "", RULES[code].rule.text)
    assert max(map(len, prose.splitlines())) <= 100
