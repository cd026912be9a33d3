"""Decisions on which ranks may disagree: what one of them does, and the other does not.

A rank test is folded; a test of the clock, of what lies on disk, of a value that was not reduced is
an unknown like any other, and a branch in the trace. Two ranks that disagree on it are compared:
the trace with the one arm against the trace with the other, everything else being equal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ckptlint.analysis.compare import Divergence, compare
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.ranks import FIRST
from ckptlint.analysis.sequences import Branch, Exit, Item, Loop, Operation, Scope, Test, Trace
from ckptlint.analysis.values import Divergent, Rank


def disagreements(trace: Trace, keys: Keys) -> Iterator[Divergence]:
    """Yield what ranks do apart, for each condition on which they may disagree."""
    if not keys.divergent:
        return
    tested = dict.fromkeys(branch.key for branch in _branches(trace))
    for key in tested:
        if key not in keys.divergent:
            continue
        parts = keys.parts(key) & keys.divergent.keys()
        if tested.keys() & parts:
            continue  # its parts are tested as well: ranks that disagree do so in them
        resolve = _Resolution(key, keys.divergent[key])
        one, two = resolve(trace.unguarded, True), resolve(trace.unguarded, False)
        for divergence in compare(one, FIRST, two, FIRST, keys):
            yield replace(divergence, kind="divergent")


def _branches(trace: Trace) -> Iterator[Branch]:
    for item in trace:
        if isinstance(item, Branch):
            if item.yes.shape != item.no.shape:
                yield item
            yield from _branches(item.yes)
            yield from _branches(item.no)
        elif isinstance(item, Loop | Scope):
            yield from _branches(item.body)


class _Resolution:
    """Takes one arm of every branch on a condition, and marks what stands in it; what stands under
    no rank test otherwise stays as it is."""

    def __init__(self, key: int, mark: Divergent) -> None:
        self.key = key
        self.mark = mark

    def __call__(self, trace: Trace, taken: bool, guards: tuple[Test, ...] = ()) -> Trace:
        if not guards and self.key not in trace.conditions:
            return trace
        result: list[Item] = []
        for item in trace:
            if isinstance(item, Branch) and item.key == self.key:
                rank = Rank(frozenset(), certain=False, exact=self.mark.likely)
                test = Test(item.site, "divergent", taken, rank, reason=self.mark.reason)
                result.extend(self(_arm(item, taken), taken, guards or (test,)))
            elif isinstance(item, Branch):
                yes, no = self(item.yes, taken, guards), self(item.no, taken, guards)
                result.append(replace(item, yes=yes, no=no))
            elif isinstance(item, Loop | Scope):
                body = self(item.body, taken)
                result.append(replace(item, body=body, guards=guards))
            elif isinstance(item, Operation | Exit):
                result.append(replace(item, guards=guards))
            else:
                result.append(item)
        return Trace(result)


def _arm(branch: Branch, taken: bool) -> Trace:
    """Return one arm; an exception is taken to be raised at the end of its ``try`` block.

    What the block holds is met by every rank then: only what the handler does tells them apart.
    """
    if not taken:
        return branch.no
    if isinstance(branch.site.node, ast.ExceptHandler):
        return Trace([*(item for item in branch.no if not isinstance(item, Exit)), *branch.yes])
    return branch.yes
