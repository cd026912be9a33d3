"""What a rule says of itself."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Literal

from ckptlint.finding import Confidence, Severity

FixLevel = Literal["safe", "unsafe", "sometimes", "none"]


@dataclass(frozen=True)
class Rule:
    """A rule's card. ``page`` is the module's docstring: the manual page in Markdown, whose first
    line is the summary."""

    code: str
    name: str
    since: str
    severity: Severity
    confidence: Confidence
    fix: FixLevel
    page: str
    default: bool = True

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.strip().partition("\n")[0].strip()

    @property
    def text(self) -> str:
        """The page with its indentation cleaned."""
        return inspect.cleandoc(self.page)

    def section(self, title: str) -> str:
        """The text below a heading of the page, or "" where it has no such heading."""
        return self.text.partition(f"\n## {title}\n")[2].partition("\n## ")[0].strip()
