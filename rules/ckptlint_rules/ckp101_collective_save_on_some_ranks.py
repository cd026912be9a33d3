"""A collective save is called by some ranks only.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP101",
    name="collective-save-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective save under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "save":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, "call it on every rank; it chooses the writers itself")
