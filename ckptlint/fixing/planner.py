"""Deciding what of a guarded block runs on every rank.

The order of statements never changes on the ranks that the guard lets in, except among those that
have no effect. What holds a collective is taken out of the guard; what that needs and has no
effect of its own comes along; everything else stays guarded, before, between and after.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ckptlint.fixing.needs import Needs
from ckptlint.fixing.plan import Guarded, Item, Kept, Opened, Plan, Pulled
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.scopes import Uses, contains, leaves, touch


@dataclass
class Planner(Needs):
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
        if isinstance(statement, ast.If):
            if self._repeats_guard(statement):
                return list(self.plan(statement.body))
            return [self._open_if(statement)]
        if isinstance(statement, ast.With):
            return [self._open_with(statement)]
        if isinstance(statement, ast.For):
            return [self._open_for(statement)]
        if isinstance(statement, ast.Try):
            return [self._open_try(statement)]
        if isinstance(statement, ast.Expr | ast.Assign):
            return self._simple(statement)
        raise RefusedError(f"the collective stands in a {type(statement).__name__} statement")

    # -- statements that hold a collective -------------------------------------------------------

    def _simple(self, statement: ast.Expr | ast.Assign) -> list[Item]:
        self.check_arguments(statement)
        value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
        whole = self.purity.pure(value, self.operations)
        if whole and (isinstance(statement, ast.Expr) or self.own_targets(statement)):
            uses = Uses.of(statement)
            self.bound |= uses.stores
            self.needed = (self.needed - uses.stores) | uses.loads
            return [Kept(statement)]
        calls = [op for op in self.operations if contains(statement, [op])]
        if len(calls) != 1 or not isinstance(calls[0], ast.Call):
            raise RefusedError("more than one collective stands in one statement")
        return self._pull(statement, calls[0])

    def _pull(self, statement: ast.Expr | ast.Assign, call: ast.Call) -> list[Item]:
        """Make the call beforehand: only where nothing that counts is evaluated before it."""
        for earlier in _evaluated_before(statement.value, call):
            if not self.purity.pure(earlier):
                raise RefusedError("something else happens in the statement before the collective")
        name = self._fresh(call, _name_for(statement, call))
        self.needed |= Uses.of(call).loads
        return [Pulled(call, name), Guarded((statement,))]

    def _fresh(self, call: ast.Call, wanted: str) -> str:
        """Return a name that is not in use, told apart by what is gathered."""
        names = [wanted, f"gathered_{wanted}"]
        if call.args and isinstance(call.args[0], ast.Name):
            names.insert(1, f"{call.args[0].id}_{wanted}")
        names += [f"{wanted}_{number}" for number in range(2, len(self.taken) + 3)]
        name = next(name for name in names if name not in self.taken)
        self.taken.add(name)
        return name

    def _repeats_guard(self, statement: ast.If) -> bool:
        """Say whether this is the guard's test once more, so that its body is just guarded."""
        tests = [ast.dump(part) for part in self.guard]
        return tests == [ast.dump(statement.test)] and not statement.orelse

    def _open_if(self, statement: ast.If) -> Item:
        if contains(statement.test, self.operations):
            raise RefusedError("the collective stands in a condition")
        self._condition(statement.test)
        after = set(self.needed)
        orelse = self.plan(statement.orelse)
        other, self.needed = self.needed, after
        body = self.plan(statement.body)
        self.needed |= other | after | Uses.of(statement.test).loads
        return Opened(statement, body, orelse)

    def _condition(self, test: ast.expr) -> None:
        if self.purity.ranked(test):
            raise RefusedError("a second test of the rank stands between")
        if not self.purity.pure(test):
            raise RefusedError("a condition on the way has effects or differs between ranks")
        doubt = self.purity.doubtful(test)
        if doubt is not None:
            self.doubts.append(doubt)

    def _open_with(self, statement: ast.With) -> Item:
        calls = [item.context_expr for item in statement.items]
        if not all(self.purity.pure(call, self.operations) for call in calls):
            raise RefusedError("a context on the way may have effects")
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
        return Opened(statement, body)

    def _open_for(self, statement: ast.For) -> Item:
        if statement.orelse or leaves(statement.body) or _has_jump(statement.body):
            raise RefusedError("the loop around the collective may be left early")
        if self.purity.ranked(statement.iter) or not self.purity.pure(statement.iter):
            raise RefusedError("the loop around the collective has effects or depends on the rank")
        uses = Uses.of(statement.iter, statement.target)
        before = set(self.needed)
        body = self.plan(statement.body)
        stored = Uses.of(*statement.body).written
        if touch(stored - self.bound, self.needed):
            raise RefusedError("the loop changes what the collective needs")
        self.bound |= uses.stores
        self.needed = (self.needed - uses.stores) | before | uses.loads
        return Opened(statement, body)

    def _open_try(self, statement: ast.Try) -> Item:
        """Enter a ``try`` on every rank, where its handlers only tell: a rank that fails in the
        collective tells of it itself."""
        if statement.orelse or statement.finalbody:
            raise RefusedError("the collective stands in a try with further parts")
        for handler in statement.handlers:
            told = all(
                isinstance(part, ast.Pass | ast.Raise)
                or (
                    isinstance(part, ast.Expr)
                    and isinstance(part.value, ast.Call)
                    and self.purity.tells(part.value)
                )
                for part in handler.body
            )
            if not told:
                raise RefusedError("an error is handled by more than a message")
        before = set(self.needed)
        body = self.plan(statement.body)
        self.needed |= before
        return Opened(statement, body)

    # -- all others ------------------------------------------------------------------------------

    def _other(self, statement: ast.stmt) -> list[Item]:
        uses = Uses.of(statement)
        if self.may_return and self._ahead and leaves([statement]):
            return [self._exit(statement)]
        if touch(uses.stores, self.needed):
            if not self.free(statement):
                raise RefusedError("the collective needs a value that only some ranks have")
            self.bound |= uses.stores
            self.needed = (self.needed - uses.stores) | uses.loads
            if self.purity.immutable(getattr(statement, "value", None)):
                self.passed_on = {k: v for k, v in self.passed_on.items() if k not in uses.stores}
            return [Kept(statement, True)]
        if touch(self.changes(uses), self.needed):
            raise RefusedError("what the collective needs is changed on some ranks only")
        if self._ahead and leaves([statement]):
            raise RefusedError("some ranks may leave before the collective")
        if self._ahead:
            self.give_away(statement)
        if self._like_an_operation(statement):
            raise RefusedError("a call like the collective would stay under a test")
        return [Guarded((statement,))]

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

    # -- the plan as a whole -----------------------------------------------------------------------

    def tidied(self, items: Sequence[Item]) -> Plan:
        """Join neighbours under one guard and drop ``pass``.

        Where one statement without effects parts two guarded groups, it comes first; a collective
        comes before a group that only computes.
        """
        joined: list[Item] = []
        for item in items:
            if isinstance(item, Guarded):
                kept = tuple(s for s in item.statements if not isinstance(s, ast.Pass))
                if not kept:
                    continue
                item = Guarded(kept)
                if joined and isinstance(joined[-1], Guarded):
                    joined[-1] = Guarded(joined[-1].statements + kept)
                    continue
                if len(joined) > 1 and self._may_come_first(joined[-1], joined[-2]):
                    between, before = joined.pop(), joined.pop()
                    assert isinstance(before, Guarded)
                    joined += [between, Guarded(before.statements + kept)]
                    continue
            joined.append(item)
        return tuple(joined)

    def _may_come_first(self, item: Item, group: Item) -> bool:
        """Say whether an item may come before the guarded group that it stands behind."""
        if not isinstance(group, Guarded) or not isinstance(item, Kept | Pulled):
            return False
        if not (isinstance(item, Kept) and item.free) and not all(map(self.free, group.statements)):
            return False
        uses = Uses.of(*group.statements)
        own = Uses.of(item.call if isinstance(item, Pulled) else item.statement)
        written = uses.stores | self.changes(uses)
        return not (touch(own.stores, uses.loads | written) or touch(own.loads, written))


