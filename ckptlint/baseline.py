"""A baseline: the findings that a project lives with for now, so that only new ones count.

An entry is an identity (file, function, rule, statement) and how often it was found, never a line.
The file is JSON with one entry to a line, in order, so that two branches merge.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from ckptlint import atomic
from ckptlint.catalogue import NOT_ANALYSED
from ckptlint.finding import Confidence, Finding
from ckptlint.identity import Identity, identities
from ckptlint.source import Source

VERSION = 1
_TEXTS = ("path", "function", "code", "statement", "confidence")


class BaselineError(Exception):
    """A baseline that cannot be read or written; the text names the file and says what to do."""


@dataclass(frozen=True)
class Baseline:
    """What one file holds. Paths are relative to its folder; ``confidence`` is that of the
    findings when they were written down."""

    path: Path
    counts: Mapping[Identity, int] = field(default_factory=dict)
    confidence: Mapping[Identity, Confidence] = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """What a run could see in a file: the rules that ran, and how sure a finding had to be."""

    codes: frozenset[str]
    confidence: Confidence

    def sees(self, code: str, confidence: Confidence) -> bool:
        """Say whether a finding of this kind would have been shown."""
        return code in self.codes and confidence.level >= self.confidence.level


@dataclass(frozen=True)
class Comparison:
    """The findings of a run beside a baseline.

    ``known`` are the positions of the findings that it holds. Of what is left of it, ``stale`` was
    looked for and is gone; the rest could not be seen in this run.
    """

    baseline: Baseline
    found: Sequence[Identity]
    findings: Sequence[Finding]
    known: frozenset[int]
    left: Mapping[Identity, int]
    stale: Mapping[Identity, int]

    @property
    def marked(self) -> list[Finding]:
        """The findings, those in the baseline marked."""
        return [
            replace(finding, baselined=True) if position in self.known else finding
            for position, finding in enumerate(self.findings)
        ]

    def accepted(self) -> Comparison:
        """Return the same findings beside a baseline that holds them all, and what of the old one
        could not be seen."""
        counts = Counter(self.left) - Counter(self.stale)
        confidence = {each: self.baseline.confidence[each] for each in counts}
        known: set[int] = set()
        for position, finding in enumerate(self.findings):
            if finding.code != NOT_ANALYSED:
                known.add(position)
                counts[self.found[position]] += 1
                confidence[self.found[position]] = finding.confidence
        new = Baseline(self.baseline.path, counts, confidence)
        return replace(self, baseline=new, known=frozenset(known), left={}, stale={})


def compare(
    baseline: Baseline,
    findings: Sequence[Finding],
    sources: Mapping[str, Source],
    checked: Mapping[str, Scope],
    cwd: Path,
) -> Comparison:
    """Find each finding in the baseline, as often as it is counted there.

    ``checked`` are the files that were analysed, named like findings are: relative to ``cwd``.

    One whose file was moved, or whose function went to another file, is the one that is missed at
    its old place; while the function is still there, what is found elsewhere is a copy. That a
    file could not be analysed is never in a baseline: nothing is known of it.
    """
    found = [
        replace(each, path=relative(each.path, baseline.path, cwd))
        for each in identities(findings, sources)
    ]
    left = Counter(baseline.counts)
    known: set[int] = set()
    for position, identity in enumerate(found):
        if findings[position].code != NOT_ANALYSED and left[identity] > 0:
            left[identity] -= 1
            known.add(position)
    scopes = {relative(name, baseline.path, cwd): scope for name, scope in checked.items()}
    texts = {relative(name, baseline.path, cwd): source for name, source in sources.items()}
    gone = {each for each in left if left[each] > 0 and _is_gone(each, baseline, scopes)}
    homeless: defaultdict[Identity, list[Identity]] = defaultdict(list)
    for each in sorted(gone, reverse=True):
        if each.path not in scopes or not _defines(texts.get(each.path), each.function):
            homeless[replace(each, path="")] += [each] * left[each]
    for position, identity in enumerate(found):
        old = homeless[replace(identity, path="")]
        if position not in known and old:
            left[old.pop()] -= 1
            known.add(position)
    left = +left
    stale = {each: n for each, n in left.items() if each in gone and _seen(each, baseline, scopes)}
    return Comparison(baseline, found, findings, frozenset(known), left, stale)


def relative(path: str, baseline: Path, cwd: Path) -> str:
    """Name a file, which is named relative to ``cwd``, from the folder of a baseline."""
    return PurePath(os.path.relpath(cwd / path, baseline.parent)).as_posix()


def _is_gone(identity: Identity, baseline: Baseline, scopes: Mapping[str, Scope]) -> bool:
    """Say whether an entry that no finding matched is not at its place any more."""
    return identity.path in scopes or not (baseline.path.parent / identity.path).exists()


def _defines(source: Source | None, function: str) -> bool:
    """Say whether a file still holds a function of this name; what stands in none stays."""
    name = function.rpartition(".")[2]
    if source is None or not name.isidentifier():
        return True
    return re.search(rf"\bdef\s+{name}\b", source.text) is not None


def _seen(identity: Identity, baseline: Baseline, scopes: Mapping[str, Scope]) -> bool:
    """Say whether the run would have shown this entry, wherever it had gone to."""
    path = identity.path
    here = [scopes[path]] if path in scopes else scopes.values()
    return all(scope.sees(identity.code, baseline.confidence[identity]) for scope in here)


def load(path: Path, missing: bool = False) -> Baseline:
    """Read a baseline; with ``missing`` one that is not there is empty. Raises BaselineError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if missing:
            return Baseline(path)
        hint = "write it with --update-baseline"
        raise BaselineError(f"{path}: there is no such baseline; {hint}") from error
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise _damaged(path, 'it has no list "findings"')
    if document.get("version") != VERSION:
        told = f"its version is {document.get('version')!r}, and this ckptlint reads {VERSION}"
        raise BaselineError(f"{path}: {told}")
    counts: dict[Identity, int] = {}
    confidence: dict[Identity, Confidence] = {}
    for number, entry in enumerate(document["findings"], 1):
        identity, level, count = _entry(path, number, entry)
        # Two branches may have added the same entry; a merge keeps both lines.
        counts[identity] = max(count, counts.get(identity, 0))
        confidence[identity] = level
    return Baseline(path, counts, confidence)


