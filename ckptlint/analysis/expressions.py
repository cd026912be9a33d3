"""Evaluating expressions on one rank class."""

from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ckptlint.analysis.frame import NEXT, RAISE, Frame, Outcome
from ckptlint.analysis.ranks import WORLD, RankClass
from ckptlint.analysis.sequences import Branch, Loop, Test, Trace
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
    marked,
    merge_ranks,
)
from ckptlint.analysis.world import World
from ckptlint.facts import Predicate
from ckptlint.project import Function, dotted

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
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


@dataclass(frozen=True)
class Arguments:
    """What a call passes. ``complete`` is false when ``*args`` or ``**kwargs`` of unknown content
    are among it; ``nodes`` are the positional expressions."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    nodes: tuple[ast.expr, ...] = ()
    complete: bool = True

    def get(self, name: str, position: int = -1) -> Value | None:
        """Return an argument by keyword or position."""
        for keyword, value in self.keywords:
            if keyword == name:
                return value
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return None


class Evaluator(ABC):
    """Gives an expression its value; calls are left to the next layer."""

    def __init__(self, world: World, ranks: RankClass) -> None:
        self.world = world
        self.ranks = ranks
        self.keys = world.keys
        self.knowledge = world.knowledge

    @abstractmethod
    def call(self, frame: Frame, callee: Value, arguments: Arguments, site: Site) -> Value:
        """Call a value: emit what it does into the frame's trace, return what it gives."""

    @abstractmethod
    def attribute(self, frame: Frame, base: Value, name: str, node: ast.expr) -> Value:
        """Read an attribute."""

    @abstractmethod
    def lookup(self, frame: Frame, name: str) -> Value:
        """Read a name."""

    # -- decisions -----------------------------------------------------------------------------

    def decide(
        self,
        frame: Frame,
        test: Value,
        node: ast.AST,
        yes: Callable[[], Outcome],
        no: Callable[[], Outcome],
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
            with frame.guarded(Test(Site(frame.module, node), "test", taken, test.rank)):
                return run()
        assert isinstance(test, Choice)
        known = self.keys.known(test.key, frame.facts)
        if known is not None:
            return self.decide(frame, test.yes if known else test.no, node, yes, no)
        before, facts = dict(frame.variables), frame.facts
        frame.facts = {**facts, **self.keys.implied(test.key, True)}
        with frame.capture() as first:
            one = self.decide(frame, test.yes, node, yes, no)
        after_one, frame.variables = frame.variables, before
        facts_one = frame.facts
        frame.facts = {**facts, **self.keys.implied(test.key, False)}
        with frame.capture() as second:
            two = self.decide(frame, test.no, node, yes, no)
        if one.status == RAISE or two.status == RAISE:
            if two.status == RAISE:
                frame.variables, frame.facts = after_one, facts_one
            kept, items = (one, first) if two.status == RAISE else (two, second)
            frame.trace.extend(items)
            return kept
        a, b = Trace(first), Trace(second)
        if a.shape == b.shape and not a.acts:
            frame.trace.extend(first)
        elif a or b:
            frame.trace.append(Branch(test.key, a, b))
        if one.status != NEXT or two.status != NEXT:
            if one.status == NEXT:
                frame.variables, frame.facts = after_one, facts_one
            return one if one.status == NEXT else two
        frame.variables = self._joined(test.key, after_one, frame.variables)
        frame.facts = facts
        return Outcome(NEXT, self.keys.choose(test.key, one.value, two.value))

    def _joined(
        self, key: int, yes: dict[str, Value], no: dict[str, Value]
    ) -> dict[str, Value]:
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
                return value if isinstance(value.value, bool) else Const(
                    bool(value.value), rank=value.rank
                )
            case Choice():
                return self._tested(value)
            case Symbol(rank=None):
                return Choice(value.key, TRUE, FALSE)
            case FunctionValue() | ModuleValue() | External():
                return TRUE
            case _ if value.rank is not None:
                mark = Rank(value.rank.scopes, value.rank.certain, False)
                return Const(self.ranks.global_rank == 0, rank=mark)
        key = self.keys.number("truth", self.keys.of(value))
        return Choice(key, TRUE, FALSE)

    def _tested(self, value: Choice) -> Value:
        tested = self.keys.spread(value, self.truth)
        if isinstance(tested, Symbol):
            return self.truth(tested)
        return self.keys.condition(tested) if isinstance(tested, Choice) else tested

    def negation(self, value: Value) -> Value:
        """Evaluate ``not value``."""
        return self.keys.spread(
            self.truth(value),
            lambda leaf: Const(not leaf.value, rank=leaf.rank) if isinstance(leaf, Const) else leaf
        )

    # -- expressions ---------------------------------------------------------------------------

    def evaluate(self, frame: Frame, node: ast.expr | None) -> Value:
        """Evaluate an expression; collectives in it go into the frame's trace in order."""
        if node is None:
            return NONE
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None:
            value: Value = method(frame, node)
            return value
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(frame, child)
        return self.unknown("expression", frame, node)

    def unknown(self, kind: str, frame: Frame, node: ast.AST, *parts: object) -> Symbol:
        """Make an unknown that belongs to a place."""
        return Symbol(self.keys.number(kind, Site(frame.module, node).key, *parts))

    def _Constant(self, frame: Frame, node: ast.Constant) -> Value:
        return Const(node.value)

    def _Name(self, frame: Frame, node: ast.Name) -> Value:
        return self.lookup(frame, node.id)

    def _Attribute(self, frame: Frame, node: ast.Attribute) -> Value:
        path = dotted(node)
        if path is not None and path in frame.variables:
            return frame.variables[path]
        return self.attribute(frame, self.evaluate(frame, node.value), node.attr, node)

    def _Call(self, frame: Frame, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = self.evaluate(frame, node.func.value)
            path = dotted(node.func)
            callee = frame.variables.get(path) if path is not None else None
            if callee is None:
                callee = self.called_attribute(frame, base, node.func)
        else:
            callee = self.evaluate(frame, node.func)
        return self.call(frame, callee, self.arguments(frame, node), Site(frame.module, node))

    @abstractmethod
    def called_attribute(self, frame: Frame, base: Value, node: ast.Attribute) -> Value:
        """Read an attribute in order to call it."""

    def arguments(self, frame: Frame, node: ast.Call) -> Arguments:
        """Evaluate the arguments of a call in order."""
        positional: list[Value] = []
        complete = True
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(frame, argument.value)
                if isinstance(value, Items):
                    positional.extend(value.items)
                else:
                    complete = False
            else:
                positional.append(self.evaluate(frame, argument))
        keywords: list[tuple[str, Value]] = []
        for keyword in node.keywords:
            value = self.evaluate(frame, keyword.value)
            if keyword.arg is None:
                complete = False
            else:
                keywords.append((keyword.arg, value))
        return Arguments(tuple(positional), tuple(keywords), tuple(node.args), complete)

    def _BoolOp(self, frame: Frame, node: ast.BoolOp) -> Value:
        conjunction = isinstance(node.op, ast.And)
        depth = len(frame.guards)

        def rest(index: int) -> Outcome:
            value = self.evaluate(frame, node.values[index])
            if index == len(node.values) - 1:
                return Outcome(NEXT, self._entailed(frame, depth, value))

            def stop() -> Outcome:
                known = isinstance(self.truth(value), Const)
                return Outcome(NEXT, value if known else Const(not conjunction))

            def go_on() -> Outcome:
                return rest(index + 1)

            arms = (go_on, stop) if conjunction else (stop, go_on)
            return self.decide(frame, value, node.values[index], *arms)

        return rest(0).value

    def _IfExp(self, frame: Frame, node: ast.IfExp) -> Value:
        depth = len(frame.guards)

        def arm(part: ast.expr) -> Callable[[], Outcome]:
            return lambda: Outcome(
                NEXT, self._entailed(frame, depth, self.evaluate(frame, part))
            )

        test = self.evaluate(frame, node.test)
        return self.decide(frame, test, node.test, arm(node.body), arm(node.orelse)).value

    def _entailed(self, frame: Frame, depth: int, value: Value) -> Value:
        """Mark a value that was reached under the rank tests made since ``depth``."""
        mark = merge_ranks(*(test.rank for test in frame.guards[depth:]))
        leaves = value.leaves if isinstance(value, Choice) else (value,)
        if mark is not None and any(isinstance(leaf, Symbol) for leaf in leaves):
            value = self.truth(value)
        return marked(value, mark)

    def _NamedExpr(self, frame: Frame, node: ast.NamedExpr) -> Value:
        value = self.evaluate(frame, node.value)
        self.assign(frame, node.target, value)
        return value

    def _Lambda(self, frame: Frame, node: ast.Lambda) -> Value:
        name = f"{frame.function.qualname}.<lambda>" if frame.function else "<lambda>"
        owner = frame.function.owner if frame.function else None
        return FunctionValue(Function(frame.module, node, name, owner), frame.scope())

    def _Tuple(self, frame: Frame, node: ast.Tuple | ast.List) -> Value:
        values = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                self.evaluate(frame, element.value)
                return self.unknown("expression", frame, node)
            values.append(self.evaluate(frame, element))
        return Items(tuple(values))

    _List = _Tuple

    def _UnaryOp(self, frame: Frame, node: ast.UnaryOp) -> Value:
        value = self.evaluate(frame, node.operand)
        if isinstance(node.op, ast.Not):
            return self.negation(value)
        if isinstance(node.op, ast.USub):
            return self.keys.spread(
                value,
                lambda leaf: Const(-leaf.value, rank=leaf.rank)
                if isinstance(leaf, Const) and isinstance(leaf.value, int | float)
                else self._derived("minus", leaf),
            )
        return self._derived("unary", value)

    def _BinOp(self, frame: Frame, node: ast.BinOp) -> Value:
        left = self.evaluate(frame, node.left)
        right = self.evaluate(frame, node.right)
        return self.keys.spread(left, lambda a: self.keys.spread(right, lambda b: self._binary(node.op, a, b)))

    def _binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        compute = _BINARY.get(type(op))
        if isinstance(left, Const) and isinstance(right, Const) and compute is not None:
            numbers = isinstance(left.value, int | float) and isinstance(right.value, int | float)
            if numbers or isinstance(op, ast.Add):
                try:
                    return Const(
                        compute(left.value, right.value), rank=merge_ranks(left.rank, right.rank)
                    )
                except (TypeError, ValueError, ArithmeticError):
                    pass
        return self._derived(type(op).__name__, left, right)

    def _derived(self, kind: str, *values: Value) -> Symbol:
        """Make the unknown that is computed from ``values``, with their rank marks."""
        mark = merge_ranks(*(value.rank for value in values))
        if mark is not None:
            mark = Rank(mark.scopes, mark.certain, False)
        return Symbol(self.keys.number(kind, *map(self.keys.of, values)), rank=mark)

    def _JoinedStr(self, frame: Frame, node: ast.JoinedStr) -> Value:
        parts = [
            self.keys.of(self.evaluate(frame, part.value))
            if isinstance(part, ast.FormattedValue)
            else self.keys.number("text", ast.dump(part))
            for part in node.values
        ]
        return Symbol(self.keys.number("string", *parts))

    def _Compare(self, frame: Frame, node: ast.Compare) -> Value:
        left = self.evaluate(frame, node.left)
        result: Value | None = None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(frame, comparator)
            part = self.keys.spread(
                left,
                lambda a, op=op, right=right: self.keys.spread(  # type: ignore[misc]
                    right, lambda b: self.compare(type(op), a, b)
                ),
            )
            result = part if result is None else self._conjunction(result, part)
            left = right
        assert result is not None
        return result

    def _conjunction(self, left: Value, right: Value) -> Value:
        def leaf(a: Value) -> Value:
            if isinstance(a, Const):
                return marked(self.truth(right), a.rank) if a.value else a
            return self._derived("and", a, right)

        return self.keys.spread(self.truth(left), leaf)

    def compare(self, op: type[ast.cmpop], left: Value, right: Value) -> Value:
        """Compare two values, neither of them a choice."""
        if op in _NEGATED:
            return self.negation(self.compare(_NEGATED[op], left, right))
        if op is ast.Gt:
            op, left, right = ast.Lt, right, left
        mark = merge_ranks(left.rank, right.rank)
        known = self._plain(left), self._plain(right)
        if known[0] is not None and known[1] is not None:
            try:
                value = bool(_COMPARE[op](known[0].value, known[1].value))
            except TypeError:
                return self._derived(op.__name__, left, right)
            if mark is not None and WORLD["global"] - 1 in (known[0].value, known[1].value):
                mark = Rank(mark.scopes | {"last"}, mark.certain, mark.exact)
            return Const(value, rank=mark)
        if mark is None:
            if op is ast.Is and right == NONE and not isinstance(left, Symbol | Choice | Object):
                return FALSE
            return Symbol(self.keys.number(op.__name__, self.keys.of(left), self.keys.of(right)))
        return self._compare_rank(op, left, right, mark)

    @staticmethod
    def _plain(value: Value) -> Const | None:
        """Return a constant, a display of constants taken as one."""
        if isinstance(value, Const):
            return value
        if isinstance(value, Items) and all(isinstance(item, Const) for item in value.items):
            return Const(tuple(item.value for item in value.items if isinstance(item, Const)))
        return None

    def _compare_rank(
        self, op: type[ast.cmpop], left: Value, right: Value, mark: Rank
    ) -> Value:
        """Compare a rank with an unknown: some rank is the one, the others are not.

        A loop variable takes every rank's number in turn, so each rank has its turn.
        """
        if any(isinstance(side, Symbol) and side.each for side in (left, right)):
            return Symbol(self.keys.number("turn", self.keys.of(left), self.keys.of(right)))
        scope = next(iter(sorted(mark.scopes & {"group", "node"})), "global")
        first = self.ranks.number(scope) == 0
        exact = op in (ast.Eq, ast.In, ast.Is)
        scopes = mark.scopes | {"member"} if op is ast.In else mark.scopes
        if op is ast.Lt and isinstance(right, Const):
            first = not first  # ``unknown < rank``
        return Const(first, rank=Rank(scopes, False, mark.exact and exact))

    def _comprehension(
        self, frame: Frame, node: ast.AST, generators: list[ast.comprehension], parts: list[ast.expr]
    ) -> Value:
        before = dict(frame.variables)
        first = self.evaluate(frame, generators[0].iter)
        with frame.capture() as items:
            for generator in generators:
                if generator is not generators[0]:
                    first = self.evaluate(frame, generator.iter)
                self.assign(frame, generator.target, self.item_of(frame, generator, first))
                for condition in generator.ifs:
                    self.evaluate(frame, condition)
            for part in parts:
                self.evaluate(frame, part)
        frame.variables = before
        body = Trace(items)
        if body:
            frame.trace.append(Loop(Site(frame.module, node), body, False, tuple(frame.guards)))
        return self.unknown("expression", frame, node)

    def _ListComp(self, frame: Frame, node: ast.ListComp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.elt])

    def _SetComp(self, frame: Frame, node: ast.SetComp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.elt])

    def _GeneratorExp(self, frame: Frame, node: ast.GeneratorExp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.elt])

    def _DictComp(self, frame: Frame, node: ast.DictComp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.key, node.value])

    def item_of(self, frame: Frame, node: ast.AST, iterable: Value) -> Symbol:
        """Make the unknown that a loop variable holds in its turn."""
        return Symbol(self.keys.number("item", self.keys.of(iterable)), each=True)

    def _Subscript(self, frame: Frame, node: ast.Subscript) -> Value:
        base = self.evaluate(frame, node.value)
        index = self.evaluate(frame, node.slice)
        if isinstance(base, External) and base.name == "os.environ":
            return self.environment(frame, index, None)
        if isinstance(base, Items) and isinstance(index, Const) and isinstance(index.value, int):
            if -len(base.items) <= index.value < len(base.items):
                return base.items[index.value]
        return Symbol(self.keys.number("subscript", self.keys.of(base), self.keys.of(index)))

    def environment(self, frame: Frame, name: Value, default: Value | None) -> Value:
        """Read an environment variable: a string when the facts say that it holds the rank."""
        if isinstance(name, Const):
            predicate = self.knowledge.environment.get(str(name.value))
            if predicate is not None:
                value = self.folded(frame, predicate, True)
                assert isinstance(value, Const)
                return Const(str(value.value), rank=value.rank)
        return Symbol(self.keys.number("environment", self.keys.of(name)))

    def folded(self, frame: Frame, predicate: Predicate, certain: bool) -> Value:
        """Give a predicate its value on this rank."""
        value = self.ranks.value(predicate)
        if predicate.meaning in ("world", "distributed"):
            return Const(value)
        scopes = {predicate.scope} | ({predicate.meaning} & {"last", "member"})
        return Const(value, rank=Rank(frozenset(scopes), certain))

    def _Await(self, frame: Frame, node: ast.Await) -> Value:
        return self.evaluate(frame, node.value)

    def _Starred(self, frame: Frame, node: ast.Starred) -> Value:
        self.evaluate(frame, node.value)
        return self.unknown("expression", frame, node)

    # -- assignment ----------------------------------------------------------------------------

    def assign(self, frame: Frame, target: ast.expr, value: Value) -> None:
        """Bind a target. What is bound under a rank test depends on the rank."""
        mark = merge_ranks(*(test.rank for test in frame.guards))
        if mark is not None:
            value = marked(value, Rank(mark.scopes, mark.certain, False))
        if isinstance(target, ast.Name):
            self._forget(frame, target.id)
            frame.variables[target.id] = value
        elif isinstance(target, ast.Attribute):
            path = dotted(target)
            if path is not None:
                self._forget(frame, path)
                frame.variables[path] = value
            else:
                self.evaluate(frame, target.value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(frame, target, value)
        elif isinstance(target, ast.Starred):
            self.assign(frame, target.value, self.unknown("rest", frame, target))
        else:
            self.evaluate(frame, target)

    def _unpack(self, frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
        known = value.items if isinstance(value, Items) else ()
        stars = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
        head = stars[0] if stars else len(target.elts)
        tail = len(target.elts) - head - 1 if stars else 0
        fits = len(known) == len(target.elts) if not stars else len(known) >= head + tail
        for index, element in enumerate(target.elts):
            if known and fits and isinstance(element, ast.Starred):
                rest = Items(known[head : len(known) - tail])
                self.assign(frame, element.value, rest)
                continue
            if known and fits:
                offset = 0 if index < head else len(known) - len(target.elts)
                self.assign(frame, element, known[index + offset])
                continue
            part = Symbol(
                self.keys.number("subscript", self.keys.of(value), index),
                each=isinstance(value, Symbol) and value.each,
                origin="call",
                rank=value.rank,
            )
            self.assign(frame, element, self.conventional(frame, element, part))

    @abstractmethod
    def conventional(self, frame: Frame, target: ast.expr, value: Value) -> Value:
        """Give an unknown the value that the name of its target conventionally holds."""

    @staticmethod
    def _forget(frame: Frame, path: str) -> None:
        prefix = f"{path}."
        for name in [name for name in frame.variables if name.startswith(prefix)]:
            del frame.variables[name]
