"""A file or function could not be analysed.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Rule, Severity

RULE = Rule(
    code="CKP900",
    name="file-not-analysed",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="none",
    page=__doc__,
)
