"""Rewriting: what a fault's cure looks like in the source.

A rule's ``fix`` yields proposals, likeliest first; the engine analyses what comes out of each and
offers the first that clears its finding, adds none and leaves the other ranks' calls as they are.
"""

from ckptlint.fixing.guards import split_guard
from ckptlint.fixing.proposal import Proposal

__all__ = ["Proposal", "split_guard"]
