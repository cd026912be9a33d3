"""The facts: what each API of each framework does, read from TOML.

Facts are data. One file describes one framework; users add their own records in the same words
under ``[tool.ckptlint]``. ``docs/facts.md`` is the reference of the format. This module only
reads, checks and indexes the records; it knows no framework.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Who = Literal["all", "group", "one", "any"]
Effect = Literal[
    "save",
    "gather",
    "barrier",
    "collective",
    "forward",
    "setup",
    "load",
    "write",
    "create",
    "rename",
    "delete",
    "read",
]
Alone = Literal["hang", "partial", "error", "late", "ok"]
Scope = Literal["global", "node", "group"]
Part = Literal["", "root", "state", "shard"]
Meaning = Literal["rank", "world", "first", "last", "member", "distributed"]
Form = Literal["decorator", "wrapper", "context"]


class FactsError(Exception):
    """A facts file or a user's table is wrong; the text names the file, the table and the key."""


@dataclass(frozen=True)
class Call:
    """A function, method or context manager that ranks must reach together (or must not).

    ``name`` is canonical and dotted, ``package.Class.method`` for a method; ``*.method`` is one of
    an object of which nothing is known. ``who`` must call: ``all`` ranks of the job, all of a
    ``group``, exactly ``one``, or ``any``. ``backends`` limits ``alone`` (what happens when only
    some ranks call) to those; ``otherwise`` holds elsewhere. ``group`` and ``path`` name the
    argument (keyword, with ``group_position`` and ``path_position`` from 0 for a positional one, -1
    for none); the path ``self`` is the object itself, and ``tag`` names the argument that says what
    it is put under there. ``own_group`` says that it uses a group of its own choice, which is a
    part of the job, ``alike`` names the argument that ranks must give alike to meet, ``own`` that
    which each has of its own, and of which some may have nothing. ``positions`` gives those of the
    arguments in ``when`` and ``unless``, and of these two. ``clears`` lists positions of arguments
    that hold the same value on every rank after the call, ``differs`` those whose value only the
    root has then. ``unless`` maps an argument name to a value under which the call is local,
    ``when`` to the values one of which it must have for the record to hold. ``property`` marks an
    attribute that communicates when it is read. ``everyday`` says that programs of one process make
    the call as well, so that it shows no ranks; ``once`` that it leaves alone what is there
    already. ``state`` names the argument that is written in place of the object's own state.
    ``single`` are arguments with values of which all say that the program is one process.
    ``staged`` says that what it communicates belongs to one stage of a pipeline.
    """

    name: str
    who: Who
    effect: Effect
    source: str
    alone: Alone = "hang"
    backends: tuple[str, ...] = ()
    otherwise: Alone = "ok"
    note: str = ""
    fix: str = ""
    group: str = ""
    group_position: int = -1
    own_group: bool = False
    alike: str = ""
    own: str = ""
    path: str = ""
    path_position: int = 0
    tag: str = ""
    tag_position: int = 1
    positions: Mapping[str, Any] = field(default_factory=dict)
    clears: tuple[int, ...] = ()
    differs: tuple[int, ...] = ()
    result: Literal["all", "root", "own", "none"] = "all"
    guards_writes: bool = False
    context: bool = False
    property: bool = False
    everyday: bool = False
    once: bool = False
    staged: bool = False
    state: str = ""
    single: Mapping[str, Any] = field(default_factory=dict)
    unless: Mapping[str, Any] = field(default_factory=dict)
    when: Mapping[str, Any] = field(default_factory=dict)
    versions: str = ""
    framework: str = ""


@dataclass(frozen=True)
class Returns:
    """What a call gives: canonical class names, one for each element of a returned tuple.

    An empty name is a value that nothing is known of; ``arguments`` says that the call gives its
    own arguments back (as ``Accelerator.prepare`` does), where ``types`` then names the
    classes in which it wraps those that are the project's own or unknown, with ``unknown`` only
    these. ``in_place`` says that the first argument is itself turned into what is given.
    """

    name: str
    types: tuple[str, ...] = ()
    arguments: bool = False
    in_place: bool = False
    unknown: bool = False
    framework: str = ""


