"""A hook or decorated function that runs on one rank communicates.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP105",
    name="collective-in-rank-zero-hook",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective in code that a decorator or a framework runs on one rank."""
    if fault.divergence.kind not in ("decorator", "hook", "wrapper"):
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(
        RULE, message, "run the function on every rank and guard only its writes"
    )
