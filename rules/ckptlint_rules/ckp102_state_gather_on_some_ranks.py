"""State is gathered from all ranks by some ranks only.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP102",
    name="state-gather-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective gathering of state under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "gather":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(
        RULE, message, "gather on every rank, before the test; guard only the write"
    )