def _has_jump(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Break | ast.Continue) for s in body for n in ast.walk(s))


def _evaluated_before(root: ast.expr, call: ast.Call) -> list[ast.expr]:
    """Return the expressions that are evaluated before ``call``. Raises RefusedError where the
    call may be made never, or more than once."""
    found: list[ast.expr] = []
    node: ast.AST = root
    while node is not call:
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp):
            raise RefusedError("the collective is made in a comprehension or lambda")
        if isinstance(node, ast.GeneratorExp | ast.IfExp | ast.BoolOp | ast.NamedExpr | ast.Await):
            raise RefusedError("the collective is made under a condition of its own")
        if isinstance(node, ast.Compare) and len(node.comparators) > 1:
            raise RefusedError("the collective is made in a chain of comparisons")
        for child in ast.iter_child_nodes(node):
            if contains(child, [call]):
                node = child
                break
            if isinstance(child, ast.keyword):
                found.append(child.value)
            elif isinstance(child, ast.expr):
                found.append(child)
        else:
            raise RefusedError("the collective cannot be found in its statement")
    return found


def _name_for(statement: ast.Expr | ast.Assign, call: ast.Call) -> str:
    """Name a result after the keyword that takes it, or after what is called."""
    for node in ast.walk(statement):
        if isinstance(node, ast.keyword) and node.value is call and node.arg:
            return node.arg
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "result")
    if "gather" in name or "reduce" in name:
        return "reduced" if "reduce" in name else "gathered"
    return name.removeprefix("get_").lstrip("_") or "result"
