"""Rewriting: what a fault's cure looks like in the source.

A rule's ``fix`` yields proposals, likeliest first; the engine analyses what comes out of each and
offers the first that clears its finding, adds none and leaves the calls of the ranks that were
let in as they are.

LibCST takes longer to import than most files take to analyse, so that it is loaded only when
there is something to fix.
"""

from __future__ import annotations

from collections.abc import Iterable

from ckptlint.fault import Fault
from ckptlint.file_fault import FileFault
from ckptlint.fixing.proposal import Proposal
from ckptlint.knowledge import Knowledge

__all__ = [
    "Proposal",
    "add_barrier",
    "ask_the_global_rank",
    "free_hook",
    "gather_first",
    "guard_write",
    "keep_going",
    "let_it_exist",
    "move_barrier",
    "runtime_calls",
    "share_path",
    "split_guard",
]


def split_guard(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take a collective out of a rank test, and leave under it what belongs there."""
    from ckptlint.fixing import guards

    return guards.split_guard(fault, knowledge)


def move_barrier(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Move a barrier out of a rank test, where it stands at the edge of the guarded block."""
    from ckptlint.fixing import barriers

    return barriers.move_barrier(fault, knowledge)


def keep_going(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Turn an early exit of some ranks into a test around what is theirs alone."""
    from ckptlint.fixing import exits

    return exits.keep_going(fault, knowledge)


def runtime_calls(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Call the runtime on every rank, where that is the cure."""
    from ckptlint.fixing import runtime

    return runtime.runtime_calls(fault, knowledge)


def free_hook(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take a rank-zero decorator off a function that communicates, and guard its own effects."""
    from ckptlint.fixing import hooks

    return hooks.free_hook(fault, knowledge)


def let_it_exist(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Create a folder that may exist."""
    from ckptlint.fixing import contents

    return contents.let_it_exist(fault)


def guard_write(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Let rank 0 alone do what all ranks do to one file."""
    from ckptlint.fixing import contents

    return contents.guard_write(fault, knowledge)


def add_barrier(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Let all ranks meet between two accesses to one file."""
    from ckptlint.fixing import contents

    return contents.add_barrier(fault, knowledge)


def share_path(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Give every rank the path that rank 0 has made up."""
    from ckptlint.fixing import agreeing

    return agreeing.share_path(fault, knowledge)


def ask_the_global_rank(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Test the rank in the job instead of the rank within the node."""
    from ckptlint.fixing import ranks

    return ranks.ask_the_global_rank(fault, knowledge)


def load_everywhere(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Load on every rank what rank 0 alone loads."""
    from ckptlint.fixing import everywhere

    return everywhere.load_everywhere(fault)


def gather_first(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Gather a sharded state on every rank before one of them writes it."""
    from ckptlint.fixing import gathering

    return gathering.gather_first(fault)
