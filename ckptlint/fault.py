"""A divergence in the words of a finding: which ranks do what, where, and what follows."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ckptlint.analysis.compare import Divergence
from ckptlint.analysis.ranks import FIRST, GROUP_LEADER, LAST, NODE_LEADER, OTHER, RankClass
from ckptlint.analysis.sequences import Scope
from ckptlint.analysis.shares import TURNS
from ckptlint.analysis.steps import Reached
from ckptlint.analysis.values import Site
from ckptlint.facts import Call
from ckptlint.finding import Confidence, Finding, Related, Severity, Span
from ckptlint.rule import Rule

BACKENDS = {
    "ddp": "DDP",
    "ddp-buffers": "DDP of a model with buffers",
    "deepspeed": "DeepSpeed",
    "fsdp": "FSDP",
    "fsdp2": "FSDP2",
    "megatron": "Megatron-LM",
    "tp": "tensor parallelism",
    "xla": "XLA",
    "zero": "DeepSpeed ZeRO",
    "zero3": "DeepSpeed ZeRO-3",
}
_OTHERS = "every other rank"
_PRIORITY = ("save", "gather", "load", "forward", "setup", "collective", "barrier")
_OTHERWISE = {
    "partial": "leaves the checkpoint incomplete",
    "error": "raises an error",
    "late": "hangs in a later call",
    "hang": "hangs",
}


@dataclass(frozen=True)
class Fault:
    """One divergence of one function, with what the project shows of its backends."""

    divergence: Divergence
    function: str
    backends: frozenset[str]

    @cached_property
    def main(self) -> Reached:
        """The operation that the finding is about: one for which ranks are missing, one of which
        more is known than a method's name, a save before a gather before a barrier, and of two of
        a kind the one that bites under a backend in evidence."""

        def order(reached: Reached) -> tuple[bool, bool, int, bool]:
            call = reached.operation.call
            named = call.name.startswith("*")
            priority = _PRIORITY.index(call.effect)
            return self._complete(reached), named, priority, not self._bites(call)

        return min(self.divergence.operations, key=order)

    @property
    def call(self) -> Call:
        """What the facts say of the operation."""
        return self.main.operation.call

    @property
    def place(self) -> Site:
        """Where the finding is shown."""
        return self.divergence.place(self.main)

    @property
    def indirect(self) -> bool:
        """Whether the operation is reached through calls of the project's own functions."""
        return self.place != self.main.operation.site

    @property
    def operation(self) -> str:
        """The operation as the source spells it."""
        return spelled(self.main.operation.site)

    # -- sentences -----------------------------------------------------------------------------

    @property
    def reaches(self) -> str:
        """Say which ranks reach the operation: ``only rank 0 reaches``."""
        present, absent = self.divergence.present, self.divergence.absent
        if set(absent) == {FIRST}:
            return "rank 0 never reaches"
        return f"only {who(present)} reaches"

    @property
    def waits(self) -> str:
        """Name the ranks that the others wait for."""
        return who(self.divergence.absent)

    @property
    def reason(self) -> str:
        """Say what a decision depends on in which ranks may disagree."""
        return self.divergence.test.reason

    @property
    def uneven(self) -> bool:
        """Whether ranks may go through a loop another number of times."""
        return self.reason == TURNS

    @property
    def consequence(self) -> str:
        """Say what happens then, and under which backends."""
        call = self.call
        if not call.backends:
            return {
                "hang": "the job hangs",
                "late": "the job hangs in a later collective",
                "partial": "the checkpoint is left incomplete",
                "error": "the call raises an error",
                "ok": "nothing is lost",
            }[call.alone]
        known = [BACKENDS.get(name, name) for name in call.backends]
        told = f"this hangs under {_listed(known)}"
        if call.alone in ("partial", "late"):
            told = f"under {_listed(known)} this {_OTHERWISE[call.alone]}"
        rest = _OTHERWISE.get(call.otherwise)
        if rest is not None:
            told += f", and elsewhere {rest}"
            if call.note:
                told += f" ({call.note})"
        return told

    @property
    def chain(self) -> str:
        """Say through which calls the operation is reached, or nothing."""
        names = [scope.function.qualname for scope in self._inner_scopes]
        hook = self.divergence.test.hook
        if hook is not None and hook.chain:
            return f" ({' → '.join(hook.chain)})"
        return f" through {' → '.join(f'{name}()' for name in names)}" if names else ""

    @property
    def _inner_scopes(self) -> Sequence[Scope]:
        return self.main.chain[self.divergence.inner_depth :]

    # -- judgement -----------------------------------------------------------------------------

    @property
    def severity(self) -> Severity:
        """Error when it bites under a backend in evidence."""
        return Severity.ERROR if self._bites(self.call) else Severity.WARNING

    def _bites(self, call: Call) -> bool:
        shown = not call.backends or bool(self.backends.intersection(call.backends))
        return shown and call.alone != "ok"

    @property
    def _turns_about(self) -> bool:
        """Whether the same ranks take part under one condition and stay away under another."""
        divergence = self.divergence
        return divergence.kind != "divergent" and not set(divergence.present).isdisjoint(
            divergence.absent
        )

    @property
    def ends_loop(self) -> bool:
        """Whether ranks leave a loop by its own test."""
        left = self.divergence.exit
        return left is not None and isinstance(left.site.node, ast.While)

    @property
    def confidence(self) -> Confidence:
        """Certain when predicate and operation are both resolved."""
        rank = self.divergence.test.rank
        operation = self.main.operation
        if self.divergence.exempt or not rank.exact or self._turns_about:
            return Confidence.POSSIBLE
        if operation.group == "sub" and not rank.scopes & {"group", "member"}:
            return Confidence.POSSIBLE
        if not rank.certain and not operation.certain:
            return Confidence.POSSIBLE
        certain = rank.certain and operation.certain
        return Confidence.CERTAIN if certain else Confidence.LIKELY

    @property
    def excused(self) -> bool:
        """Whether the ranks that take part are all that the operations need."""
        return self._complete(self.main)

    def _complete(self, reached: Reached) -> bool:
        """Say whether an operation of a group has all its ranks: its members were asked for."""
        scopes = self.divergence.test.rank.scopes
        last = scopes <= {"group", "last"} and FIRST not in self.divergence.present
        if reached.operation.call.staged and last:
            return True
        return reached.operation.group == "sub" and bool(scopes & {"group", "member"})

    # -- places --------------------------------------------------------------------------------

    @property
    def cause(self) -> Related:
        """The rank test, decorator or early exit that keeps ranks away."""
        divergence = self.divergence
        test = divergence.test
        if divergence.kind == "divergent":
            return Related(span_of(test.site), f"ranks may disagree here: {test.reason}")
        if divergence.exit is not None:
            how = "when the test says so" if self.ends_loop else f"({divergence.exit.kind})"
            text = f"{who(divergence.absent)} leaves here {how}"
            return Related(span_of(divergence.exit.site), text)
        if test.kind == "hook" and test.hook is not None:
            return Related(span_of(test.site), test.hook.reason or "runs on rank 0 only")
        if test.kind in ("decorator", "wrapper"):
            return Related(span_of(test.site), f"runs on {who(divergence.present)} only")
        if divergence.kind == "order" and test.kind == "context":
            return Related(span_of(test.site), "the first rank goes through this block alone")
        return Related(span_of(test.site), self._decides(test.taken))

    def _decides(self, taken: bool) -> str:
        """Say on which ranks the test comes out in which way: on the fewer of them."""
        ranks = self.divergence.present
        if who(ranks) == _OTHERS and not self._turns_about:
            ranks, taken = self.divergence.absent, not taken
        return f"{'true' if taken else 'false'} on {who(ranks)} only"

    @property
    def related(self) -> tuple[Related, ...]:
        """Every place that explains the finding, the cause first."""
        places = [replace(self.cause, step=True)]
        divergence = self.divergence
        if divergence.exit is not None and divergence.kind == "divergent":
            text = f"some ranks may leave here ({divergence.exit.kind})"
            places.append(Related(span_of(divergence.exit.site), text))
        elif divergence.exit is not None:
            truth = "true" if divergence.test.taken else "false"
            places.append(
                Related(span_of(divergence.test.site), f"{truth} on {who(divergence.absent)}")
            )
        for other in divergence.others[:3]:
            whose = "another rank" if divergence.kind == "divergent" else who(divergence.absent)
            text = f"{whose} reaches {spelled(other.operation.site)} instead"
            if other.operation.shape == self.main.operation.shape:
                text = f"{who(divergence.absent)} reaches it here, in another order"
            places.append(Related(span_of(divergence.place(other)), text))
        for scope in self.main.chain[divergence.inner_depth + 1 :]:
            text = f"calls {scope.function.qualname}()"
            places.append(Related(span_of(scope.site), text, step=True))
        if self.indirect:
            text = f"{self.operation} is called here"
            places.append(Related(span_of(self.main.operation.site), text, step=True))
        for reached in divergence.operations:
            if reached is not self.main and divergence.place(reached) != self.place:
                text = f"{spelled(reached.operation.site)} stands under the same test"
                places.append(Related(span_of(divergence.place(reached)), text))
        return tuple(dict.fromkeys(places))

    def finding(self, rule: Rule, message: str, help_: str) -> Finding:
        """Make the finding of a rule."""
        confidence = min(self.confidence, rule.confidence, key=lambda c: c.level)
        severity = self.severity if rule.severity is Severity.ERROR else rule.severity
        return Finding(
            rule.code,
            rule.name,
            severity,
            confidence,
            message,
            help_,
            span_of(self.place),
            self.function,
            tuple(r for r in self.related if r.span != span_of(self.place)),
        )

    @property
    def present(self) -> Sequence[RankClass]:
        """The ranks that were let in."""
        return self.divergence.present

    def seen_from(self, reached: Reached) -> Fault:
        """Return the same fault told about another of its operations."""
        return Fault(replace(self.divergence, operations=(reached,)), self.function, self.backends)


def span_of(site: Site) -> Span:
    """Give a place as users count; a function stands for its ``def`` line."""
    source = site.module.source
    node = site.node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        offset = len("def ") if isinstance(node, ast.FunctionDef) else len("async def ")
        start = source.column(node.lineno, node.col_offset)
        return Span(
            source.display, node.lineno, start, node.lineno, start + offset + len(node.name)
        )
    return source.span(node)


def spelled(site: Site) -> str:
    """Return the name of what is called at a place, as the source spells it."""
    node = site.node
    if isinstance(node, ast.Call):
        node = node.func
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return "the call"
    return text if len(text) <= 60 and "\n" not in text else f"…{text[-50:]}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def who(classes: Sequence[RankClass]) -> str:
    """Name some ranks."""
    known = set(classes)
    if known == {FIRST}:
        return "rank 0"
    if known == {FIRST, NODE_LEADER}:
        return "the first rank of each node"
    if known == {FIRST, GROUP_LEADER}:
        return "the first rank of each group"
    if known == {LAST}:
        return "the last rank"
    if {FIRST, OTHER} <= known:
        return "a part of the ranks"  # these under one condition, those under another
    if FIRST not in known:
        return _OTHERS
    return " and ".join(ranks.who for ranks in classes)
