"""Pictures for findings: each finding's function, or else a caller in which the fault shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ckptlint.engine import Request
from ckptlint.finding import Finding, Span
from ckptlint.portrait import plain_name, portraits
from ckptlint.trace.picture import Picture, Pictures
from ckptlint.trace.weave import weave


def pictures(request: Request, findings: Sequence[Finding]) -> Pictures:
    """Draw the functions of findings; only the files that they stand in are executed."""
    own = {(finding.span.path, plain_name(finding.function)) for finding in findings}
    found = _drawn(request, findings, lambda file, name: (file, name) in own or _inside(name, own))
    rest = [f for f in findings if (f.code, f.span) not in found]
    if not rest:
        return found
    return {**_drawn(request, rest, lambda *_: True), **found}


def _inside(name: str, wanted: set[tuple[str, str]]) -> bool:
    """Say whether a wanted function is defined inside this one, and met only there."""
    return any(other.startswith(f"{name}.") for _, other in wanted)


def _drawn(
    request: Request, findings: Sequence[Finding], wanted: Callable[[str, str], bool]
) -> dict[tuple[str, Span], Picture]:
    found: dict[tuple[str, Span], tuple[bool, Picture]] = {}
    files = frozenset(finding.span.path for finding in findings)
    for portrait in portraits(replace(request, asked=files), findings, wanted):
        if portrait.told:
            picture = weave(portrait)
            for _, finding in portrait.told:
                key = (finding.code, finding.span)
                own = finding.function == portrait.watched.name
                if key not in found or (own and not found[key][0]):
                    found[key] = (own, picture)
    return {key: picture for key, (_, picture) in found.items()}
