"""What each rank class does in chosen functions, and which findings show there.

The entry for everything that draws: the findings come from :func:`ckptlint.engine.analyse`, the
functions are executed once more and the divergences that the findings tell are picked out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from ckptlint import evidence
from ckptlint.analysis.compare import Divergence
from ckptlint.analysis.holders import Holders
from ckptlint.analysis.machine import Machine
from ckptlint.analysis.survey import Watched, watch
from ckptlint.analysis.world import World
from ckptlint.engine import Request, in_deep_stack
from ckptlint.fault import Fault
from ckptlint.finding import Finding, Span
from ckptlint.knowledge import Knowledge
from ckptlint.project import Module, Project
from ckptlint_rules import RULES


@dataclass(frozen=True)
class Portrait:
    """One function: what the rank classes do in it, and the divergences that findings tell."""

    watched: Watched
    told: tuple[tuple[Divergence, Finding], ...]


def portraits(
    request: Request, findings: Collection[Finding], wanted: Callable[[str, str], bool]
) -> tuple[Portrait, ...]:
    """Look at functions of a project, in the order of the source.

    ``wanted`` is asked with the file's display name and the function's; of the other functions
    only what the wanted ones call is executed. Functions that reach no collective give a portrait
    too. Exceptions under a rank test are ways out like others, so that they can be drawn. Files
    that cannot be parsed have no portrait: their CKP900 says why.
    """
    return in_deep_stack(lambda: tuple(_portraits(request, findings, wanted)))


def _portraits(
    request: Request, findings: Collection[Finding], wanted: Callable[[str, str], bool]
) -> Iterable[Portrait]:
    knowledge = Knowledge(request.facts, evidence.pinned(request.root, request.facts))
    project = Project(request.sources, request.root)
    machine = Machine(World(project, knowledge, Holders(project, knowledge), failures=True))
    known = {(finding.code, finding.span): finding for finding in findings}
    for module in _modules(project, request):
        name = module.source.display

        def chosen(function: str, node: ast.AST, name: str = name) -> bool:
            return wanted(name, plain_name(function))

        for watched in watch(machine, module, chosen):
            yield Portrait(watched, tuple(_told(watched, known)))


def _modules(project: Project, request: Request) -> Iterable[Module]:
    """Parse the asked files, whether or not ranks may differ in them."""
    for source in request.sources:
        if source.display in request.asked:
            module = project.parsed(source)
            if module is not None:  # else told as CKP900 by the check that came before
                yield module


def _told(
    watched: Watched, known: Mapping[tuple[str, Span], Finding]
) -> Iterable[tuple[Divergence, Finding]]:
    for divergence in watched.divergences:
        fault = Fault(divergence, watched.name, frozenset())
        for code, module in RULES.items():
            told = module.check(fault) if module.check is not None else None
            if told is not None and (code, told.span) in known:
                yield divergence, known[(code, told.span)]


def plain_name(qualname: str) -> str:
    """Name a function as its user does: ``main.save`` for one defined inside ``main``."""
    return qualname.replace(".<locals>", "")
