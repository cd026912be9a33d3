"""Answers of the commands ``rules`` and ``facts``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ckptlint.catalogue import nearest
from ckptlint.facts import Alias, Call, FactSet, Guard, Hook, Predicate
from ckptlint.report.styled import Piece, Screen
from ckptlint.rule import Rule

Fact = Call | Predicate | Guard | Hook
_DETAILED = 4  # up to so many APIs are described; more are listed

WHO = {
    "all": "every rank",
    "group": "every rank of the group",
    "one": "exactly one rank",
    "any": "any rank, by itself",
}
ALONE = {
    "hang": "the job hangs",
    "partial": "what is saved is incomplete",
    "error": "the call raises an error",
    "late": "the job hangs in a later call",
    "ok": "nothing is lost",
}
_FIXES = {"safe": "[*]", "sometimes": "[*]", "unsafe": "[-]", "none": ""}


class UnknownNameError(Exception):
    """The facts do not know an API of this name."""


def rules_as_json(rules: Iterable[Rule]) -> str:
    """List the rules for programs."""
    return json.dumps(
        [
            {
                "code": rule.code,
                "name": rule.name,
                "summary": rule.summary,
                "since": rule.since,
                "severity": rule.severity.value,
                "confidence": rule.confidence.value,
                "fix": rule.fix,
                "default": rule.default,
            }
            for rule in rules
        ],
        indent=2,
    )


def rules_as_table(rules: Iterable[Rule], screen: Screen) -> str:
    """List the rules for people."""
    known = list(rules)
    names = max((len(rule.name) for rule in known), default=0)
    pieces: list[Piece] = []
    for rule in known:
        pieces.append((f"{rule.code} ", rule.severity.value))
        pieces.append((f" {rule.name:<{names}} ", "strong"))
        pieces.append((f" {_FIXES[rule.fix]:<3} ", "help"))
        summary = rule.summary if rule.default else f"{rule.summary} (off by default)"
        pieces.append((f" {summary}\n", ""))
    pieces.append(("\n[*]", "help"))
    pieces.append((" can be fixed, at least in part   ", "dim"))
    pieces.append(("[-]", "help"))
    pieces.append((" with a fix to be read first\n", "dim"))
    return screen.paint(pieces)


def facts_about(name: str, facts: FactSet, screen: Screen) -> str:
    """Tell what the facts say of an API, or list those that the name may mean.

    Raises UnknownNameError with the names that come near.
    """
    found = list(_matching(name, facts))
    if not found:
        raise UnknownNameError(_nothing(name, facts))
    if len({full_name(fact) for fact in found}) > _DETAILED:
        return screen.paint(_listed(found))
    return screen.paint(piece for fact in found for piece in _described(fact))


def _known(facts: FactSet) -> Iterator[Fact]:
    for kind in (Call, Predicate, Guard, Hook):
        yield from facts.of(kind)


def full_name(fact: Fact) -> str:
    """Return the canonical name of what a fact is about."""
    return f"{fact.owner}.{fact.name}" if isinstance(fact, Hook) else fact.name


def _matching(name: str, facts: FactSet) -> Iterator[Fact]:
    wanted = [spelling.lower() for spelling in _spellings(name, facts)]
    exact = [fact for fact in _known(facts) if full_name(fact).lower() in wanted]
    if exact and "." in name:
        return iter(exact)
    return (
        fact
        for fact in _known(facts)
        if any(f".{full_name(fact)}".lower().endswith(f".{spelling}") for spelling in wanted)
    )


def _spellings(name: str, facts: FactSet) -> Iterator[str]:
    """Yield a name, and what its aliases stand for."""
    yield name
    for alias in facts.of(Alias):
        for other in alias.also:
            if name == other or name.startswith(f"{other}."):
                yield alias.name + name[len(other) :]


def _nothing(name: str, facts: FactSet) -> str:
    names = {full_name(fact) for fact in _known(facts)}
    tails = {full.rpartition(".")[2] for full in names}
    close = nearest(name, names if "." in name else tails)
    close = close or nearest(name.rpartition(".")[2], tails)
    hint = f"; did you mean {close}?" if close else ""
    return f"nothing is known of {name!r}{hint}"


def _listed(found: Iterable[Fact]) -> Iterator[Piece]:
    lines = dict.fromkeys((full_name(fact), _gist(fact)) for fact in found)
    width = max(len(full) for full, _ in lines)
    for full, gist in sorted(lines):
        yield f"{full:<{width}}", "strong"
        yield f"  {gist}\n", ""
    yield "\nGive more of a name to read all that is known of it.\n", "dim"


def _gist(fact: Fact) -> str:
    if isinstance(fact, Call):
        return f"{fact.effect}: {WHO[fact.who]}"
    if isinstance(fact, Predicate):
        return f"rank test: {meaning(fact)}"
    if isinstance(fact, Guard):
        return f"{fact.form}: runs on {ranks_of(fact.ranks, fact.scope)}"
    return f"hook: runs on {ranks_of(fact.ranks, 'global')}"


def _described(fact: Fact) -> Iterator[Piece]:
    yield f"{full_name(fact)}\n", "strong"
    for label, text in details(fact):
        if text:
            yield f"  {label:<14}", "related"
            yield f" {text}\n", ""
    yield "\n", ""


def details(fact: Fact) -> Iterator[tuple[str, str]]:
    """Yield what is known, a label and a text each; an empty text has nothing to say."""
    if isinstance(fact, Call):
        yield "must call", WHO[fact.who]
        yield "does", fact.effect
        if fact.who in ("all", "group"):
            yield "if only some", ALONE[fact.alone] + _where(fact.backends)
            if fact.backends:
                yield "otherwise", ALONE[fact.otherwise]
        yield "group", fact.group and f"argument {fact.group}"
        yield "path", fact.path and f"argument {fact.path}"
        yield "writes", "guards its own writes" if fact.guards_writes else ""
        yield "local when", _arguments(fact.unless.items())
        yield "only when", _arguments(fact.when.items())
        yield "note", fact.note
        yield "instead", fact.fix
    elif isinstance(fact, Hook):
        yield "hook", f"runs on {ranks_of(fact.ranks, 'global')}"
        yield "called by", " → ".join(fact.chain)
        yield "because", fact.reason
    else:
        yield "is", _gist(fact)
        if isinstance(fact, Guard) and fact.synchronises:
            yield "must enter", "every rank: it holds barriers of its own"
    yield "versions", fact.versions and f"{fact.framework} {fact.versions}"
    yield "source", fact.source


def _where(backends: tuple[str, ...]) -> str:
    return f" under {', '.join(backends)}" if backends else ""


def _arguments(items: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in items)


def meaning(fact: Predicate) -> str:
    """Say what a rank test gives."""
    scope = {"global": "of the job", "node": "of the node", "group": "of the group"}[fact.scope]
    return {
        "rank": f"the number of the rank {scope}",
        "world": f"the number of ranks {scope}",
        "first": f"true on the first rank {scope}",
        "last": f"true on the last rank {scope}",
        "member": "true on the members of the group",
        "distributed": "true in every distributed run",
    }[fact.meaning]


def ranks_of(ranks: str, scope: str) -> str:
    """Name the ranks that a guard or a hook lets in."""
    where = {"global": "", "node": " of each node", "group": " of each group"}[scope]
    return {"first": f"the first rank{where}", "last": f"the last rank{where}"}.get(
        ranks, "every rank"
    )
