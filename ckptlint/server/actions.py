"""What an editor offers to do about findings: fix them, or silence them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from lsprotocol import types

from ckptlint.finding import Applicability, Edit, Finding, Span
from ckptlint.server.documents import Shown
from ckptlint.server.places import Places
from ckptlint.silence import silencing
from ckptlint.source import Source

FIX_ALL = "source.fixAll.ckptlint"
_REASON = "say why"


@dataclass(frozen=True)
class Action:
    """What can be done about a finding; ``preferred`` marks what may be done without reading."""

    title: str
    edits: tuple[Edit, ...]
    preferred: bool

    def written(
        self, diagnostic: types.Diagnostic, places: Places, versioned: bool
    ) -> types.CodeAction:
        """Return the action as the protocol has it."""
        return types.CodeAction(
            self.title,
            types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=self.preferred,
            edit=workspace_edit(self.edits, places, versioned),
        )


def quick_fix(finding: Finding) -> Action | None:
    """Offer the fix of a finding, if it has one; an unsafe one says so."""
    fix = finding.fix
    if fix is None:
        return None
    safe = fix.applicability is Applicability.SAFE
    note = "" if safe else "; unsafe, read what it changes"
    title = f"{fix.message[:1].upper()}{fix.message[1:]} ({finding.code}{note})"
    return Action(title, fix.edits, safe)


def silence(finding: Finding, sources: Mapping[str, Source]) -> Action | None:
    """Offer a comment that silences a finding; None where there can be none."""
    # A cell is a file of its own to what writes the comments.
    span = finding.span
    here = replace(finding, span=replace(span, path=span.name, cell=0))
    for silenced in silencing([here], sources, _REASON):
        if silenced.fix is not None:
            edits = tuple(
                Edit(replace(edit.span, path=span.path, cell=span.cell), edit.text)
                for edit in silenced.fix.edits
            )
            return Action(f"Silence {finding.code} here with a comment", edits, False)
    return None


def workspace_edit(edits: Iterable[Edit], places: Places, versioned: bool) -> types.WorkspaceEdit:
    """Write edits of one or several files. With ``versioned`` the client refuses them when a text
    is no longer the one that was analysed."""
    by_text: defaultdict[Shown, list[types.TextEdit]] = defaultdict(list)
    for edit in sorted(edits, key=lambda edit: edit.span):
        by_text[places.shown(edit.span)].append(types.TextEdit(places.range(edit.span), edit.text))
    if not versioned:
        return types.WorkspaceEdit(changes={text.uri: each for text, each in by_text.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(text.uri, text.version), list(each)
            )
            for text, each in by_text.items()
        ]
    )


def differences(before: Source, after: Source, cell: int) -> list[Edit]:
    """Return what changed, line by line, in a file or in one cell of a notebook."""
    found: list[Edit] = []
    pieces = zip(before.pieces.items(), after.pieces.values(), strict=True)
    for (name, old), new in pieces:
        where = Span(before.display, 1, 1, 1, 1, cell)
        if where.name == name:
            for tag, i, j, k, m in SequenceMatcher(None, old.lines, new.lines, False).get_opcodes():
                if tag != "equal":
                    span = replace(where, line=i + 1, end_line=j + 1)
                    found.append(Edit(span, "".join(new.lines[k:m])))
    return found


def wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Say whether the client asks for a kind of action; a kind stands for all beneath it."""
    return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)


def overlaps(one: types.Range, other: types.Range) -> bool:
    """Say whether two ranges share a place; touching counts, as a cursor has no width."""
    return one.start <= other.end and other.start <= one.end


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