@dataclass(frozen=True)
class Class:
    """A class: its bases, the types of its attributes, and names that conventionally hold one.

    ``settings`` says that what its constructor is given decides what a call does that receives it;
    ``single`` are arguments with values of which all say that the program is one process. ``group``
    names the argument that is the group in which its objects communicate.
    """

    name: str
    bases: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    usual_names: tuple[str, ...] = ()
    settings: bool = False
    single: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    framework: str = ""


@dataclass(frozen=True)
class Predicate:
    """An expression whose value depends on the rank.

    ``meaning``: ``rank`` is the rank number within ``scope``, ``first``/``last`` are true on that
    rank only, ``member`` is true on members of a group, ``world`` is the number of ranks and
    ``distributed`` is true in every distributed run. ``name`` is canonical, or a bare name for
    ``kind = "name"`` (a convention) and for ``kind = "env"``. ``job`` maps its first argument to a
    value with which it is about the whole job.
    """

    name: str
    meaning: Meaning
    kind: Literal["call", "attribute", "env", "name"]
    source: str
    scope: Scope = "global"
    group: str = ""
    job: Mapping[str, Any] = field(default_factory=dict)
    versions: str = ""
    framework: str = ""

    @property
    def varies(self) -> bool:
        """Whether it differs between ranks."""
        return self.meaning not in ("world", "distributed")


@dataclass(frozen=True)
class Guard:
    """A decorator, wrapper or context manager that runs code on some ranks only, or on all but
    not at the same time.

    ``ranks``: ``first``/``last`` of ``scope``; ``all`` for one that only orders the ranks.
    ``form = "wrapper"`` calls the function given as argument ``function``. ``synchronises`` says
    that all ranks must enter it (it holds barriers of its own), ``silences`` which calls do
    nothing in what it runs.
    """

    name: str
    form: Form
    ranks: Literal["first", "last", "all"]
    source: str
    scope: Scope = "global"
    function: int = 0
    synchronises: bool = False
    silences: tuple[str, ...] = ()
    versions: str = ""
    framework: str = ""


@dataclass(frozen=True)
class Hook:
    """A method that a framework calls, on ``ranks``, when a user's class overrides it.

    ``parameters`` gives the types of the arguments after ``self``. ``chain`` names the calls that
    lead to the hook, outermost first; ``reason`` says in one clause why only those ranks run it.
    """

    owner: str
    name: str
    ranks: Literal["first", "all"]
    source: str
    parameters: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    reason: str = ""
    versions: str = ""
    framework: str = ""


@dataclass(frozen=True)
class Evidence:
    """What shows that a project uses a backend: imported or called names, or text in its files."""

    backend: str
    names: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    framework: str = ""


@dataclass(frozen=True)
class Alias:
    """Other spellings of a canonical name; a module stands for everything inside it."""

    name: str
    also: tuple[str, ...]
    framework: str = ""


@dataclass(frozen=True)
class Disagreement:
    """A function whose result may differ between ranks although no rank is in its text.

    ``reason`` says what it depends on, as a noun phrase. ``likely`` is false when it usually is the
    same on every rank. ``seeds`` names functions that make it so: where the project mentions one,
    the result is not ``likely`` to differ. ``part`` says that it is of this rank alone and that the
    others have theirs: a ``state``, or a ``shard`` of what all have. ``counts`` is false when what
    it gives differs, but not how much. ``close`` says that ranks which ask at about the same time
    often get the same. With ``backends`` it differs where one of them is in use.
    """

    name: str
    reason: str
    source: str
    likely: bool = True
    part: Part = ""
    counts: bool = True
    close: bool = False
    seeds: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    framework: str = ""


@dataclass(frozen=True)
class Pure:
    """A function without side effects and without communication (a fix may move its call).

    ``truth`` says when its result is true: ``always``, or by the ``number`` of what it holds; where
    it is empty, nothing is known of that.
    """

    name: str
    truth: Literal["", "always", "number"] = ""
    framework: str = ""


@dataclass(frozen=True)
class Exit:
    """A function that never returns."""

    name: str
    framework: str = ""


@dataclass(frozen=True)
class Framework:
    """Which framework a facts file describes and how a project's pinned version is found."""

    name: str
    imports: tuple[str, ...]
    distributions: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    source: str = ""