def _entry(path: Path, number: int, entry: Any) -> tuple[Identity, Confidence, int]:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _TEXTS):
        raise _damaged(path, f"entry {number} lacks one of {', '.join(_TEXTS)}")
    count = entry.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise _damaged(path, f"the count of entry {number} is not a number of findings")
    try:
        level = Confidence(entry["confidence"])
    except ValueError as error:
        raise _damaged(path, f"entry {number}: {error}") from error
    identity = Identity(entry["path"], entry["function"], entry["code"], entry["statement"])
    return identity, level, count


def _damaged(path: Path, why: str) -> BaselineError:
    return BaselineError(
        f"{path}: the baseline is damaged ({why}); mend it, or take an older one from version "
        "control and run --update-baseline"
    )


def write(baseline: Baseline) -> None:
    """Replace the file at once; the same findings give the same bytes. Raises BaselineError."""
    lines = [f"    {_line(baseline, each)}" for each in sorted(baseline.counts)]
    body = "[\n{}\n  ]".format(",\n".join(lines)) if lines else "[]"
    text = f'{{\n  "version": {VERSION},\n  "findings": {body}\n}}\n'
    try:
        # What is no text in a file's name is written as JSON writes it in ASCII.
        atomic.replace(str(baseline.path), text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        why = error.strerror or str(error)
        raise BaselineError(f"{baseline.path}: the baseline cannot be written: {why}") from error


def _line(baseline: Baseline, identity: Identity) -> str:
    entry: dict[str, Any] = {
        "path": identity.path,
        "function": identity.function,
        "code": identity.code,
        "statement": identity.statement,
        "confidence": baseline.confidence[identity].value,
    }
    if baseline.counts[identity] > 1:
        entry["count"] = baseline.counts[identity]
    return json.dumps(entry, ensure_ascii=False)
