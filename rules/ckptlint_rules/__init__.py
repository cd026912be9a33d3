"""What ckptlint knows: one module for each rule, and the facts of each framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ckptlint.api import Fault, Finding, Rule
from ckptlint.facts import FactSet, load_file
from ckptlint.fixing import Proposal
from ckptlint.knowledge import Knowledge
from ckptlint_rules import (
    ckp101_collective_save_on_some_ranks,
    ckp102_state_gather_on_some_ranks,
    ckp103_barrier_on_some_ranks,
    ckp104_collective_skipped_by_early_exit,
    ckp105_collective_in_rank_zero_hook,
    ckp106_sharded_forward_on_some_ranks,
    ckp107_group_setup_on_some_ranks,
    ckp108_collectives_out_of_order,
    ckp109_collective_behind_divergent_decision,
    ckp110_raise_before_collective,
    ckp900_file_not_analysed,
    ckp901_unused_suppression,
)

FACTS = Path(__file__).parent / "facts"


@dataclass(frozen=True)
class RuleModule:
    """A rule with what it does; ``check`` is None for rules that the machine itself reports.

    ``fix`` yields what may cure a fault, likeliest first; each is tried before it is offered.
    """

    rule: Rule
    check: Callable[[Fault], Finding | None] | None
    fix: Callable[[Fault, Knowledge], Iterable[Proposal]] | None


def _module(module: ModuleType) -> RuleModule:
    return RuleModule(module.RULE, getattr(module, "check", None), getattr(module, "fix", None))


_MODULES = (
    ckp101_collective_save_on_some_ranks,
    ckp102_state_gather_on_some_ranks,
    ckp103_barrier_on_some_ranks,
    ckp104_collective_skipped_by_early_exit,
    ckp105_collective_in_rank_zero_hook,
    ckp106_sharded_forward_on_some_ranks,
    ckp107_group_setup_on_some_ranks,
    ckp108_collectives_out_of_order,
    ckp109_collective_behind_divergent_decision,
    ckp110_raise_before_collective,
    ckp900_file_not_analysed,
    ckp901_unused_suppression,
)

RULES: Mapping[str, RuleModule] = {module.RULE.code: _module(module) for module in _MODULES}


def facts() -> FactSet:
    """Read the facts of every framework."""
    found = FactSet()
    for path in sorted(FACTS.glob("*.toml")):
        found += load_file(path)
    return found
