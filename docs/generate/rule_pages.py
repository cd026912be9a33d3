"""A page for each rule, from its docstring."""

from __future__ import annotations

import re
from collections.abc import Iterator

from drawings import pictures
from wording import cell, code, sentence, table

from ckptlint.rule import Rule
from ckptlint_rules import RULES

_FIXES = {
    "safe": "safe",
    "sometimes": "where it can be",
    "unsafe": "to be read first",
    "none": "none",
}
_PYTHON = re.compile(r"^(## (?:Example|Use instead)\n\n```python)\n(.*?)^```", re.M | re.S)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the Markdown of each page."""
    rules = [RULES[code].rule for code in sorted(RULES)]
    yield "rules/index.md", _index(rules)
    for rule in rules:
        yield f"rules/{rule.code}.md", _page(rule)


def _index(rules: list[Rule]) -> str:
    rows = (
        (
            f"[{rule.code}]({rule.code}.md)",
            code(rule.name),
            cell(rule.summary) + ("" if rule.default else " *(off by default)*"),
            rule.severity.value,
            _FIXES[rule.fix],
        )
        for rule in rules
    )
    return (
        "# Rules\n\nEvery page says what a rule finds, why it is bad, what to write instead, what"
        " its fix may change and what it cannot see. `ckptlint explain CODE` shows the same page in"
        f" the terminal.\n\n{table(('Rule', 'Name', 'Finds', 'Severity', 'Fix'), rows)}"
    )


def _page(rule: Rule) -> str:
    _, _, text = rule.text.partition("\n")
    card = " · ".join(
        (
            f"**{rule.severity.value}**",
            f"confidence **{rule.confidence.value}** at most",
            f"fix: **{_FIXES[rule.fix]}**",
            "on by default" if rule.default else "**off** by default",
            f"since {rule.since}",
        )
    )
    drawn = _PYTHON.sub(_drawn, text)
    return f"# {rule.code}: {rule.name}\n\n{sentence(rule.summary)}\n\n{card}\n{drawn}\n"


def _drawn(match: re.Match[str]) -> str:
    """Mark an example to be drawn when its ranks communicate."""
    try:
        pictures(match.group(2))
    except ValueError:
        return match.group(0)
    return f"{match.group(1)} picture\n{match.group(2)}```"
