"""Aligning two lists of steps: where ranks meet, and what each side does alone."""

from __future__ import annotations

from ckptlint.analysis.sequences import Loop
from ckptlint.analysis.steps import Step, places

_MAX_ALIGNED = 120
_SURELY = 5


def _meets(a: Step, b: Step) -> int:
    """Score a pair of steps: 0 when ranks cannot meet in it, more when they surely do.

    Of two calls of a helper the one by which both ranks come is the surer place, and what stands
    under no rank test is met before what does.
    """
    if a.marks or b.marks:
        return 0
    same = a.item.site.key == b.item.site.key
    same_place = int(same) + int(same and places(a.chain) == places(b.chain))
    if isinstance(a.item, Loop) and isinstance(b.item, Loop):
        equal = a.item.body.shape == b.item.body.shape
        return (2 + same_place) if equal else int(same_place > 0)
    if type(a.item) is type(b.item) and a.item.shape == b.item.shape:
        return 2 + same_place + int(not (a.levels or b.levels))
    return 0


Pair = tuple[Step, Step]
Gap = tuple[list[Step], list[Step]]


def aligned(a: list[Step], b: list[Step]) -> tuple[list[Pair], list[Gap]]:
    """Return the pairs in which ranks meet, and what each side has alone between them.

    The pairing with the highest score is taken; of lists longer than the limit only the
    beginnings are paired.
    """
    pairs: list[Pair] = []
    start = 0
    while start < min(len(a), len(b)) and _meets(a[start], b[start]) == _SURELY:
        pairs.append((a[start], b[start]))
        start += 1
    a, b = a[start : start + _MAX_ALIGNED], b[start : start + _MAX_ALIGNED]
    best = _scores(a, b)
    gaps: list[Gap] = [([], [])]
    i = j = 0
    while i < len(a) or j < len(b):
        if i < len(a) and j < len(b):
            score = _meets(a[i], b[j])
            if score and best[i][j] == best[i + 1][j + 1] + score:
                pairs.append((a[i], b[j]))
                gaps.append(([], []))
                i, j = i + 1, j + 1
                continue
        if j >= len(b) or (i < len(a) and best[i + 1][j] >= best[i][j + 1]):
            gaps[-1][0].append(a[i])
            i += 1
        else:
            gaps[-1][1].append(b[j])
            j += 1
    return pairs, gaps


def _scores(a: list[Step], b: list[Step]) -> list[list[int]]:
    """Return for each pair of positions the best score of what follows."""
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            score = _meets(a[i], b[j])
            together = best[i + 1][j + 1] + score if score else 0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    return best