RECORDS: Mapping[str, type[Any]] = {
    "call": Call,
    "returns": Returns,
    "class": Class,
    "predicate": Predicate,
    "guard": Guard,
    "hook": Hook,
    "evidence": Evidence,
    "alias": Alias,
    "divergent": Disagreement,
    "pure": Pure,
    "exit": Exit,
}


@dataclass(frozen=True)
class FactSet:
    """All records of one or more files, in file order."""

    frameworks: tuple[Framework, ...] = ()
    records: tuple[Any, ...] = ()

    def __add__(self, other: FactSet) -> FactSet:
        return FactSet(self.frameworks + other.frameworks, self.records + other.records)

    def of(self, kind: type[Any]) -> Iterable[Any]:
        """Yield the records of one kind."""
        return (record for record in self.records if type(record) is kind)


def load_file(path: Path) -> FactSet:
    """Read one facts file.

    Raises FactsError with the file, the table and the key when something is wrong in it.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FactsError(f"{path}: {error}") from error
    return parse(table, str(path))


def parse(table: Mapping[str, Any], where: str) -> FactSet:
    """Turn one file's tables into records. ``where`` names the file in error messages."""
    table = dict(table)
    head = table.pop("framework", None)
    frameworks: tuple[Framework, ...] = ()
    if head is not None:
        frameworks = (_build(Framework, head, f"{where}: [framework]"),)
    framework = frameworks[0].name if frameworks else ""
    records: list[Any] = []
    for key, entries in table.items():
        kind = RECORDS.get(key)
        if kind is None:
            raise FactsError(f"{where}: unknown table [[{key}]]; {_meant(key, RECORDS)}")
        if not isinstance(entries, list):
            raise FactsError(f"{where}: [{key}] must be written [[{key}]]")
        for number, entry in enumerate(entries, 1):
            if not isinstance(entry, Mapping):
                raise FactsError(f"{where}: [[{key}]] number {number} must be a table")
            place = f"{where}: [[{key}]] number {number} ({entry.get('name', 'without a name')})"
            records.extend(
                _build(kind, {**single, "framework": framework}, place)
                for single in _one_per_name(entry)
            )
    return FactSet(frameworks, tuple(records))


def _one_per_name(entry: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Expand ``names = [...]`` (the same record for several APIs) into single records."""
    if "names" in entry and "name" not in entry and "backend" not in entry:
        if not isinstance(entry["names"], list):
            return (entry,)  # told as an unknown key
        rest = {key: value for key, value in entry.items() if key != "names"}
        return ({**rest, "name": name} for name in entry["names"])
    return (entry,)


def _meant(word: str, known: Collection[str]) -> str:
    """Ask whether the nearest of some words was meant, and name them all."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}one of {', '.join(known)}"


_HINTS: dict[type[Any], dict[str, Any]] = {}


def _build(kind: type[Any], entry: Mapping[str, Any], place: str) -> Any:
    hints = _HINTS.get(kind)
    if hints is None:
        hints = _HINTS[kind] = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key not in hints:
            raise FactsError(f"{place}: unknown key {key!r}; {_meant(key, hints)}")
        values[key] = _checked(value, hints[key], f"{place}: {key}")
    required = {f.name for f in fields(kind) if f.default is f.default_factory}
    missing = sorted(required - values.keys())
    if missing:
        raise FactsError(f"{place}: missing {', '.join(missing)}")
    return kind(**values)


def _checked(value: Any, hint: Any, place: str) -> Any:
    origin = get_origin(hint)
    if origin is Literal:
        if value not in get_args(hint):
            raise FactsError(f"{place} is {value!r}; one of {', '.join(map(repr, get_args(hint)))}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise FactsError(f"{place} must be a list")
        item = get_args(hint)[0]
        if any(type(element) is not item for element in value):
            raise FactsError(f"{place} must be a list of {item.__name__}")
        return tuple(value)
    if origin is not None:
        if not isinstance(value, Mapping):
            raise FactsError(f"{place} must be a table")
        return dict(value)
    if type(value) is not hint:
        raise FactsError(f"{place} must be {hint.__name__}, not {type(value).__name__}")
    return value
