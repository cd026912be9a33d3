"""Rewriting: what a fault's cure looks like in the source.

A rule's ``fix`` yields proposals, likeliest first; the engine analyses what comes out of each and
offers the first that clears its finding, adds none and leaves the calls of the ranks that were
let in as they are.
"""

from ckptlint.fixing.barriers import move_barrier
from ckptlint.fixing.exits import keep_going
from ckptlint.fixing.guards import split_guard
from ckptlint.fixing.hooks import free_hook
from ckptlint.fixing.proposal import Proposal

__all__ = ["Proposal", "free_hook", "keep_going", "move_barrier", "split_guard"]
