"""The names that rules may use."""

from ckptlint.analysis.compare import Divergence
from ckptlint.analysis.steps import Reached
from ckptlint.fault import Fault
from ckptlint.finding import Applicability, Confidence, Finding, Severity
from ckptlint.fixing import Proposal, free_hook, keep_going, move_barrier, split_guard
from ckptlint.knowledge import Knowledge
from ckptlint.rule import Rule

__all__ = [
    "Applicability",
    "Confidence",
    "Divergence",
    "Fault",
    "Finding",
    "Knowledge",
    "Proposal",
    "Reached",
    "Rule",
    "Severity",
    "free_hook",
    "keep_going",
    "move_barrier",
    "split_guard",
]
