"""Findings as diagnostics."""

from __future__ import annotations

from lsprotocol import types

from ckptlint.catalogue import NOT_ANALYSED, UNUSED_SUPPRESSION
from ckptlint.finding import Confidence, Finding, Severity
from ckptlint.server.places import Places
from ckptlint_rules import FACTS

SOURCE = "ckptlint"
_RULES = FACTS.parent
_SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}


def diagnostic(finding: Finding, places: Places, related: bool) -> types.Diagnostic:
    """Write a finding. Without ``related`` the client shows no other places, so the message tells
    them."""
    lines = [finding.message]
    if not related:
        lines += [f"{each.span.name}:{each.span.line}: {each.message}" for each in finding.related]
    if finding.help:
        lines.append(f"help: {finding.help}")
    if finding.confidence is not Confidence.CERTAIN:
        lines.append(f"note: {finding.confidence.value}, not certain")
    return types.Diagnostic(
        places.range(finding.span),
        "\n".join(lines),
        severity=_severity(finding),
        code=finding.code,
        code_description=types.CodeDescription(page(finding)),
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED_SUPPRESSION else None,
        related_information=[
            types.DiagnosticRelatedInformation(places.location(each.span), each.message)
            for each in finding.related
        ]
        if related
        else None,
    )


def _severity(finding: Finding) -> types.DiagnosticSeverity:
    """A file that cannot be read is told by other tools too, and passes while one types."""
    if finding.code == NOT_ANALYSED:
        return types.DiagnosticSeverity.Information
    return _SEVERITY[finding.severity]


def page(finding: Finding) -> str:
    """Return the URI of a rule's page: the module of the rule, which begins with it."""
    module = f"{finding.code.lower()}_{finding.name.replace('-', '_')}.py"
    return (_RULES / module).as_uri()
