"""Fixtures as test cases: what a file expects is written in it, in trailing comments.

``# expect: CKP101`` stands on the line of a certain finding that is an error, whose fix is safe if
there is one; other words follow the code (``# expect: CKP103 likely warning unsafe``), and ``;``
separates two findings of one line.
``# missed: CODE reason`` is a fault that is not found yet, ``# false-alarm: CODE reason`` a finding
that should not be: both fail when they change. The comments are taken out before the analysis, so
that no rule and no fix ever sees them.

Where a program expects a ``possible`` finding, it and its counterparts are asked for those too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from ckptlint.apply import apply_round
from ckptlint.config import Settings
from ckptlint.engine import Request, analyse
from ckptlint.facts import FactSet
from ckptlint.finding import Applicability, Confidence, Finding, Severity
from ckptlint.shown import visible
from ckptlint.source import Source
from ckptlint_rules import RULES, facts

FIXTURES = Path(__file__).parents[1] / "fixtures"
_MARK = re.compile(rb"[ \t]*# (expect|missed|false-alarm): ([^\r\n]*)")
_MAX_ROUNDS = 10


@dataclass(frozen=True, order=True)
class Told:
    """A finding in the words of a fixture's comment."""

    path: str
    line: int
    code: str
    confidence: str
    severity: str

    @classmethod
    def of(cls, finding: Finding) -> Told:
        span = finding.span
        return cls(
            span.path, span.line, finding.code, finding.confidence.value, finding.severity.value
        )


@dataclass(frozen=True)
class Mark:
    """One comment: what it says of which line, and of the fix, if one is offered."""

    kind: str
    told: Told
    applicability: Applicability


@dataclass(frozen=True)
class Case:
    """One program: a file, or a folder of files that is a project of its own."""

    path: Path

    @property
    def id(self) -> str:
        return str(self.path.relative_to(FIXTURES)).removesuffix(".py")

    @property
    def root(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def rule(self) -> str:
        """The code of the rule whose folder this is, or the folder's name."""
        return self.path.parent.name

    @property
    def role(self) -> str:
        """``bad``, ``ok`` or ``fixed``; what lies in ``refusals`` is ok."""
        return "ok" if self.rule == "refusals" else self.path.name.partition("_")[0]

    @property
    def fixed(self) -> Path | None:
        """What the fixer must make of this program, or None where it offers nothing."""
        path = self.path.with_name(self.path.name.replace("bad_", "fixed_", 1))
        return path if self.role == "bad" and path.exists() else None

    @cached_property
    def shown(self) -> Confidence:
        """The level from which on findings are of interest: that of the program with the fault."""
        _, _, name = self.path.name.partition("_")
        bad = Case(self.path.with_name(f"bad_{name}"))
        expected = bad.wanted("expect") if bad.path.exists() else []
        levels = (Confidence(told.confidence) for told in expected)
        return min((Confidence.LIKELY, *levels), key=lambda level: level.level)

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """The files by display name, as they are on disk."""
        paths = sorted(self.path.rglob("*.py")) if self.path.is_dir() else [self.path]
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in paths}

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """The files by display name, without the comments that are for the tests."""
        return {
            name: Source(self.root / name, name, _MARK.sub(b"", data))
            for name, data in self.files.items()
        }

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark for name, data in self.files.items() for mark in _marks(name, data))

    def wanted(self, *kinds: str) -> list[Told]:
        return sorted(mark.told for mark in self.marks if mark.kind in kinds)


def _marks(name: str, data: bytes) -> Iterator[Mark]:
    for match in _MARK.finditer(data):
        line = data.count(b"\n", 0, match.start()) + 1
        kind = match.group(1).decode()
        text = match.group(2).decode()
        for part in text.split(";") if kind == "expect" else [text]:
            code, _, rest = part.strip().partition(" ")
            assert code in RULES, f"{name}:{line}: no rule {code!r}"
            words = set(rest.split()) if kind == "expect" else set()
            confidence = words & {level.value for level in Confidence} or {"certain"}
            severity = words & {level.value for level in Severity} or {"error"}
            unsafe = words & {Applicability.UNSAFE.value}
            assert not words - confidence - severity - unsafe, f"{name}:{line}: what is {rest!r}?"
            assert kind == "expect" or rest, f"{name}:{line}: {kind} needs a reason"
            level = Applicability.UNSAFE if unsafe else Applicability.SAFE
            yield Mark(kind, Told(name, line, code, *confidence, *severity), level)


@cache
def all_facts() -> FactSet:
    """The facts of every framework, read once."""
    return facts()


def all_cases() -> list[Case]:
    """Every fixture, in order."""
    folders = sorted(path for path in FIXTURES.iterdir() if path.is_dir())
    paths = (path for folder in folders for path in sorted(folder.iterdir()))
    return [Case(path) for path in paths if path.suffix == ".py" or _is_project(path)]


def _is_project(path: Path) -> bool:
    return path.is_dir() and next(path.rglob("*.py"), None) is not None


def analysed(
    root: Path,
    sources: Mapping[str, Source],
    fixes: bool = False,
    shown: Confidence = Confidence.LIKELY,
) -> list[Finding]:
    """Analyse sources as the command line does, and keep what all rules show at a level.

    That the nodes share a file system is known where a rule has to know it.
    """
    request = Request(
        sources=tuple(sources.values()),
        asked=frozenset(sources),
        root=root,
        facts=all_facts(),
        codes=tuple(RULES),
        fixes=fixes,
        shared_filesystem=True if "CKP204" in root.parts else None,
    )
    settings = Settings(codes=frozenset(RULES), confidence=shown)
    return visible(analyse(request), settings, sources, frozenset(sources), root)


def analysed_text(text: str, code: str) -> list[Finding]:
    """Analyse one text as a file among the fixtures of a rule, with fixes."""
    path = FIXTURES / code / "example.py"
    source = Source(path, path.name, text.encode())
    return analysed(path.parent, {source.display: source}, fixes=True)


@cache
def findings(case: Case) -> tuple[Finding, ...]:
    """The findings of a case with their fixes, analysed once."""
    return tuple(analysed(case.root, case.sources, fixes=True, shown=case.shown))


@dataclass(frozen=True)
class Outcome:
    """What became of a program when every fix was applied."""

    sources: Mapping[str, Source]
    findings: tuple[Finding, ...]
    fixed: tuple[Finding, ...] = field(default=())


def repaired(
    root: Path,
    sources: Mapping[str, Source],
    found: Iterable[Finding],
    allowed: Collection[Applicability] = frozenset(Applicability),
    shown: Confidence = Confidence.LIKELY,
) -> Outcome:
    """Apply all fixes of these kinds until none is left."""
    remaining = list(found)
    fixed: list[Finding] = []
    for _ in range(_MAX_ROUNDS):
        applied = apply_round(remaining, sources, allowed, frozenset(sources))
        if not applied.sources:
            return Outcome(sources, tuple(remaining), tuple(fixed))
        fixed.extend(applied.findings)
        sources = {**sources, **applied.sources}
        remaining = analysed(root, sources, fixes=True, shown=shown)
    raise AssertionError(f"the fixes do not come to rest in {_MAX_ROUNDS} rounds")
