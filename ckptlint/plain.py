"""Findings, and what came of looking at a file, as JSON has them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckptlint.finding import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Severity,
    Span,
)


def finding_from(told: Mapping[str, Any]) -> Finding:
    """Make a finding of what ``asdict`` made of it."""
    return Finding(
        **{
            **told,
            "severity": Severity(told["severity"]),
            "confidence": Confidence(told["confidence"]),
            "span": Span(**told["span"]),
            "related": tuple(
                Related(**{**each, "span": Span(**each["span"])}) for each in told["related"]
            ),
            "fix": fix_from(told["fix"]),
        }
    )


def fix_from(told: Mapping[str, Any] | None) -> Fix | None:
    """Make a fix of what ``asdict`` made of it."""
    if told is None:
        return None
    return Fix(
        Applicability(told["applicability"]),
        told["message"],
        tuple(Edit(Span(**each["span"]), each["text"]) for each in told["edits"]),
    )
