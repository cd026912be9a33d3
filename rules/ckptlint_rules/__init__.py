"""What ckptlint knows: one module for each rule, and the facts of each framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ckptlint.api import Fault, FileFault, Finding, Rule
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
    ckp201_unguarded_checkpoint_write,
    ckp202_unordered_checkpoint_access,
    ckp203_rank_divergent_checkpoint_path,
    ckp204_wrong_rank_guards_shared_write,
    ckp301_sharded_state_saved_ungathered,
    ckp302_root_only_result_used_on_all_ranks,
    ckp303_rank_local_state_saved_once,
    ckp304_checkpoint_loaded_on_some_ranks,
    ckp900_file_not_analysed,
    ckp901_unused_suppression,
)

FACTS = Path(__file__).parent / "facts"


@dataclass(frozen=True)
class RuleModule:
    """A rule with what it does: ``check`` looks at what ranks miss, ``check_files`` at what they do
    to each other's files; both are None for rules that the machine itself reports.

    ``fix`` and ``fix_files`` yield what may cure a fault, likeliest first; each is tried before it
    is offered.
    """

    rule: Rule
    check: Callable[[Fault], Finding | None] | None
    check_files: Callable[[FileFault], Finding | None] | None
    fix: Callable[[Fault, Knowledge], Iterable[Proposal]] | None
    fix_files: Callable[[FileFault, Knowledge], Iterable[Proposal]] | None

    def proposals(self, fault: Fault | FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
        """Yield what may cure a fault of this rule."""
        if isinstance(fault, FileFault):
            return self.fix_files(fault, knowledge) if self.fix_files is not None else ()
        return self.fix(fault, knowledge) if self.fix is not None else ()


def _module(module: ModuleType) -> RuleModule:
    return RuleModule(
        module.RULE,
        getattr(module, "check", None),
        getattr(module, "check_files", None),
        getattr(module, "fix", None),
        getattr(module, "fix_files", None),
    )


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
    ckp201_unguarded_checkpoint_write,
    ckp202_unordered_checkpoint_access,
    ckp203_rank_divergent_checkpoint_path,
    ckp204_wrong_rank_guards_shared_write,
    ckp301_sharded_state_saved_ungathered,
    ckp302_root_only_result_used_on_all_ranks,
    ckp303_rank_local_state_saved_once,
    ckp304_checkpoint_loaded_on_some_ranks,
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
