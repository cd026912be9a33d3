"""Pictures in pages, drawn by the analysis when the site is built.

A fence ``python picture`` shows its code and draws it; a comment ``<!-- picture: FILE::FUNCTION
-->`` draws a function of a file of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ckptlint.engine import Request, analyse
from ckptlint.facts import FactSet
from ckptlint.finding import Finding
from ckptlint.portrait import Portrait, plain_name, portraits
from ckptlint.source import Source
from ckptlint.trace.html import figure
from ckptlint.trace.picture import Picture
from ckptlint.trace.weave import weave
from ckptlint_rules import RULES, facts

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```python picture\n(.*?)^```$", re.M | re.S)
_COMMENT = re.compile(r"^<!-- picture: (\S+?)(?:::(\S+))? -->$", re.M)


def with_pictures(markdown: str, name: str) -> str:
    """Put the pictures into a page; ``name`` tells its pictures from those of other pages.

    Raises ValueError for a picture in which there is nothing to draw.
    """
    count = iter(range(1000))

    def fence(match: re.Match[str]) -> str:
        drawn = _figures(pictures(match.group(1)), name, count.__next__)
        return f"```python\n{match.group(1)}```\n\n{drawn}"

    def comment(match: re.Match[str]) -> str:
        path = ROOT / match.group(1)
        drawn = pictures(path.read_text(encoding="utf-8"), path, match.group(2) or "")
        return _figures(drawn, name, count.__next__)

    return _COMMENT.sub(comment, _FENCE.sub(fence, markdown))


def pictures(text: str, path: Path = ROOT / "train.py", function: str = "") -> list[Picture]:
    """Draw one function, or those with findings, or else those that communicate."""
    source = Source(path, path.name, text.encode())
    request = Request((source,), (source.display,), ROOT / "docs", _facts(), frozenset(RULES))
    findings = [finding for finding in analyse(request) if finding.code.startswith("CKP1")]
    drawn = portraits(request, findings, lambda *_: True)
    chosen = [each for each in drawn if _wanted(each, function, findings)]
    if not chosen:
        raise ValueError(f"nothing to draw in {path.name}::{function}")
    return [weave(portrait) for portrait in chosen]


def _wanted(portrait: Portrait, function: str, findings: list[Finding]) -> bool:
    name = plain_name(portrait.watched.name)
    if function:
        return name == function
    if findings:
        return any(plain_name(finding.function) == name for finding in findings)
    acts = any(trace.acts for trace in portrait.watched.traces.values())
    return acts and name != "<module>"


def _figures(drawn: list[Picture], name: str, number: Callable[[], int]) -> str:
    return "\n\n".join(figure(picture, f"{name}-{number()}") for picture in drawn)


@cache
def _facts() -> FactSet:
    return facts()
