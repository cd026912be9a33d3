"""Guards: decorators, wrappers and contexts that run code on some ranks only."""

from __future__ import annotations

import ast

from ckptlint.analysis.frame import Arguments, Frame
from ckptlint.analysis.members import Members
from ckptlint.analysis.sequences import (
    Operation,
    Test,
)
from ckptlint.analysis.values import (
    NONE,
    Closure,
    Const,
    External,
    FunctionValue,
    Guarded,
    GuardMaker,
    Partial,
    Rank,
    Settings,
    Site,
    Value,
    marked,
)
from ckptlint.facts import Call, Guard
from ckptlint.project import (
    Function,
)


class Guards(Members):
    """Applies decorators and makes the tests of guards."""

    def decorated(
        self, function: Function, bound: Value | None, closure: Closure | None = None
    ) -> Value:
        """Return what a definition binds: the function with its decorators applied."""
        value: Value = FunctionValue(function, closure, bound)
        if function.decorated_by("staticmethod"):
            value = FunctionValue(function, closure, None)
        for node in reversed(function.decorators):
            if self.world.interesting(function.module, node):
                value = self._decorate(function, node, value, bound, closure)
        return value

    def _decorate(
        self,
        function: Function,
        node: ast.expr,
        value: Value,
        bound: Value | None,
        closure: Closure | None,
    ) -> Value:
        frame = Frame(function.module, None, closure)
        site = Site(function.module, node)
        decorator = self.evaluate(frame, node)
        guard = self.guard_of(decorator)
        if isinstance(decorator, GuardMaker):
            return Guarded(value, decorator.guard, site)
        if guard is not None and guard.form != "context":
            return Guarded(value, guard, site)
        if isinstance(decorator, FunctionValue) and self.world.interesting(
            decorator.function.module, decorator.function.node
        ):
            plain = FunctionValue(function, closure, None)
            made = self.call(frame, decorator, Arguments((plain,)), site)
            if isinstance(made, FunctionValue | Guarded):
                return self._bind(made, bound)
        return value

    def _bind(self, value: Value, bound: Value | None) -> Value:
        if bound is None:
            return value
        if isinstance(value, Guarded):
            return Guarded(self._bind(value.inner, bound), value.guard, value.site)
        return Partial(value, (bound,))

    @staticmethod
    def handed(frame: Frame, site: Site) -> bool:
        """Say whether a call is of a function that the running function was given as a value."""
        node = site.node
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return False
        value = frame.variables.get(node.func.id)
        if value is None and frame.closure is not None:
            value = frame.closure.get(node.func.id)
        own = f"{frame.function.qualname}.<locals>." if frame.function is not None else ""
        while isinstance(value, Partial | Guarded):
            value = value.inner
        if isinstance(value, FunctionValue):
            return not (own and value.function.qualname.startswith(own))
        return isinstance(value, External) and value.owner is not None

    def guard_of(self, value: Value) -> Guard | None:
        """Return the guard that a name stands for."""
        if isinstance(value, External):
            return self.knowledge.guards.get(self.knowledge.canonical(value.name))
        return None

    def enters(self, guard: Guard, site: Site, kind: str) -> Test | None:
        """Return the test that a guard makes on this rank; None when it admits every rank."""
        if guard.ranks == "all":
            return None
        number = self.ranks.number(guard.scope)
        taken = number == 0 if guard.ranks == "first" else self.ranks.who == "the last rank"
        scopes = {guard.scope} | ({"last"} if guard.ranks == "last" else set())
        return Test(site, kind, taken, Rank(frozenset(scopes)))

    @staticmethod
    def silenced(guard: Guard) -> Settings:
        """Return the calls that do nothing in what a guard runs."""
        return dict.fromkeys(guard.silences, NONE)

    def synchronisation(self, frame: Frame, guard: Guard, site: Site) -> Operation:
        """Return the barrier that a guard holds: every rank must enter it."""
        record = Call(guard.name, "all", "barrier", guard.source, framework=guard.framework)
        return Operation(site, record, "world", True, tuple(frame.guards))

    def call_guarded(
        self, frame: Frame, callee: Guarded, arguments: Arguments, site: Site
    ) -> Value:
        test = self.enters(callee.guard, callee.site, "decorator")
        if test is None:
            return self.call(frame, callee.inner, arguments, site)
        frame.scopes |= test.rank.scopes
        if not test.taken:
            return Const(None, rank=test.rank)
        with frame.guarded(test), self.within(self.silenced(callee.guard)):
            return marked(self.call(frame, callee.inner, arguments, site), test.rank)

    def call_guard(self, frame: Frame, guard: Guard, arguments: Arguments, site: Site) -> Value:
        position = guard.function
        function = arguments.positional[position] if position < len(arguments.positional) else NONE
        callable_ = isinstance(function, FunctionValue | Guarded | Partial | External)
        if guard.form == "wrapper":
            return self._call_wrapper(frame, guard, function, arguments, site)
        if guard.form == "decorator" and callable_:
            return Guarded(function, guard, site)
        return GuardMaker(guard, site)

    def _call_wrapper(
        self, frame: Frame, guard: Guard, function: Value, arguments: Arguments, site: Site
    ) -> Value:
        """Run a function through a helper such as ``run_on_main(fn)``."""
        test = self.enters(guard, site, "wrapper")
        rest = tuple(value for i, value in enumerate(arguments.positional) if i != guard.function)
        inner = Arguments(rest, arguments.keywords, (), arguments.complete)
        if test is None:
            self.call(frame, function, inner, site)
        else:
            frame.scopes |= test.rank.scopes
            if test.taken:
                with frame.guarded(test), self.within(self.silenced(guard)):
                    self.call(frame, function, inner, site)
        if guard.synchronises:
            frame.trace.append(self.synchronisation(frame, guard, site))
        return self.unknown("wrapped", frame, site.node)
