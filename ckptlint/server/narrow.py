"""The part of a project that has a say in the findings of a few of its files.

A function is judged by what it calls and by what its callers balance. So the files that matter are
those that import the asked ones, at any distance, and all that these import; functions are looked
at in the former only. Import statements are read from the bytes, so the others are never parsed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ckptlint.engine import Request
from ckptlint.project import Project
from ckptlint.source import Source


def narrowed(request: Request, backends: frozenset[str]) -> Request:
    """Return a request for the same findings that looks at no more than it must.

    ``backends`` are those that the whole project shows.
    """
    project = Project(request.sources, request.root)
    importers: defaultdict[Source, set[Source]] = defaultdict(set)
    for source in request.sources:
        for target in project.imported(source):
            importers[target].add(source)
    above = {source for source in request.sources if source.display in request.asked}
    pending = list(above)
    while pending:
        more = importers[pending.pop()] - above
        above |= more
        pending.extend(more)
    near = frozenset[Source]().union(*map(project.reachable, above))
    return replace(
        request,
        sources=tuple(source for source in request.sources if source in near),
        within=frozenset(source.display for source in above),
        backends=backends,
    )
