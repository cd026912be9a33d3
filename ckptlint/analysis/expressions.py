"""Evaluating expressions on one rank class."""

from __future__ import annotations

import ast
import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ckptlint.analysis.binding import Binder
from ckptlint.analysis.containers import element, entry, plain
from ckptlint.analysis.frame import NEXT, Arguments, Frame, Outcome
from ckptlint.analysis.origins import words_of
from ckptlint.analysis.sequences import (
    EMPTY,
    Branch,
    Loop,
    Trace,
)
from ckptlint.analysis.shares import TURNS, share_of_slice
from ckptlint.analysis.values import (
    NONE,
    Choice,
    Const,
    Divergent,
    External,
    FunctionValue,
    Items,
    Many,
    Rank,
    Site,
    Symbol,
    Table,
    Value,
    marked,
    merge_divergent,
    merge_ranks,
)
from ckptlint.project import (
    Function,
    dotted,
)

_OF_A_GROUP = re.compile(
    "cp|context|data|dp|ep|expert|groups?|model|mp|parallel|pipeline|pp|replicas?|sequence|shards?"
    "|sp|stages?|tensor|tp"
)
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


class Evaluator(Binder):
    """Gives an expression its value; calls and names are left to the next layers."""

    def evaluate(self, frame: Frame, node: ast.expr | None) -> Value:
        """Evaluate an expression; collectives in it go into the frame's trace in order."""
        if node is None:
            return NONE
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None:
            value: Value = method(frame, node)
            return value
        parts = [
            self.keys.of(self.evaluate(frame, child))
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr)
        ]
        return self.unknown("expression", frame, node, *parts)

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
        site = Site(frame.module, node)
        if not isinstance(node.func, ast.Attribute):
            callee = self.evaluate(frame, node.func)
            return self.call(frame, callee, self.arguments(frame, node), site)
        base = self.evaluate(frame, node.func.value)
        path = dotted(node.func)
        known = frame.variables.get(path) if path is not None else None
        callee = known or self.called_attribute(frame, base, node.func)
        arguments = self.arguments(frame, node)
        if isinstance(callee, Symbol):
            self.call_method(frame, base, node.func.attr, arguments, site)
        return self.call(frame, callee, arguments, site)

    @abstractmethod
    def lookup(self, frame: Frame, name: str) -> Value:
        """Read a name."""

    @abstractmethod
    def attribute(self, frame: Frame, base: Value, name: str, node: ast.expr) -> Value:
        """Read an attribute."""

    @abstractmethod
    def called_attribute(self, frame: Frame, base: Value, node: ast.Attribute) -> Value:
        """Read an attribute in order to call it."""

    @abstractmethod
    def call(self, frame: Frame, callee: Value, arguments: Arguments, site: Site) -> Value:
        """Call a value: emit what it does into the frame's trace, return what it gives."""

    @abstractmethod
    def call_method(
        self, frame: Frame, base: Value, name: str, arguments: Arguments, site: Site
    ) -> None:
        """Emit what a method does by its name alone: nothing is known of the object."""

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
            return lambda: Outcome(NEXT, self._entailed(frame, depth, self.evaluate(frame, part)))

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

    def _Tuple(self, frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
        values = [self.evaluate(frame, part) for part in node.elts]
        if any(isinstance(part, ast.Starred) for part in node.elts):
            return self.unknown("expression", frame, node)
        return Items(tuple(values))

    _List = _Tuple
    _Set = _Tuple

    def _UnaryOp(self, frame: Frame, node: ast.UnaryOp) -> Value:
        value = self.evaluate(frame, node.operand)
        if isinstance(node.op, ast.Not):
            return self.negation(value)
        if isinstance(node.op, ast.USub):
            return self.keys.spread(
                value,
                lambda leaf: (
                    Const(-leaf.value, rank=leaf.rank)
                    if isinstance(leaf, Const) and isinstance(leaf.value, int | float)
                    else self.derived("minus", leaf)
                ),
            )
        return self.derived("unary", value)

    def _BinOp(self, frame: Frame, node: ast.BinOp) -> Value:
        left = self.evaluate(frame, node.left)
        right = self.evaluate(frame, node.right)
        return self.keys.spread(
            left, lambda a: self.keys.spread(right, lambda b: self.binary(node.op, a, b))
        )

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        compute = _BINARY.get(type(op))
        if isinstance(left, Const) and isinstance(right, Const) and compute is not None:
            numbers = isinstance(left.value, int | float) and isinstance(right.value, int | float)
            if numbers or isinstance(op, ast.Add):
                mark = merge_ranks(left.rank, right.rank)
                if mark is not None and isinstance(op, ast.Mod | ast.FloorDiv):
                    mark = Rank(mark.scopes | {"node"}, mark.certain, mark.exact)
                try:
                    return Const(compute(left.value, right.value), rank=mark)
                except (TypeError, ValueError, ArithmeticError):
                    pass
        if isinstance(op, ast.Mod) and _counts_ranks(left) and not isinstance(right, Const):
            # Of ranks there are as many on each node, unless it is divided by the size of a group.
            scope = "group" if self._speaks_of_groups(right) else "node"
            return Const(self.ranks.number(scope), rank=Rank(frozenset({scope}), certain=False))
        return self.derived(type(op).__name__, left, right)

    def _speaks_of_groups(self, value: Value) -> bool:
        """Say whether an unknown has a name by which it is the size of a group of ranks."""
        parts = self.keys.made_of(self.keys.of(value))
        if parts[0] == "call" and isinstance(parts[1], int):
            parts = self.keys.made_of(parts[1])
        name = str(parts[-1]).rpartition(".")[2]
        return any(map(_OF_A_GROUP.fullmatch, words_of(name)))

    def _JoinedStr(self, frame: Frame, node: ast.JoinedStr) -> Value:
        values = [
            self.evaluate(frame, part.value if isinstance(part, ast.FormattedValue) else part)
            for part in node.values
        ]
        mark = merge_divergent(*map(self.keys.disagreement, values))
        return Symbol(self.keys.number("string", *map(self.keys.of, values)), divergent=mark)

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
            return self.derived("and", a, right)

        return self.keys.spread(self.truth(left), leaf)

    def _comprehension(
        self,
        frame: Frame,
        node: ast.AST,
        generators: list[ast.comprehension],
        parts: list[ast.expr],
    ) -> Value:
        before = dict(frame.variables)
        first = self.evaluate(frame, generators[0].iter)

        def turn(index: int, iterable: Value) -> Value:
            if index == len(generators):
                return [self.evaluate(frame, part) for part in parts][-1]
            generator = generators[index]
            self.assign(frame, generator.target, self.item_of(frame, generator, iterable))
            return passed(index, 0)

        def passed(index: int, number: int) -> Value:
            conditions = generators[index].ifs
            if number < len(conditions):
                test = self.evaluate(frame, conditions[number])
                return self.decide(
                    frame,
                    test,
                    conditions[number],
                    lambda: Outcome(NEXT, passed(index, number + 1)),
                    lambda: Outcome(NEXT, NONE),
                ).value
            if index + 1 == len(generators):
                return turn(index + 1, NONE)
            return turn(index + 1, self.evaluate(frame, generators[index + 1].iter))

        with frame.capture() as items:
            held = turn(0, first)
        frame.variables = before
        body = Trace(items)
        if body:
            loop = Loop(Site(frame.module, node), body, False, tuple(frame.guards))
            frame.trace.append(loop)
            self.turn_apart(frame, loop, first, generators[0].iter)
        if not plain(held) and held.rank is None:
            return Many(held, mapped=len(parts) == 2)
        return self.unknown("expression", frame, node)

    def _Dict(self, frame: Frame, node: ast.Dict) -> Value:
        entries: list[tuple[Any, Value]] = []
        constant = True
        for key, part in zip(node.keys, node.values, strict=True):
            name = self.evaluate(frame, key) if key is not None else None
            value = self.evaluate(frame, part)
            if isinstance(name, Const) and name.rank is None:
                entries.append((name.value, value))
            else:
                constant = False
        if constant and not all(plain(value) for _, value in entries):
            return Table(tuple(entries))
        return self.unknown("expression", frame, node)

    def _ListComp(self, frame: Frame, node: ast.ListComp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.elt])

    def _SetComp(self, frame: Frame, node: ast.SetComp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.elt])

    def _GeneratorExp(self, frame: Frame, node: ast.GeneratorExp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.elt])

    def _DictComp(self, frame: Frame, node: ast.DictComp) -> Value:
        return self._comprehension(frame, node, node.generators, [node.key, node.value])

    def turn_apart(self, frame: Frame, loop: Loop, iterable: Value, node: ast.expr) -> None:
        """Let a rank go through a loop once more than another, where its share may be larger."""
        mark = self.keys.disagreement(iterable)
        if mark is not None and mark.uneven and loop.body.acts:
            key = self.keys.number("turns", loop.site.key)
            self.keys.divergent[key] = Divergent(TURNS)
            frame.trace.append(Branch(key, Trace([loop]), EMPTY, Site(frame.module, node)))

    def item_of(self, frame: Frame, node: ast.AST, iterable: Value) -> Value:
        """Return what a loop variable holds in its turn."""
        known = element(self.keys, iterable)
        if known is not None:
            return known
        return Symbol(
            self.keys.number("item", self.keys.of(iterable)),
            each=True,
            divergent=self.keys.disagreement(iterable),
        )

    def _Subscript(self, frame: Frame, node: ast.Subscript) -> Value:
        base = self.evaluate(frame, node.value)
        index = self.evaluate(frame, node.slice)
        if isinstance(base, External) and base.name == "os.environ":
            return self.environment(frame, index, None)
        held = entry(self.keys, base, index)
        if held is not None:
            return held
        return Symbol(
            self.keys.number("subscript", self.keys.of(base), self.keys.of(index)),
            divergent=merge_divergent(self.keys.disagreement(base), self.keys.disagreement(index)),
        )

    def _Slice(self, frame: Frame, node: ast.Slice) -> Value:
        start, stop, step = (
            self.evaluate(frame, part) for part in (node.lower, node.upper, node.step)
        )
        known = self.unknown("slice", frame, node, *map(self.keys.of, (start, stop, step)))
        return replace(known, divergent=share_of_slice(start, stop, step))

    def environment(self, frame: Frame, name: Value, default: Value | None) -> Value:
        """Read an environment variable: a string when the facts say that it holds the rank."""
        if isinstance(name, Const):
            predicate = self.knowledge.environment.get(str(name.value))
            if predicate is not None:
                value = self.folded(frame, predicate, True)
                assert isinstance(value, Const)
                return Const(str(value.value), rank=value.rank)
        return Symbol(self.keys.number("environment", self.keys.of(name)))

    def _Await(self, frame: Frame, node: ast.Await) -> Value:
        return self.evaluate(frame, node.value)

    def _Starred(self, frame: Frame, node: ast.Starred) -> Value:
        self.evaluate(frame, node.value)
        return self.unknown("expression", frame, node)


def _counts_ranks(value: Value) -> bool:
    """Say whether a value is the number of the rank in the job."""
    return (
        isinstance(value, Const)
        and type(value.value) is int
        and value.rank is not None
        and value.rank.exact
        and value.rank.scopes == {"global"}
    )
