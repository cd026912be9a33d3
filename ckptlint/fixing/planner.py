"""Deciding what of a guarded block runs on every rank.

The order of statements never changes on the ranks that the guard lets in, except among those that
have no effect. What holds a collective is taken out of the guard; what that needs and has no
effect of its own comes along; everything else stays guarded, before, between and after.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ckptlint.fixing.conditions import operands
from ckptlint.fixing.plan import Guarded, Item, Kept, Opened, Plan
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.pulling import Pulling
from ckptlint.fixing.scopes import Uses, contains, leaves, touch


@dataclass
class Planner(Pulling):
    """Plans one guarded block."""

    may_return: bool = False  # whether every rank may return where the condition is the same
    _ahead: bool = False  # whether a collective follows what is planned next

    def plan(self, body: Sequence[ast.stmt]) -> Plan:
        """Plan a block, from its end to its beginning. Raises RefusedError."""
        items: list[Item] = []
        for statement in reversed(body):
            if contains(statement, self.operations):
                found = self._operation(statement)
                self._ahead = True
            else:
                found = self._other(statement)
            items[:0] = found
        return self.tidied(items)

    def _operation(self, statement: ast.stmt) -> list[Item]:
        match statement:
            case ast.If():
                return self._if(statement)
            case ast.With():
                return self._with(statement)
            case ast.For():
                return [self._open_for(statement)]
            case ast.While():
                return [self._open_while(statement)]
            case ast.Try():
                return [self._open_try(statement)]
            case ast.Expr() | ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Return():
                return self.simple(statement)
        raise RefusedError(f"the collective stands in a {type(statement).__name__} statement")

    # -- statements with blocks that hold a collective -----------------------------------------

    def _repeats_guard(self, statement: ast.If) -> bool:
        """Say whether this is the guard's test once more, so that its body is just guarded."""
        tests = [ast.dump(part) for part in self.guard]
        return tests == [ast.dump(statement.test)] and not statement.orelse

    def _if(self, statement: ast.If) -> list[Item]:
        if contains(statement.test, self.operations):
            if contains(ast.Module([*statement.body, *statement.orelse], []), self.operations):
                raise RefusedError("the collective stands in a condition")
            self.check_arguments(statement.test)
            return [*self.pull(statement, statement.test), Guarded((statement,))]
        if self._repeats_guard(statement):
            return list(self.plan(statement.body))
        if self.purity.ranked(statement.test):
            return self._second_test(statement)
        self._condition(statement.test)
        after = set(self.needed)
        orelse = self.plan(statement.orelse)
        other, self.needed = self.needed, after
        body = self.plan(statement.body)
        self.needed |= other | after | Uses.of(statement.test).loads
        return [Opened(statement, body, orelse)]

    def _second_test(self, statement: ast.If) -> list[Item]:
        """Take the collective out of another test of the rank inside the first; what stays
        guarded stays under both."""
        if statement.orelse or not all(map(self.is_guard, operands(statement.test))):
            raise RefusedError("a second test of the rank stands between")
        if touch(Uses.of(statement.test).loads, Uses.of(*statement.body).written):
            raise RefusedError("a second test of the rank changes")
        self.guard = [*self.guard, statement.test]
        items: list[Item] = []
        for item in self.plan(statement.body):
            if isinstance(item, Opened):
                raise RefusedError("a second test of the rank stands between")
            if isinstance(item, Guarded):
                item = Guarded((ast.If(statement.test, list(item.statements), []),))
            items.append(item)
        return items

    def _condition(self, test: ast.expr) -> None:
        if self.purity.ranked(test):
            raise RefusedError("a second test of the rank stands between")
        if not self.purity.pure(test):
            raise RefusedError("a condition on the way has effects or differs between ranks")
        doubt = self.purity.doubtful(test)
        if doubt is not None:
            self.doubts.append(doubt)

    def _with(self, statement: ast.With) -> list[Item]:
        calls = [item.context_expr for item in statement.items]
        if not all(self.purity.pure(call, self.operations) for call in calls):
            return self._before_with(statement)
        self.check_arguments(*calls)
        if any(contains(call, self.operations) for call in calls):
            if contains(ast.Module(statement.body, []), self.operations):
                raise RefusedError("a collective stands inside another one")
            body: Plan = self.tidied([Guarded(tuple(statement.body))])
        else:
            body = self.plan(statement.body)
        uses = Uses.of(*statement.items)
        self.bound |= uses.stores
        self.needed = (self.needed - uses.stores) | uses.loads
        return [Opened(statement, body)]

    def _before_with(self, statement: ast.With) -> list[Item]:
        """Make a collective before a file is opened for what it gives."""
        calls = [item.context_expr for item in statement.items]
        first, *others = statement.body
        if (
            not all(isinstance(call, ast.Call) and self.purity.opens(call) for call in calls)
            or not isinstance(first, ast.Expr | ast.Assign)
            or contains(ast.Module([*map(ast.Expr, calls), *others], []), self.operations)
        ):
            raise RefusedError("a context on the way may have effects")
        self.check_arguments(first)
        items = self.pull(first, first.value)
        if touch(Uses.of(*statement.items).stores, self.needed):
            raise RefusedError("the collective needs what a context gives")
        return [*items, Guarded((statement,))]

    def _open_for(self, statement: ast.For) -> Item:
        if self.purity.ranked(statement.iter) or not self.purity.pure(statement.iter):
            raise RefusedError("the loop around the collective has effects or depends on the rank")
        return self._loop(statement, Uses.of(statement.iter, statement.target))

    def _open_while(self, statement: ast.While) -> Item:
        if contains(statement.test, self.operations):
            raise RefusedError("the collective stands in a condition")
        self._condition(statement.test)
        head = Uses.of(statement.test)
        self.needed |= head.loads
        return self._loop(statement, head)

    def _loop(self, statement: ast.For | ast.While, head: Uses) -> Item:
        if statement.orelse or leaves(statement.body) or _has_jump(statement.body):
            raise RefusedError("the loop around the collective may be left early")
        before = set(self.needed)
        body = self.plan(statement.body)
        stored = Uses.of(*statement.body).written
        if touch(stored - self.bound, self.needed):
            raise RefusedError("the loop changes what the collective needs")
        self.bound |= head.stores
        self.needed = (self.needed - head.stores) | before | head.loads
        return Opened(statement, body)

    def _open_try(self, statement: ast.Try) -> Item:
        """Enter a ``try`` on every rank: one that fails in the collective fails there itself.

        What the handlers do besides telling of it stays guarded, as do the further parts.
        """
        before, ahead = set(self.needed), self._ahead
        last = self._aside(statement.finalbody)
        orelse = self._aside(statement.orelse)
        handlers = tuple(self._handler(handler.body) for handler in statement.handlers)
        self._ahead = ahead
        body = self.plan(statement.body)
        self.needed |= before
        return Opened(statement, body, orelse, handlers, last)

    def _handler(self, body: Sequence[ast.stmt]) -> Plan:
        if all(map(self._told, body)):
            return tuple(map(Kept, body))
        end = [body[-1]] if isinstance(body[-1], ast.Raise) else []
        inner = body[: len(body) - len(end)]
        if any(isinstance(node, ast.Raise) for each in inner for node in ast.walk(each)):
            raise RefusedError("an error is raised again on some ranks only")
        if not end:
            self.doubts.append("what is to be done where another rank fails alone")
        return (*self._aside(inner), *map(Kept, end))

    def _told(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Pass | ast.Raise) or (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and self.purity.tells(statement.value)
        )

    def _aside(self, body: Sequence[ast.stmt]) -> Plan:
        """Plan a block of a ``try`` that stays guarded."""
        for node in (node for each in body for node in ast.walk(each)):
            if isinstance(node, ast.Call) and self.purity.communicates(node):
                raise RefusedError("a call like a collective stands in a further part of a try")
        if leaves(body):
            raise RefusedError("an error makes some ranks leave")
        uses = Uses.of(*body)
        if touch(self.changes(uses) | uses.stores, self.needed):
            raise RefusedError("what is needed later is changed on some ranks only")
        return self.tidied([Guarded((statement,)) for statement in body])

    # -- all others ------------------------------------------------------------------------------

    def _other(self, statement: ast.stmt) -> list[Item]:
        uses = Uses.of(statement)
        if self.may_return and self._ahead and leaves([statement]):
            return [self._exit(statement)]
        if touch(uses.stores, self.needed):
            if isinstance(statement, ast.With):
                return self._first_of_with(statement)
            own = self.purity.differs(statement)
            free = self.free(statement) and not own
            if not free and self.shares:
                self.share(statement)
            elif own:
                raise RefusedError("each rank would make a value of its own for the collective")
            elif not free:
                self.check_made(statement)
            self.bound |= uses.stores
            if not isinstance(statement, ast.AugAssign):
                self.needed -= uses.stores
            self.needed |= uses.loads
            if self.purity.immutable(getattr(statement, "value", None)):
                self.passed_on = {k: v for k, v in self.passed_on.items() if k not in uses.stores}
            return [Kept(statement, free)]
        if touch(self.changes(uses) - self.spread, self.needed):
            raise RefusedError("what the collective needs is changed on some ranks only")
        if self._ahead and leaves([statement]):
            raise RefusedError("some ranks may leave before the collective")
        if self._ahead:
            self.give_away(statement)
        if self._like_an_operation(statement):
            raise RefusedError("a call like the collective would stay under a test")
        return [Guarded((statement,))]

    def _first_of_with(self, statement: ast.With) -> list[Item]:
        """Take out of a context what stands first in it, has no effect and is needed later."""
        names = Uses.of(*statement.items).stores
        first: list[ast.stmt] = []
        rest = list(statement.body)
        while rest and self.free(rest[0]) and not touch(Uses.of(rest[0]).loads, names):
            first.append(rest.pop(0))
        if not first or not rest:
            raise RefusedError("the collective needs a value that only some ranks have")
        for each in first:
            value = getattr(each, "value", None)
            counts = isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv | ast.Mod)
            if not counts and (isinstance(value, ast.BinOp) or not self.purity.immutable(value)):
                made = ", ".join(sorted(Uses.of(each).stores))
                self.doubts.append(f"`{made}` is now made outside of the context")
        inner = ast.With(statement.items, rest)
        kept = self._other(inner)
        return [item for each in first for item in self._other(each)] + kept

    def _like_an_operation(self, statement: ast.stmt) -> bool:
        """Say whether a statement makes a call that is spelled like one of the collectives."""
        spelled = {ast.dump(op.func) for op in self.operations if isinstance(op, ast.Call)}
        return any(
            isinstance(node, ast.Call) and ast.dump(node.func) in spelled
            for node in ast.walk(statement)
        )

    def _exit(self, statement: ast.stmt) -> Item:
        """Let every rank take an exit that depends on nothing that differs between ranks."""
        if not self._only_returns(statement):
            raise RefusedError("some ranks may leave before the collective")
        uses = Uses.of(statement)
        self.bound |= uses.stores
        self.needed |= uses.loads
        return Kept(statement)

    def _only_returns(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Return):
            return statement.value is None or self.purity.pure(statement.value)
        if not isinstance(statement, ast.If):
            return self.free(statement)
        self._condition(statement.test)
        return all(map(self._only_returns, [*statement.body, *statement.orelse]))


def _has_jump(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Break | ast.Continue) for s in body for n in ast.walk(s))
