"""The names that rules may use."""

from ckptlint.analysis.compare import Divergence
from ckptlint.analysis.steps import Reached
from ckptlint.fault import Fault
from ckptlint.file_fault import FileFault
from ckptlint.finding import Applicability, Confidence, Finding, Severity
from ckptlint.fixing import (
    Proposal,
    add_barrier,
    ask_the_global_rank,
    free_hook,
    gather_first,
    guard_write,
    keep_going,
    let_it_exist,
    load_everywhere,
    move_barrier,
    share_path,
    split_guard,
)
from ckptlint.knowledge import Knowledge
from ckptlint.rule import Rule

__all__ = [
    "Applicability",
    "Confidence",
    "Divergence",
    "Fault",
    "FileFault",
    "Finding",
    "Knowledge",
    "Proposal",
    "Reached",
    "Rule",
    "Severity",
    "add_barrier",
    "ask_the_global_rank",
    "free_hook",
    "gather_first",
    "guard_write",
    "keep_going",
    "let_it_exist",
    "load_everywhere",
    "move_barrier",
    "share_path",
    "split_guard",
]
