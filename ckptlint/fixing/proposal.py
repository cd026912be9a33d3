"""What a rule proposes as its cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckptlint.finding import Applicability, Edit


@dataclass(frozen=True)
class Proposal:
    """A rewrite that is believed to cure a fault; it is analysed again before it is offered.

    ``replaces`` says that ranks make other calls in place of those that they made.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    replaces: bool = False


def told(message: str, doubts: Sequence[str], edits: tuple[Edit, ...]) -> Proposal:
    """Make a proposal: an unsafe one when there are doubts, which its message then names."""
    if not doubts:
        return Proposal(Applicability.SAFE, message, edits)
    return Proposal(Applicability.UNSAFE, f"{message} (check first: {'; '.join(doubts)})", edits)


def doubted(proposal: Proposal, doubt: str) -> Proposal:
    """Return a proposal with one more doubt."""
    if proposal.applicability is Applicability.SAFE:
        return told(proposal.message, [doubt], proposal.edits)
    message = f"{proposal.message.removesuffix(')')}; {doubt})"
    return Proposal(Applicability.UNSAFE, message, proposal.edits)


class RefusedError(Exception):
    """No rewrite of this shape is known to be right here; the text says why."""
