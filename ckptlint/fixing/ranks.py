"""Asking for the rank in the job where the rank within the node was asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ckptlint.analysis.origins import words_of
from ckptlint.file_fault import FileFault
from ckptlint.fixing.proposal import Proposal, told
from ckptlint.fixing.spot import Spot
from ckptlint.knowledge import Knowledge
from ckptlint.project import last_name

_NAMED = ast.Name | ast.Attribute
_RANK = frozenset({"local", "rank"})
_DOUBTS = (
    "whether the nodes share a file system",
    "whether each node needs what else stands under the test",
)


def ask_the_global_rank(fault: FileFault, knowledge: Knowledge) -> Iterator[Proposal]:
    """Yield the rank test with the predicate for the whole job in place of that of the node: of the
    same object, of the variable beside it in the environment, or of ``torch.distributed`` as the
    file has it."""
    levels = fault.contention.visit.levels
    if len(levels) != 1 or levels[0].test.kind != "test":
        return
    site = levels[0].test.site
    spot = Spot.of(site)
    if spot is None or not isinstance(site.node, ast.expr):
        return
    for part, new in _Predicates(spot, knowledge).counterparts(site.node):
        message = f"test `{new}`"
        yield told(message, _DOUBTS, (spot.replaced(part, new),))


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    """Yield a test, or those that are joined by ``and`` and ask for a rank by their names."""
    if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
        yield test
        return
    for part in test.values:
        names = (last_name(node) for node in ast.walk(part) if isinstance(node, _NAMED))
        if any(words_of(name) & _RANK for name in names):
            yield from _conjuncts(part)


@dataclass(frozen=True)
class _Predicates:
    """The rank tests of one file."""

    spot: Spot
    knowledge: Knowledge

    def counterparts(self, test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
        """Yield each part of a test that tells the rank of the node, with what to write instead."""
        for part in ast.walk(test):
            if isinstance(part, ast.Attribute):
                for name in self._members(part.attr):
                    yield part, f"{self.spot.written(part.value)}.{name}"
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                variable = part.value.replace("LOCAL_", "", 1)
                known = self.knowledge.environment.get(variable)
                if variable != part.value and known is not None and known.scope == "global":
                    quote = self.spot.written(part)[:1]
                    yield part, f"{quote}{variable}{quote}"
        for part in _conjuncts(test):
            yield from self._compared(part)

    def _members(self, name: str) -> Iterator[str]:
        """Yield what the classes with this member have for the rank in the job. Nothing for a
        number: many things have a ``local_rank``, and few of them a rank beside it."""
        found: dict[str, None] = {}
        for full, record in self.knowledge.predicates.items():
            owner, _, last = full.rpartition(".")
            if (last, record.scope, record.meaning) != (name, "node", "first"):
                continue
            for other, like in self.knowledge.predicates.items():
                there, _, member = other.rpartition(".")
                if (there, like.scope, like.meaning) == (owner, "global", "first"):
                    found[member] = None
        yield from found

    def _compared(self, test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
        """Yield ``dist.get_rank() == 0`` for a name that is compared with 0, and for its remainder
        what was divided."""
        base = self.spot.torch_distributed
        match test:
            case ast.Compare(
                left=ast.BinOp(left=rank, op=ast.Mod()),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            ):
                yield test, f"{self.spot.written(rank)} == 0"
            case ast.Compare(
                left=ast.Name() | ast.Attribute(),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            ) if base:
                yield test, f"{base}.get_rank() == 0"
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute()) if base:
                yield test, f"{base}.get_rank() == 0"
