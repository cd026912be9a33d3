"""Plant faults in correct real code, and count how many of them are found.

``python corpus/inject.py FOLDER [NAME...] [--seed N] [--count N]`` looks in unpacked packages of
``FOLDER`` for places at which every rank reaches a collective of the whole job, plants one fault at
each of ``count`` places chosen at random for each kind, and analyses the package again. A fault is
found when a finding that was not there before, shown by default, has a planted line among its
places. The same seed plants the same faults.

The kinds: ``guard`` puts the statement under a rank test; ``exit`` lets the other ranks return
before it; ``else`` deletes the arm in which the other ranks reach theirs; ``swap`` gives rank 0 two
collectives in the other order. ``inside`` means that the statement makes the collective itself,
``across`` that it calls a function which does.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from compare import LISTS, RULES
from fetch import listed

import ckptlint_rules
from ckptlint.analysis.holders import Holders
from ckptlint.analysis.machine import Machine
from ckptlint.analysis.ranks import FIRST, OTHER
from ckptlint.analysis.sequences import Branch, Item, Loop, Operation, Scope, Trace
from ckptlint.analysis.survey import Watched, watch
from ckptlint.analysis.values import Site
from ckptlint.analysis.world import World
from ckptlint.engine import Request, analyse, in_deep_stack
from ckptlint.finding import Confidence, Finding
from ckptlint.knowledge import Knowledge
from ckptlint.project import Module, Project
from ckptlint.source import Source

FACTS = ckptlint_rules.facts()
CODES = tuple(RULES.split(","))
_IMPORT = "import torch.distributed as planted"


@dataclass(frozen=True)
class Place:
    """Where a fault can be planted: lines from ``line`` on, and for ``swap`` those of the second
    statement from ``middle`` on."""

    package: str
    path: str
    kind: str
    line: int
    end_line: int
    indent: int
    middle: int = 0

    def __str__(self) -> str:
        return f"{self.package}/{self.path}:{self.line}"


@dataclass(frozen=True)
class Package:
    """A package with its sources."""

    folder: Path
    sources: tuple[Source, ...]

    @classmethod
    def read(cls, folder: Path) -> Package:
        paths = sorted(
            path
            for path in folder.rglob("*.py")
            if not any(part.startswith("test") for part in path.relative_to(folder).parts)
        )
        return cls(
            folder,
            tuple(Source(p, p.relative_to(folder).as_posix(), p.read_bytes()) for p in paths),
        )

    def findings(self, path: str, sources: Sequence[Source]) -> list[Finding]:
        """Return what is shown by default of one file among these sources."""
        request = Request(sources, {path}, self.folder, FACTS, CODES, within={path})
        return [f for f in analyse(request) if f.confidence is not Confidence.POSSIBLE]


# -- where ---------------------------------------------------------------------------------------


def places(package: Package) -> Iterator[Place]:
    """Yield the places of a package, each once."""
    project = Project(package.sources, package.folder)
    knowledge = Knowledge(FACTS, {})
    holders = Holders(project, knowledge)
    machine = Machine(World(project, knowledge, holders))
    found: dict[Place, None] = {}
    for source in sorted(holders.looked_at, key=lambda source: source.display):
        for seen in _watched(machine, project.module(source)):
            first, other = seen.traces.get(FIRST), seen.traces.get(OTHER)
            if first is not None and other is not None and first.shape == other.shape:
                found.update(dict.fromkeys(_in_function(package, machine.world, first, other)))
    yield from found


def _watched(machine: Machine, module: Module) -> Iterable[Watched]:
    """Look at the functions of a file into which something comes that communicates."""

    def wanted(_: str, node: ast.AST) -> bool:
        return node is not module.tree and machine.world.gives(module, node)

    return watch(machine, module, wanted)


def _in_function(package: Package, world: World, first: Trace, other: Trace) -> Iterator[Place]:
    reached = list(_reached(_body(first), False))
    for site, _, across in reached:
        statement = _statement(site)
        if statement is not None:
            for kind in ("guard", "exit"):
                name = f"{kind} {'across' if across else 'inside'}"
                yield _place(package, site.module, name, statement)
    for (one, shape, _), (two, next_shape, _) in pairwise(reached):
        a, b = _statement(one), _statement(two)
        if a is not None and b is not None and shape != next_shape and _adjacent(one, a, b):
            whole = _place(package, one.module, "swap", a)
            yield replace(whole, middle=b.lineno, end_line=b.end_lineno or b.lineno)
    arms = {site.node for site, _, _ in _reached(_body(other), True)}
    for site, _, _ in _reached(_body(first), True):
        choice = _choice(world, site, arms)
        if choice is not None:
            start, last = choice.orelse[0], choice.orelse[-1]
            yield Place(
                package.folder.name,
                site.module.source.display,
                "else",
                choice.body[-1].end_lineno or start.lineno,
                last.end_lineno or last.lineno,
                choice.col_offset,
            )


def _place(package: Package, module: Module, kind: str, node: ast.stmt) -> Place:
    end = node.end_lineno or node.lineno
    return Place(
        package.folder.name, module.source.display, kind, node.lineno, end, node.col_offset
    )


def _body(trace: Trace) -> Sequence[Item]:
    """Return what the function itself does: its trace is one call of it."""
    match trace.items:
        case (Scope(body=body),):
            return body.items
    return trace.items


def _reached(items: Sequence[Item], tested: bool) -> Iterator[tuple[Site, object, bool]]:
    """Yield where a function reaches collectives: the place, the shape, whether by a call.

    ``tested`` picks those under a rank test, or those under none.
    """
    for item in items:
        if isinstance(item, Branch):
            yield from _reached((*item.yes, *item.no), tested)
        elif bool(getattr(item, "guards", ())) is not tested:
            if not tested:
                continue
            if isinstance(item, Loop):
                yield from _reached(item.body.items, tested)
        elif isinstance(item, Operation) and item.group == "world":
            yield item.site, item.shape, False
        elif isinstance(item, Loop):
            yield from _reached(item.body.items, False)
        elif isinstance(item, Scope) and _meets(item.body.items):
            yield item.site, item.shape, True


def _meets(items: Sequence[Item]) -> bool:
    """Say whether every rank surely meets the others in a body: not only under a condition."""
    return any(
        (isinstance(item, Operation) and item.group == "world")
        or (isinstance(item, Scope) and _meets(item.body.items))
        for item in items
    )


def _functions(site: Site) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _statement(site: Site) -> ast.stmt | None:
    """Return the simple statement of a function that holds a call, alone on its lines."""
    for function in _functions(site):
        for node in ast.walk(function):
            if isinstance(node, ast.Expr | ast.Assign) and any(
                child is site.node for child in ast.walk(node)
            ):
                return node
    return None


def _adjacent(site: Site, one: ast.stmt, two: ast.stmt) -> bool:
    for node in ast.walk(site.module.tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and one in body and two in body:
            return body.index(two) == body.index(one) + 1
    return False


def _choice(world: World, site: Site, arms: set[ast.AST]) -> ast.If | None:
    """Return the rank test in whose two arms the ranks reach collectives."""
    for node in ast.walk(site.module.tree):
        if not (isinstance(node, ast.If) and node.orelse and world.tests(site.module, node.test)):
            continue
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            continue
        mine = {child for statement in node.body for child in ast.walk(statement)}
        theirs = {child for statement in node.orelse for child in ast.walk(statement)}
        if site.node in mine and not arms.isdisjoint(theirs):
            return node
    return None


# -- what ----------------------------------------------------------------------------------------


def planted(place: Place, source: Source) -> tuple[str, range] | None:
    """Return the text with the fault and its lines; None where that is no Python."""
    lines = source.data.decode("utf-8").splitlines(keepends=True)
    margin = " " * place.indent
    start, end = place.line - 1, place.end_line
    test = f"{margin}if planted.get_rank() == 0:\n"
    head = [f"{margin}{_IMPORT}\n"]
    body = lines[start:end]
    if place.kind == "else":
        new, changed = lines[start : start + 1], range(place.line - 40, place.line + 1)
    elif place.kind == "swap":
        cut = place.middle - place.line
        one, two = _deeper(body[:cut]), _deeper(body[cut:])
        new = [*head, test, *two, *one, f"{margin}else:\n", *one, *two]
        changed = range(place.line, place.line + len(new))
    elif place.kind.startswith("guard"):
        new = [*head, test, *_deeper(body)]
        changed = range(place.line, place.line + len(new))
    else:
        leave = [f"{margin}if planted.get_rank() != 0:\n", f"{margin}    return None\n"]
        new = [*head, *leave, *body]
        changed = range(place.line, place.line + len(new))
    text = "".join([*lines[:start], *new, *lines[end:]])
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    return text, changed


def _deeper(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def found(package: Package, place: Place, known: set[tuple[str, ...]]) -> list[Finding] | None:
    """Plant a fault; return the findings that tell of it."""
    source = next(source for source in package.sources if source.display == place.path)
    made = planted(place, source)
    if made is None:
        return None
    text, lines = made
    changed = replace(source, data=text.encode("utf-8"))
    sources = [changed if each is source else each for each in package.sources]
    return [
        finding
        for finding in package.findings(place.path, sources)
        if identity(finding) not in known and tells(finding, place.path, lines)
    ]


def identity(finding: Finding) -> tuple[str, ...]:
    return finding.span.path, finding.code, finding.function, finding.message


def tells(finding: Finding, path: str, lines: range) -> bool:
    spans = [finding.span, *(related.span for related in finding.related)]
    return any(span.path == path and span.line in lines for span in spans)


def main() -> None:
    parser = argparse.ArgumentParser(description="Plant faults in correct code.")
    parser.add_argument("folder", type=Path, help="where the packages are unpacked")
    parser.add_argument("names", nargs="*", help="packages; all of the training code if none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="faults of each kind")
    arguments = parser.parse_args()
    named = [each for each in listed(LISTS[0]) if each.name in (arguments.names or [each.name])]
    packages = {p.folder: Package.read(arguments.folder / p.folder) for p in named}
    by_kind: dict[str, list[Place]] = {}
    for package in packages.values():
        for place in in_deep_stack(lambda package=package: list(places(package))):  # type: ignore[misc]
            by_kind.setdefault(place.kind, []).append(place)
    known: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    chance = random.Random(arguments.seed)
    for kind, every in sorted(by_kind.items()):
        every.sort(key=lambda place: (place.package, place.path, place.line))
        tried = hits = told = 0
        for place in chance.sample(every, len(every)):
            package, key = packages[place.package], (place.package, place.path)
            if tried == arguments.count:
                break
            if key not in known:
                known[key] = set(map(identity, package.findings(place.path, package.sources)))
            findings = found(package, place, known[key])
            if findings is None:
                continue
            tried, hits, told = tried + 1, hits + bool(findings), told + len(findings)
            if not findings:
                print(f"missed {kind}: {place}", flush=True)
        if tried:
            share, each = 100 * hits / tried, told / max(hits, 1)
            print(
                f"{kind}: {hits} of {tried} found ({share:.0f} %), {each:.2f} findings a fault, "
                f"{len(every)} places",
                flush=True,
            )


if __name__ == "__main__":
    main()
