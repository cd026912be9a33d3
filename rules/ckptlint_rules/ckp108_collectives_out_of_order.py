"""Ranks reach different collectives in the same place.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP108",
    name="collectives-out-of-order",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report ranks that meet in different collectives."""
    if fault.divergence.kind != "order":
        return None
    message = (
        f"{fault.reaches} {fault.operation}{fault.chain} where the others reach another "
        f"collective; {fault.consequence}"
    )
    return fault.finding(RULE, message, "make every rank reach the same collectives in one order")
