"""Comments that silence nothing, or name a rule in vain: the findings of CKP901.

A comment is judged only where it could have silenced something: by rules that ran, in a project
whose files were all analysed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ckptlint.catalogue import UNUSED_SUPPRESSION, nearest
from ckptlint.finding import Applicability, Confidence, Edit, Finding, Fix, Span
from ckptlint.rule import Rule
from ckptlint.source import Source
from ckptlint.suppress import Suppression

_CODE = re.compile(r"[^,\s]+")


@dataclass(frozen=True)
class Usage:
    """What one comment silenced: the codes of the findings, shown or not."""

    comment: Suppression
    silenced: frozenset[str]


def unused(
    usages: Iterable[Usage], source: Source, selected: Collection[str], known: Mapping[str, Rule]
) -> Iterator[Finding]:
    """Yield a finding for each comment of a file that names something in vain.

    ``selected`` are the codes that ran on this file; of ``# noqa`` only our codes are judged.
    """
    for usage in usages:
        comment = usage.comment
        if comment.kind == "noqa" and not comment.codes:
            continue
        idle = [code for code in comment.codes if _idle(code, usage.silenced, selected, known)]
        unknown = [code for code in comment.codes if _unknown(code, comment, known)]
        if comment.codes and not idle and not unknown:
            continue
        if not comment.codes and (usage.silenced or not _wholly("", selected, known)):
            continue
        yield _finding(comment, idle, unknown, source, known)


def _idle(
    code: str, silenced: Collection[str], selected: Collection[str], known: Mapping[str, Rule]
) -> bool:
    """Say whether a code (or the beginning of some) silenced nothing although its rules ran.

    What names CKP901 itself cannot be judged: it would silence its own finding.
    """
    if UNUSED_SUPPRESSION.startswith(code) or not _wholly(code, selected, known):
        return False
    return not any(each.startswith(code) for each in silenced)


def _wholly(code: str, selected: Collection[str], known: Mapping[str, Rule]) -> bool:
    """Say whether all rules ran that a code names; of several, those that are on by default."""
    named = [rule for rule in known.values() if rule.code.startswith(code)]
    needed = [rule for rule in named if rule.default] if len(named) > 1 else named
    return bool(needed) and all(rule.code in selected for rule in needed)


def _unknown(code: str, comment: Suppression, known: Mapping[str, Rule]) -> bool:
    """Say whether a code names no rule of ours where it should."""
    ours = comment.kind != "noqa" or code.startswith("CKP")
    return ours and not any(each.startswith(code) for each in known)


def _finding(
    comment: Suppression,
    idle: list[str],
    unknown: list[str],
    source: Source,
    known: Mapping[str, Rule],
) -> Finding:
    rule = known[UNUSED_SUPPRESSION]
    line = source.lines[comment.line - 1]
    text = line[comment.column - 1 : comment.end_column - 1].rstrip()
    end = comment.column + len(text)
    if unknown:
        meant = nearest(unknown[0].upper(), known)
        hint = f"; did you mean {meant}?" if meant else ""
        message = f"{_listed(unknown)} names no rule, so nothing is silenced{hint}"
        help_ = "name the rule that is meant; `ckptlint rules` lists them"
    else:
        what = _listed(idle) if idle else "any rule"
        message = f"this comment silences nothing: no finding of {what} stands here"
        help_ = "take the comment away, or what it names in vain"
    return Finding(
        rule.code,
        rule.name,
        rule.severity,
        Confidence.CERTAIN,
        message,
        help_,
        Span(source.display, comment.line, comment.column, comment.line, end),
        "<module>",
        fix=None if unknown else Fix(Applicability.SAFE, *_removal(comment, idle, source)),
    )


def _listed(codes: list[str]) -> str:
    return " and ".join(codes) if len(codes) < 3 else f"{', '.join(codes[:-1])} and {codes[-1]}"


def _removal(comment: Suppression, idle: list[str], source: Source) -> tuple[str, tuple[Edit, ...]]:
    """Say and make the change that takes away what is named in vain, and no more."""
    kept = [code for code in comment.codes if code not in idle]
    line = source.lines[comment.line - 1]
    if kept:
        return f"take {_listed(idle)} out of the comment", (_narrowed(comment, idle, source),)
    body = line.rstrip("\r\n")
    before, after = body[: comment.column - 1], body[comment.end_column - 1 :].strip()
    if after:
        # Another comment stood behind, or the words of a "noqa".
        text = after if after.startswith("#") else f"# {after}"
        span = Span(source.display, comment.line, comment.column, comment.line, len(body) + 1)
        return "take the comment away", (Edit(span, text),)
    if before.strip():
        start = len(before.rstrip()) + 1
        span = Span(source.display, comment.line, start, comment.line, len(body) + 1)
    else:
        span = Span(source.display, comment.line, 1, comment.line + 1, 1)
    return "take the comment away", (Edit(span, ""),)


def _narrowed(comment: Suppression, idle: list[str], source: Source) -> Edit:
    """Leave the codes that are used; all else in the comment stays as it was written."""
    line = source.lines[comment.line - 1]
    text = line[comment.column - 1 : comment.end_column - 1]
    start = text.index("[") + 1 if comment.kind != "noqa" else text.index(":") + 1
    end = text.index("]") if comment.kind != "noqa" else len(text)
    listed = text[start:end]
    codes = [code for code in _CODE.findall(listed) if code.upper() not in map(str.upper, idle)]
    lead = listed[: len(listed) - len(listed.lstrip())]
    span = Span(
        source.display,
        comment.line,
        comment.column + start,
        comment.line,
        comment.column + end,
    )
    return Edit(span, lead + ", ".join(codes))
