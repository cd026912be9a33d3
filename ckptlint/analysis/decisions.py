"""Decisions on one rank class: truth, comparison, and taking one of two paths."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ckptlint.analysis.frame import EXIT, NEXT, RAISE, Frame, Outcome
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common, Memory
from ckptlint.analysis.ranks import WORLD, RankClass
from ckptlint.analysis.sequences import (
    Branch,
    Exit,
    Item,
    Test,
    Trace,
)
from ckptlint.analysis.truths import sways
from ckptlint.analysis.values import (
    FALSE,
    NONE,
    TRUE,
    Choice,
    Const,
    External,
    FunctionValue,
    Items,
    ModuleValue,
    Object,
    Rank,
    Site,
    Symbol,
    Value,
    merge_divergent,
    merge_ranks,
)
from ckptlint.analysis.world import World
from ckptlint.facts import Predicate

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_NEGATED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
}


class Decider:
    """Folds what depends on the rank, and forks where all ranks choose alike."""

    def __init__(self, world: World, ranks: RankClass, keys: Keys, common: Common) -> None:
        self.world = world
        self._ranks = ranks
        self.keys = keys
        self.knowledge = world.knowledge
        self.memory = Memory(world.project.questions, common)

    @property
    def ranks(self) -> RankClass:
        """The rank class; what asks for it may come out differently for others."""
        self.memory.rank_was_asked()
        return self._ranks

    def decide(
        self,
        frame: Frame,
        test: Value,
        node: ast.AST,
        yes: Callable[[], Outcome],
        no: Callable[[], Outcome],
        compound: bool = False,
    ) -> Outcome:
        """Execute one of two continuations, or both where the test is an unknown of all ranks.

        A continuation that always ends in an exception is no path: the other one is taken as
        the only one.
        """
        test = self.truth(test)
        if isinstance(test, Const):
            taken = bool(test.value)
            run = yes if taken else no
            if test.rank is None:
                return run()
            site = Site(frame.module, node)
            self.memory.met.tests.setdefault(site.key, set()).add(taken)
            with frame.guarded(Test(site, "test", taken, test.rank, compound=compound)):
                return run()
        assert isinstance(test, Choice)
        known = self.keys.known(test.key, frame.facts)
        if known is not None:
            arm = test.yes if known else test.no
            return self.decide(frame, arm, node, yes, no, compound)
        before, facts = dict(frame.variables), frame.facts
        frame.facts = {**facts, **self.keys.implied(test.key, True)}
        with frame.capture() as first:
            one = _ended(frame, self.decide(frame, test.yes, node, yes, no, True))
        stopped, frame.stopped = frame.stopped, False
        after_one, frame.variables = frame.variables, before
        facts_one = frame.facts
        frame.facts = {**facts, **self.keys.implied(test.key, False)}
        with frame.capture() as second:
            two = _ended(frame, self.decide(frame, test.no, node, yes, no, True))
        frame.stopped = stopped and frame.stopped
        if self.world.failures and test.key in self.keys.divergent and not frame.catching:
            place = Site(frame.module, node)
            one, two = _failing(one, first, place), _failing(two, second, place)
        one, two = _surviving(one, first), _surviving(two, second)
        if one.status == RAISE or two.status == RAISE:
            if two.status == RAISE:
                frame.variables, frame.facts = after_one, facts_one
            kept, items = (one, first) if two.status == RAISE else (two, second)
            frame.trace.extend(items)
            return kept
        a, b = Trace(first), Trace(second)
        if a.shape == b.shape and not a.acts:
            depth = len(frame.guards)
            told = _asks(first, depth) or not (_asks(second, depth) or b.matters)
            frame.trace.extend(first if told else second)  # a rank test explains more
        elif a or b:
            frame.trace.append(Branch(test.key, a, b, Site(frame.module, node)))
        if one.status != NEXT or two.status != NEXT:
            if one.status == NEXT:
                frame.variables, frame.facts = after_one, facts_one
            return one if one.status == NEXT else two
        frame.variables = self.joined(test.key, after_one, frame.variables)
        frame.facts = facts
        return Outcome(NEXT, self.keys.choose(test.key, one.value, two.value))

    def joined(self, key: int, yes: dict[str, Value], no: dict[str, Value]) -> dict[str, Value]:
        joined = dict(no)
        for name, value in yes.items():
            other = no.get(name)
            if other is None:
                joined[name] = value
            elif other is not value:
                joined[name] = self.keys.choose(key, value, other)
        return joined

    def truth(self, value: Value) -> Value:
        """Reduce a value to true, false or a choice between them."""
        match value:
            case Const():
                return (
                    value
                    if isinstance(value.value, bool)
                    else Const(bool(value.value), rank=value.rank)
                )
            case Choice():
                return self._tested(value)
            case Symbol(rank=None):
                return self.keys.tested(value.key, sways(self.keys, self.knowledge, value))
            case FunctionValue() | ModuleValue() | External():
                return TRUE
            case _ if value.rank is not None:
                return Const(self.ranks.global_rank == 0, rank=value.rank)
        key = self.keys.number("truth", self.keys.of(value))
        return self.keys.tested(key, value.divergent)

    def _tested(self, value: Choice) -> Value:
        tested = self.keys.spread(value, self.truth)
        if isinstance(tested, Symbol):
            return self.truth(tested)
        return self.keys.condition(tested) if isinstance(tested, Choice) else tested

    def negation(self, value: Value) -> Value:
        """Evaluate ``not value``."""
        return self.keys.spread(
            self.truth(value),
            lambda leaf: Const(not leaf.value, rank=leaf.rank) if isinstance(leaf, Const) else leaf,
        )

    def compare(self, op: type[ast.cmpop], left: Value, right: Value) -> Value:
        """Compare two values, neither of them a choice."""
        if op in _NEGATED:
            return self.negation(self.compare(_NEGATED[op], left, right))
        if op is ast.Gt:
            op, left, right = ast.Lt, right, left
        mark = merge_ranks(left.rank, right.rank)
        if mark is not None and _everywhere(op, left, right):
            mark = None
        known = self._plain(left), self._plain(right)
        if known[0] is not None and known[1] is not None:
            try:
                value = bool(_COMPARE[op](known[0].value, known[1].value))
            except TypeError:
                return self.derived(op.__name__, left, right)
            if mark is not None and WORLD["global"] - 1 in (known[0].value, known[1].value):
                mark = Rank(mark.scopes | {"last"}, mark.certain, mark.exact)
            if mark is not None and _admits_two(op, left, right):
                mark = Rank(mark.scopes | {"second"}, mark.certain, mark.exact)
            return Const(value, rank=mark)
        if mark is None:
            if op is ast.Is and right == NONE and _exists(left):
                return FALSE
            return Symbol(
                self.keys.number(op.__name__, self.keys.of(left), self.keys.of(right)),
                divergent=merge_divergent(left.divergent, right.divergent),
            )
        return self._compare_rank(op, left, right, mark)

    @staticmethod
    def _plain(value: Value) -> Const | None:
        """Return a constant, a display of constants taken as one."""
        if isinstance(value, Const):
            return value
        if isinstance(value, Items) and all(isinstance(item, Const) for item in value.items):
            return Const(tuple(item.value for item in value.items if isinstance(item, Const)))
        return None

    def _compare_rank(self, op: type[ast.cmpop], left: Value, right: Value, mark: Rank) -> Value:
        """Compare a rank with an unknown: some rank is the one, the others are not.

        A loop variable takes every rank's number in turn, so each rank has its turn.
        """
        if any(isinstance(side, Symbol) and side.each for side in (left, right)):
            return Symbol(self.keys.number("turn", self.keys.of(left), self.keys.of(right)))
        if not any(isinstance(side, Const) and side.rank is not None for side in (left, right)):
            # something that differs between ranks, but is no rank: how it differs is a guess
            return Const(self.ranks.global_rank == 0, rank=Rank(mark.scopes, False, False))
        scope = next(iter(sorted(mark.scopes & {"group", "node"})), "global")
        first = self.ranks.number(scope) == 0
        exact = op in (ast.Eq, ast.In, ast.Is)
        scopes = mark.scopes | {"member"} if op is ast.In else mark.scopes
        if op is ast.Eq and any(map(self._is_one_less, (left, right))):
            # ``rank == size - 1``, where the size is not known: the last of them
            first = self.ranks.number(scope) == WORLD[scope] - 1
            scopes |= {"last"}
        if op is ast.Lt and isinstance(right, Const):
            first = not first  # ``unknown < rank``
        return Const(first, rank=Rank(scopes, False, mark.exact and exact))

    def _is_one_less(self, value: Value) -> bool:
        if not isinstance(value, Symbol):
            return False
        return self.keys.made_of(value.key)[::2] == ("Sub", self.keys.of(Const(1)))

    def derived(self, kind: str, *values: Value) -> Symbol:
        """Make the unknown that is computed from ``values``, with their marks."""
        mark = merge_ranks(*(value.rank for value in values))
        if mark is not None:
            mark = Rank(mark.scopes, mark.certain, False)
        return Symbol(
            self.keys.number(kind, *map(self.keys.of, values)),
            each=any(isinstance(value, Symbol) and value.each for value in values),
            rank=mark,
            divergent=merge_divergent(*map(self.keys.disagreement, values)),
        )

    def unknown(self, kind: str, frame: Frame, node: ast.AST, *parts: object) -> Symbol:
        """Make an unknown that belongs to a place."""
        return Symbol(self.keys.number(kind, Site(frame.module, node).key, *parts))

    def folded(self, frame: Frame, predicate: Predicate, certain: bool) -> Value:
        """Give a predicate its value on this rank."""
        value = self.ranks.value(predicate)
        if predicate.meaning in ("world", "distributed"):
            return Const(value)
        scopes = {predicate.scope} | ({predicate.meaning} & {"last", "member"})
        return Const(value, rank=Rank(frozenset(scopes), certain))


def _exists(value: Value) -> bool:
    """Say whether a value is surely not None: a loop's variable is taken to be something."""
    return not isinstance(value, Symbol | Choice | Object) or (
        isinstance(value, Symbol) and value.each
    )


