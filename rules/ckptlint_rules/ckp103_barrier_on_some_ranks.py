"""A barrier or other collective is reached by some ranks only.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP103",
    name="barrier-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a raw collective under a rank test."""
    if fault.divergence.kind not in ("test", "context"):
        return None
    if fault.call.effect not in ("barrier", "collective"):
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, "move it out of the test, so that every rank reaches it")
