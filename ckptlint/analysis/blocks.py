"""Executing loops, with and try."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from functools import cache

from ckptlint.analysis.frame import NEXT, RAISE, Arguments, Frame, Outcome
from ckptlint.analysis.naming import looks_for_a_name
from ckptlint.analysis.sequences import (
    Branch,
    Loop,
    Test,
    Trace,
    before_exits,
    forever,
    replace_yield,
    settings_of,
    split_yield,
    without_failures,
)
from ckptlint.analysis.statements import Statements
from ckptlint.analysis.values import (
    APART,
    NONE,
    TRUE,
    Const,
    Divergent,
    External,
    FunctionValue,
    GuardMaker,
    Instance,
    Items,
    Object,
    Rank,
    Settings,
    Site,
    Symbol,
    Value,
)
from ckptlint.facts import Guard
from ckptlint.project import (
    dotted,
    last_name,
    stored_names,
)

_OF_FILES = frozenset(
    {"EnvironmentError", "FileExistsError", "FileNotFoundError", "IOError", "OSError"}
)
_OF_ALL = frozenset({"BaseException", "Exception"})
_RAISED = Divergent("an exception that one rank may raise alone", likely=False)


class Blocks(Statements):
    """Executes statements that repeat, enclose or catch."""

    def _For(self, frame: Frame, node: ast.For | ast.AsyncFor) -> str:
        iterable = self.evaluate(frame, node.iter)
        self._look(frame, node)
        self._widen(frame, node)
        item = self.item_of(frame, node, iterable)
        self.assign(frame, node.target, item)
        return self._repeat(frame, node, lambda: self.execute(frame, node.body), iterable)

    _AsyncFor = _For

    def _While(self, frame: Frame, node: ast.While) -> str:
        self._look(frame, node)
        self._widen(frame, node)
        with frame.capture() as tested:
            test = self.truth(self.evaluate(frame, node.test))
        frame.trace.extend(tested)

        def turn() -> str:
            def body() -> Outcome:
                status = self.execute(frame, node.body)
                if status == NEXT:
                    frame.trace.extend(tested)
                    self._come_round(frame, node, test)
                return Outcome(status, NONE)

            leave = Outcome(NEXT, NONE)
            return self.decide(frame, test, node.test, body, lambda: leave).status

        return self._repeat(frame, node, turn, None)

    def _look(self, frame: Frame, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Note where a loop looks for the name of a new file."""
        look = looks_for_a_name(node)
        if look is not None:
            frame.looks.add(look)

    def _come_round(self, frame: Frame, node: ast.While, first: Value) -> None:
        """Leave the loop where what a turn has made of its test depends on the rank."""
        with frame.capture():
            again = self.truth(self.evaluate(frame, node.test))
        if isinstance(again, Const) and again.rank is not None and again != first:

            def leave() -> Outcome:
                return Outcome(self._leave(frame, node, "break"), NONE)

            self.decide(frame, again, node.test, lambda: Outcome(NEXT, NONE), leave)

    def _repeat(
        self,
        frame: Frame,
        node: ast.For | ast.AsyncFor | ast.While,
        turn: Callable[[], str],
        iterable: Value | None,
    ) -> str:
        before, facts = dict(frame.variables), dict(frame.facts)
        with frame.capture() as items:
            status = turn()
        frame.facts = facts
        for name, value in before.items():
            frame.variables.setdefault(name, value)
        body = Trace(items)
        if body.matters or body.returns:
            site = Site(frame.module, node)
            loop = Loop(site, body, iterable is None, tuple(frame.guards))
            frame.trace.append(loop)
            if iterable is not None and not isinstance(node, ast.While):
                self.turn_apart(frame, loop, iterable, node.iter)
        if status == RAISE and forever(node):
            return RAISE
        if node.orelse:
            return self.execute(frame, node.orelse)
        return NEXT

    def _widen(self, frame: Frame, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Forget what the loop changes: a turn does not know what the turn before left."""
        for name in _stored_in(node):
            known = frame.variables.get(name)
            if known is not None:
                frame.variables[name] = Symbol(
                    self.keys.number("loop", Site(frame.module, node).key, name),
                    rank=known.rank,
                    divergent=known.divergent,
                )

    def _With(self, frame: Frame, node: ast.With | ast.AsyncWith) -> str:
        forgives = any(_suppresses(item.context_expr) for item in node.items)
        frame.forgiving += forgives
        status = self._enter(frame, node, 0)
        frame.forgiving -= forgives
        return status

    _AsyncWith = _With

    def _enter(self, frame: Frame, node: ast.With | ast.AsyncWith, index: int) -> str:
        if index == len(node.items):
            return self.execute(frame, node.body)
        item = node.items[index]
        context = item.context_expr
        site = Site(frame.module, context)
        with frame.capture() as entered:
            value = self.evaluate(frame, context)
        guard = self._context_guard(value)
        if guard is not None:
            test = self.enters(guard, site, "context")
            if guard.synchronises and test is not None:
                frame.trace.append(self.synchronisation(frame, guard, site))
            self._bind_context(frame, item, value)
            if test is None and guard.synchronises:
                return self._enter_in_turn(frame, node, index, guard, site)
            if test is None:
                with self.within({APART: TRUE}):
                    return self._enter(frame, node, index + 1)
            frame.scopes |= test.rank.scopes
            if not test.taken:
                return NEXT
            with frame.guarded(test), self.within(self.silenced(guard)):
                return self._enter(frame, node, index + 1)
        self._bind_context(frame, item, value)
        context_trace = Trace(entered)
        if context_trace.yields:
            with frame.capture() as body, self.within(settings_of(context_trace)):
                status = self._enter(frame, node, index + 1)
            parts = split_yield(context_trace)
            if parts is None:
                frame.trace.extend(replace_yield(context_trace, Trace(body)))
            else:
                frame.trace.extend((*parts[0], *before_exits(Trace(body), parts[1])))
            return status
        frame.trace.extend(entered)
        if isinstance(value, Instance):
            return self._enter_object(frame, node, index, value, site)
        return self._enter(frame, node, index + 1)

    def _enter_in_turn(
        self, frame: Frame, node: ast.With | ast.AsyncWith, index: int, guard: Guard, site: Site
    ) -> str:
        """Let the first rank run the body while the others wait for it to be done."""
        first = self.ranks.number(guard.scope) == 0
        block = Site(frame.module, node.body[0])
        test = Test(block, "context", first, Rank(frozenset({guard.scope})))
        with frame.guarded(test):
            wait = self.synchronisation(frame, guard, site)
        if not first:
            frame.trace.append(wait)
            return self._enter(frame, node, index + 1)
        with frame.capture() as body:
            status = self._enter(frame, node, index + 1)
        frame.trace.extend(before_exits(Trace(body), Trace([wait])))
        return status

    def _enter_object(
        self,
        frame: Frame,
        node: ast.With | ast.AsyncWith,
        index: int,
        value: Instance,
        site: Site,
    ) -> str:
        """Run ``__enter__``, the body and ``__exit__`` of a project's context manager."""
        names = ("__enter__", "__exit__")
        if isinstance(node, ast.AsyncWith):
            names = ("__aenter__", "__aexit__")
        enter, leave = (self.instance_member(frame, value, name, site) for name in names)
        settings: Settings = {}
        if isinstance(enter, FunctionValue):
            self.call(frame, enter, Arguments(), site)
            settings = self.run(enter, Arguments()).settings
        with frame.capture() as body, self.within(settings):
            status = self._enter(frame, node, index + 1)
        with frame.capture() as after:
            if isinstance(leave, FunctionValue):
                self.call(frame, leave, Arguments((NONE, NONE, NONE)), site)
        frame.trace.extend(before_exits(Trace(body), Trace(after)))
        return status

    def _context_guard(self, value: Value) -> Guard | None:
        if isinstance(value, GuardMaker) and value.guard.form == "context":
            return value.guard
        guard = self.guard_of(value)
        return guard if guard is not None and guard.form == "context" else None

    def _bind_context(self, frame: Frame, item: ast.withitem, value: Value) -> None:
        if item.optional_vars is not None:
            bound = (
                value
                if isinstance(value, Instance | Object)
                else self.unknown("context", frame, item.context_expr, self.keys.of(value))
            )
            self.assign(frame, item.optional_vars, bound)

    def _Try(self, frame: Frame, node: ast.Try) -> str:
        """An exception is taken to be raised on every rank or on none."""
        before = dict(frame.variables)
        facts = dict(frame.facts)
        catches = bool(node.handlers)
        with frame.capture() as body:
            forgives = _forgives(node)
            frame.catching += catches
            frame.forgiving += forgives
            status = self.execute(frame, node.body)
            frame.catching -= catches
            frame.forgiving -= forgives
            items = without_failures(Trace(body)) if catches else Trace(body)
        if status == NEXT and node.orelse:
            with frame.capture() as orelse:
                status = self.execute(frame, node.orelse)
            items = Trace((*items, *orelse))
        for handler in node.handlers:
            items, status = self._handle(frame, handler, items, status, before, facts)
        if node.finalbody:
            with frame.capture() as last:
                final = self.execute(frame, node.finalbody)
            items = before_exits(items, Trace(last))
            if final != NEXT:
                status = final
        frame.trace.extend(items)
        return status

    _TryStar = _Try

    def _handle(
        self,
        frame: Frame,
        handler: ast.ExceptHandler,
        items: Trace,
        status: str,
        before: dict[str, Value],
        facts: dict[int, bool],
    ) -> tuple[Trace, str]:
        key = self.keys.number("exception", Site(frame.module, handler).key)
        mark = self._raised(frame, handler)
        after, after_facts = frame.variables, frame.facts
        frame.variables, frame.facts = dict(before), {**facts, key: True}
        if handler.name:
            frame.variables[handler.name] = self.unknown("error", frame, handler)
        with frame.capture() as handled:
            ended = self.execute(frame, handler.body)
        if ended == RAISE:
            frame.variables, frame.facts = after, after_facts
            return items, status
        if status == RAISE:
            frame.facts = facts
            return Trace(handled), ended
        caught = Trace(handled)
        self.keys.divergent[key] = mark
        if caught or items:
            items = Trace([Branch(key, caught, items, Site(frame.module, handler))])
        if ended == NEXT and status == NEXT:
            frame.variables = self.joined(key, frame.variables, after)
            frame.facts = facts
            return items, NEXT
        if status == NEXT:
            frame.variables, frame.facts = after, after_facts
            return items, NEXT
        frame.facts = facts
        return items, ended

    def _raised(self, frame: Frame, handler: ast.ExceptHandler) -> Divergent:
        """Return why one rank may get into a handler alone: what the facts say of what it
        catches."""
        caught = self.evaluate(frame, handler.type)
        kinds = caught.items if isinstance(caught, Items) else (caught,)
        names = [
            self.knowledge.canonical(kind.name) for kind in kinds if isinstance(kind, External)
        ]
        known = (self.knowledge.divergent.get(name) for name in names)
        return next((self.differs(source) for source in known if source is not None), _RAISED)


def _forgives(node: ast.Try) -> bool:
    """Say whether a block goes on where a file is gone, or there already: it says so, or catches
    everything of one statement."""
    names = _OF_FILES | _OF_ALL if len(node.body) == 1 else _OF_FILES
    return any(
        not isinstance(handler.body[-1], ast.Raise)
        and (_named(handler.type, names) if handler.type is not None else len(node.body) == 1)
        for handler in node.handlers
    )


def _suppresses(context: ast.expr) -> bool:
    """Say whether a context suppresses what comes of a file that is gone, or there already."""
    return (
        isinstance(context, ast.Call)
        and last_name(context.func) == "suppress"
        and any(_named(each, _OF_FILES) for each in context.args)
    )


def _named(node: ast.expr, names: Collection[str]) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(last_name(part) in names for part in parts)


@cache
def _stored_in(node: ast.AST) -> frozenset[str]:
    """Names and dotted names that a loop assigns."""
    found = set(stored_names(node))
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            path = dotted(child)
            if path is not None:
                found.add(path)
    return frozenset(found)
