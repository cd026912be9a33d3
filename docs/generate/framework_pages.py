"""A page for each framework, from its facts: who must call what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from wording import cell, code, codes, name, table

from ckptlint.facts import Alias, Call, Evidence, FactSet, Guard, Hook, Predicate, load_file
from ckptlint.fault import BACKENDS
from ckptlint.lookup import ALONE, WHO, meaning, ranks_of
from ckptlint_rules import FACTS

_EFFECTS = {
    "save": "Saves",
    "gather": "Gathers of state",
    "load": "Loads",
    "barrier": "Barriers",
    "collective": "Other collectives",
    "forward": "Forward passes and steps",
    "setup": "Set-up",
    "write": "Local writes",
    "delete": "Local deletions",
    "read": "Local reads",
}


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the Markdown of each page."""
    sets = {path.stem: load_file(path) for path in sorted(FACTS.glob("*.toml"))}
    yield "frameworks/index.md", _index(sets)
    for stem, facts in sets.items():
        yield f"frameworks/{stem}.md", _page(stem, facts)


def _title(stem: str, facts: FactSet) -> str:
    return facts.frameworks[0].name if facts.frameworks else stem


def _index(sets: dict[str, FactSet]) -> str:
    rows = (
        (
            f"[{_title(stem, facts)}]({stem}.md)",
            str(sum(call.who in ("all", "group") for call in facts.of(Call)) or ""),
            *(str(len(list(facts.of(kind))) or "") for kind in (Predicate, Guard, Hook)),
            _releases(facts),
        )
        for stem, facts in sets.items()
    )
    heads = ("Facts", "Calls for all ranks", "Rank tests", "Guards", "Hooks", "Read at releases")
    return (
        "# Frameworks\n\nckptlint knows no framework by itself: what each API does is written down"
        " as facts, read from the sources of the frameworks. These pages are made from them, and"
        " `ckptlint facts NAME` answers from them in the terminal. A framework that is missing, or"
        " helpers of your own, are added [in the same words](../facts.md).\n\n"
        f"{table(heads, rows)}"
    )


def _releases(facts: FactSet) -> str:
    releases = facts.frameworks[0].releases if facts.frameworks else ()
    if len(releases) > 1:
        return f"{releases[0]} to {releases[-1]}"
    return "".join(releases)


def _page(stem: str, facts: FactSet) -> str:
    parts = [f"# {_title(stem, facts)}\n"]
    for head in facts.frameworks:
        imports = f"Imported as {codes(head.imports)}. " if head.imports else ""
        parts.append(f"{imports}Read from {head.source}.\n" if head.source else f"{imports}\n")
    parts += _calls(facts)
    parts += _section(
        "Rank tests",
        ("Expression", "Gives", "Kind", "Releases"),
        ((name(p.name), meaning(p), p.kind, code(p.versions)) for p in facts.of(Predicate)),
    )
    parts += _section("Guards", ("Name", "Form", "Runs on", "Enter it", "Releases"), _guards(facts))
    parts += _section("Hooks", ("Method", "Runs on", "Because", "Releases"), _hooks(facts))
    parts += _section(
        "What shows a backend",
        ("Backend", "Names", "Text"),
        ((_backends([e.backend]), codes(e.names), codes(e.text)) for e in facts.of(Evidence)),
    )
    parts += _section(
        "Other spellings",
        ("Name", "Also"),
        ((name(alias.name), codes(alias.also)) for alias in facts.of(Alias)),
    )
    return "\n".join(parts) + "\n"


def _calls(facts: FactSet) -> Iterator[str]:
    """Yield a table for each effect; APIs that are alike in all else share a row."""
    heads = ("API", "Must call", "If only some do", "When", "Releases", "Instead")
    for effect, title in _EFFECTS.items():
        alike: dict[str, list[Call]] = {}
        for call in facts.of(Call):
            if call.effect == effect:
                alike.setdefault(repr(replace(call, name="", source="")), []).append(call)
        yield from _section(title, heads, (_call(calls) for calls in alike.values()))


def _call(calls: list[Call]) -> tuple[str, ...]:
    call = calls[0]
    names = "<br>".join(dict.fromkeys(name(each.name) for each in calls))
    what, instead = "", ""
    if call.who in ("all", "group"):
        what, instead = ALONE[call.alone], call.fix
        if call.backends:
            what += f" under {_backends(call.backends)}; elsewhere {ALONE[call.otherwise]}"
        if call.note:
            what += f" ({call.note})"
    when = _conditions(call)
    return names, WHO[call.who], cell(what), when, code(call.versions), cell(instead)


def _conditions(call: Call) -> str:
    when = [f"{key} is {' or '.join(map(repr, values))}" for key, values in call.when.items()]
    when += [f"{key} is not {value!r}" for key, value in call.unless.items()]
    return cell(", ".join(when))


def _guards(facts: FactSet) -> Iterator[tuple[str, ...]]:
    for guard in facts.of(Guard):
        enter = "every rank: it holds barriers" if guard.synchronises else ""
        ranks = ranks_of(guard.ranks, guard.scope)
        yield name(guard.name), guard.form, ranks, enter, code(guard.versions)


def _hooks(facts: FactSet) -> Iterator[tuple[str, ...]]:
    for hook in facts.of(Hook):
        method = name(f"{hook.owner}.{hook.name}")
        yield method, ranks_of(hook.ranks, "global"), cell(hook.reason), code(hook.versions)


def _section(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    listed = list(dict.fromkeys(rows))
    return [f"## {title}\n", table(heads, listed)] if listed else []


def _backends(names: Iterable[str]) -> str:
    return ", ".join(BACKENDS.get(each, each) for each in names)
