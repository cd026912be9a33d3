"""From the traces of the rank classes to a picture: what they do, row by row, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ckptlint.analysis.compare import Divergence
from ckptlint.analysis.ranks import FIRST, GROUP_LEADER, LAST, NODE_LEADER, OTHER
from ckptlint.analysis.sequences import Branch, Exit, Loop, Operation, Scope, Test, Trace
from ckptlint.analysis.steps import path
from ckptlint.analysis.values import Site
from ckptlint.fault import spelled
from ckptlint.finding import Finding
from ckptlint.portrait import Portrait, plain_name
from ckptlint.source import Source
from ckptlint.trace.lineup import Line, Node, lined_up, nodes
from ckptlint.trace.picture import (
    Cell,
    Column,
    Leaving,
    Meeting,
    Note,
    Outcome,
    Parting,
    Picture,
    Place,
    Region,
    Row,
)

_COLUMNS = {
    FIRST: Column("rank 0", "rank 0"),
    OTHER: Column("the other ranks", "others"),
    NODE_LEADER: Column("first rank of other nodes", "node firsts"),
    GROUP_LEADER: Column("first rank of other groups", "group firsts"),
    LAST: Column("the last rank", "last rank"),
}


def weave(portrait: Portrait) -> Picture:
    """Draw one function."""
    watched = portrait.watched
    weaver = _Weaver(portrait)
    findings = dict.fromkeys(finding for _, finding in portrait.told)
    return Picture(
        watched.site.module.source.display,
        plain_name(watched.name),
        tuple(_COLUMNS[ranks] for ranks in weaver.classes),
        tuple(weaver.function()),
        tuple(_note(finding, watched.site.module.source) for finding in findings),
    )


class _Weaver:
    """One picture in the making. ``shown`` are the rank tests that have been drawn."""

    def __init__(self, portrait: Portrait) -> None:
        self.watched = portrait.watched
        self.classes = tuple(portrait.watched.traces)
        self.faults: dict[object, list[tuple[Divergence, Finding]]] = {}
        for divergence, finding in portrait.told:
            for reached in (*divergence.operations, *divergence.others):
                key = path(reached.chain, reached.operation)
                self.faults.setdefault(key, []).append((divergence, finding))
        self.shown: dict[object, Parting] = {}

    def function(self) -> list[Row]:
        traces = [self.watched.traces[ranks] for ranks in self.classes]
        return self.block([nodes(trace.items, ()) for trace in traces], frozenset())

    def block(
        self, columns: Sequence[Sequence[Node]], left: frozenset[int], arm: bool = False
    ) -> list[Row]:
        """Draw what stands in one block, an ``arm`` of a choice or another; ``left`` are the
        columns that are gone before it."""
        rows: list[Row] = []
        gone = left
        for line in lined_up(columns, lambda node: self._fault(node) is not None):
            rows += self._partings(line, left)
            rows += self._row(line, left)
            if all(isinstance(node.item, Exit) for node in line.values()):
                gone, left = left, left | line.keys()
        return rows if arm else _without_idle_end(rows, gone)

    def _row(self, line: Line, left: frozenset[int]) -> list[Row]:
        items = {index: node.item for index, node in line.items()}
        node = next(iter(line.values()))
        match node.item:
            case Operation():
                return [self._meeting(line)]
            case Exit(kind=kind, site=site):
                return [Leaving(kind, _place(site), self._marks(line))]
            case Loop(site=site):
                bodies = {i: item.body for i, item in items.items() if isinstance(item, Loop)}
                rows = self._inner(line, bodies, left)
                return [Region("loop", _place(site), "", tuple(rows), self._marks(line))]
            case Branch():
                return self._branch(line, left)
            case Scope():
                return self._call(line, node.item, left)
        return []

    def _marks(self, line: Line) -> tuple[bool, ...]:
        return tuple(index in line for index in range(len(self.classes)))

    def _inner(
        self, line: Line, bodies: dict[int, Trace], left: frozenset[int], arm: bool = False
    ) -> list[Row]:
        columns = [
            nodes(bodies[i].items, _inside(line[i])) if i in bodies else []
            for i in range(len(self.classes))
        ]
        return self.block(columns, left, arm)

    # -- calls ---------------------------------------------------------------------------------

    def _meeting(self, line: Line) -> Meeting:
        told = [fault for node in line.values() for fault in self._fault(node) or ()]
        partial = len(line) < len(self.classes)
        told = [(d, f) for d, f in told if partial or d.kind == "exit"]
        absent = {ranks for divergence, _ in told for ranks in divergence.absent}
        cells: list[Cell] = []
        for index, ranks in enumerate(self.classes):
            if ranks in absent and (index not in line or not partial):
                cells.append("misses")
            else:
                cells.append("calls" if index in line else "")
        operation = next(iter(line.values())).item
        assert isinstance(operation, Operation)
        sites = [node.item.site for node in line.values() if isinstance(node.item, Operation)]
        return Meeting(
            spelled(operation.site),
            operation.call.effect,
            tuple(sorted(dict.fromkeys(map(_place, sites)), key=lambda place: place.line)),
            tuple(cells),
            "alone" if told else _outcome(operation, partial),
            tuple(dict.fromkeys(finding.code for _, finding in told)),
        )

    def _fault(self, node: Node) -> list[tuple[Divergence, Finding]] | None:
        if not isinstance(node.item, Operation):
            return None
        return self.faults.get(path(node.chain, node.item))

    def _call(self, line: Line, scope: Scope, left: frozenset[int]) -> list[Row]:
        bodies = {i: n.item.body for i, n in line.items() if isinstance(n.item, Scope)}
        before = len(self.shown)
        rows = tuple(self._inner(line, bodies, left))
        if scope.function.node is self.watched.site.node:
            return list(rows)
        name = f"{plain_name(scope.function.qualname)}()"
        region = Region("call", _place(scope.site), name, rows, self._marks(line))
        alike = len({body.shape for body in bodies.values()}) == 1
        if alike and len(bodies) == len(self.classes) and len(self.shown) == before:
            count = _operations(bodies[next(iter(bodies))])
            return [Region("call", region.place, name, (), region.enters, count)]
        return [region]

    # -- choices -------------------------------------------------------------------------------

    def _branch(self, line: Line, left: frozenset[int]) -> list[Row]:
        arms: tuple[dict[int, Trace], dict[int, Trace]] = ({}, {})
        sites: list[Site] = []
        for index, node in line.items():
            if isinstance(node.item, Branch):
                arms[0][index], arms[1][index] = node.item.yes, node.item.no
                sites.append(node.item.site)
        yes, no = (tuple(self._inner(line, arm, left, True)) for arm in arms)
        place, enters = _place(sites[0]), self._marks(line)
        found: list[Row] = []
        if yes:
            found.append(Region("if", place, "", yes, enters))
        if no and all(_continues(row) for row in no):
            found += no
        elif no:
            found.append(Region("else" if yes else "unless", place, "", no, enters))
        return found

    def _partings(self, line: Line, left: frozenset[int]) -> list[Parting]:
        """Draw the rank tests on the way to the items of a row that were not drawn yet."""
        rows: list[Parting] = []
        for index, node in line.items():
            away = left
            for chain, test in node.tests:
                key = (tuple(scope.site.key for scope in chain), test.site.key, test.kind)
                if key not in self.shown:
                    self.shown[key] = self._parting(test, index, away)
                    rows.append(self.shown[key])
                truths = self.shown[key].truths
                away |= {i for i, truth in enumerate(truths) if truth is not test.taken}
        return sorted(rows, key=lambda row: row.place.line)

    def _parting(self, test: Test, index: int, away: frozenset[int]) -> Parting:
        """Tell the truth of a test in each column that comes to it: all that are not ``away``.

        A column that comes to it and has nothing to show under it went the other way.
        """
        truths: list[bool | None] = []
        for other, ranks in enumerate(self.classes):
            decided = self.watched.decided.get(ranks, {}).get(test.site.key, ())
            if other == index:
                truths.append(test.taken)
            elif other in away:
                truths.append(None)
            else:
                truths.append(next(iter(decided)) if len(decided) == 1 else not test.taken)
        reason = test.hook.reason or "a hook of rank 0" if test.hook is not None else ""
        return Parting(_place(test.site), reason, tuple(truths))


def _without_idle_end(rows: list[Row], gone: frozenset[int]) -> list[Row]:
    while rows and _idle(rows[-1], gone):
        rows.pop()
    return rows


def _idle(row: Row, gone: frozenset[int]) -> bool:
    """Say whether a row at the end of a block only ends it, on all ranks that are still there."""
    if isinstance(row, Leaving):
        stays = (not leaves and i not in gone for i, leaves in enumerate(row.leaves))
        return row.kind in ("return", "continue") and not any(stays)
    return isinstance(row, Region) and not row.count and all(_idle(r, gone) for r in row.rows)


def _continues(row: Row) -> bool:
    """Say whether a row is an ``elif``, which needs no arm around it."""
    return isinstance(row, Region) and row.place.text.lstrip().startswith("elif ")


def _outcome(operation: Operation, partial: bool) -> Outcome:
    if not partial:
        return "meets"
    return "group" if operation.group == "sub" else "elsewhere"


def _inside(node: Node) -> tuple[Scope, ...]:
    return (*node.chain, node.item) if isinstance(node.item, Scope) else node.chain


def _operations(trace: Trace) -> int:
    """Count the collectives in a trace, each place once for each call that leads to it."""
    count = 0
    for item in trace:
        if isinstance(item, Operation):
            count += 1
        elif isinstance(item, Branch):
            count += _operations(item.yes) + _operations(item.no)
        elif isinstance(item, Loop | Scope):
            count += _operations(item.body)
    return count


def _place(site: Site) -> Place:
    source = site.module.source
    span = source.placed(source.span(site.node))
    lines = source.pieces[span.name].lines
    text = lines[span.line - 1].rstrip() if span.line <= len(lines) else ""
    return Place(span.name, span.line, text)


def _note(finding: Finding, source: Source) -> Note:
    span = finding.span
    placed = source.placed(span) if span.path == source.display else span
    where = Place(placed.name, placed.line, "").seen_from(source.display)
    return Note(finding.code, finding.severity.value, where, finding.message, finding.help)