def _everywhere(op: type[ast.cmpop], left: Value, right: Value) -> bool:
    """Say whether a comparison with a rank comes out alike on all of them: none is below zero."""
    for rank, other, bound in ((left, right, 0), (right, left, -1)):
        number = other.value if isinstance(other, Const) and other.rank is None else None
        if rank.rank is None or type(number) is not int or not _is_number(rank):
            continue
        if number < 0 and op in (ast.Eq, ast.Is, ast.Lt):
            return True
        if op is ast.Lt and number <= bound:
            return True
    return False


def _admits_two(op: type[ast.cmpop], left: Value, right: Value) -> bool:
    """Say whether a comparison of a rank in the job comes out alike on the ranks 0 and 1 alone."""
    if op is not ast.Lt:
        return False
    return any(
        rank.rank is not None and "global" in rank.rank.scopes and other == Const(bound)
        for rank, other, bound in ((left, right, 2), (right, left, 1))
    )


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int


def _asks(items: Iterable[Item], depth: int) -> bool:
    """Say whether a rank test that is made inside led to something."""
    return any(len(getattr(item, "guards", ())) > depth for item in items)


def _ended(frame: Frame, outcome: Outcome) -> Outcome:
    """Say of an expression that never returned that it ended in an exception."""
    return Outcome(RAISE, outcome.value) if frame.stopped else outcome


def _failing(outcome: Outcome, items: list[Item], place: Site) -> Outcome:
    """An exception on which ranks may disagree is a way out like any other."""
    if outcome.status != RAISE:
        return outcome
    items.append(Exit("raise", place))
    return Outcome(EXIT, outcome.value)


def _surviving(outcome: Outcome, items: list[Item]) -> Outcome:
    """A path that ends in an exception is still one when some of it has left before."""
    if outcome.status == RAISE and Trace(items).exits:
        return Outcome(EXIT, outcome.value)
    return outcome
