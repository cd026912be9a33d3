"""An early exit takes some ranks past a collective.

PAGE
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP104",
    name="collective-skipped-by-early-exit",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective after an early exit of some ranks."""
    if fault.divergence.kind != "exit":
        return None
    left = fault.divergence.exit
    assert left is not None
    message = (
        f"{fault.operation}{fault.chain} is skipped by {fault.waits}, which leaves by "
        f"`{left.kind}` before it; {fault.consequence}"
    )
    return fault.finding(
        RULE, message, "put what follows the test into an if-block, so that all ranks go on"
    )
