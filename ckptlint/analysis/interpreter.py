"""Executing functions on one rank class: from syntax to a trace of collectives.

One :class:`Interpreter` stands for one rank class. Running a function gives its trace, its value
and how it ended; results are remembered by function and arguments, so a helper that is called a
hundred times is executed once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache

from ckptlint.analysis.calls import Caller
from ckptlint.analysis.expressions import Arguments
from ckptlint.analysis.frame import EXIT, NEXT, RAISE, Frame, Outcome, Result
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import (
    EMPTY,
    Branch,
    Exit,
    Item,
    Loop,
    Scope,
    Test,
    Trace,
    Yield,
    before_exits,
    replace_yield,
)
from ckptlint.analysis.values import (
    NONE,
    TRUE,
    Const,
    FunctionValue,
    GuardMaker,
    Instance,
    Items,
    Object,
    Rank,
    Site,
    Symbol,
    Value,
    blank,
    marked,
    merge_ranks,
)
from ckptlint.analysis.world import Digest, World
from ckptlint.facts import Guard, Hook
from ckptlint.project import (
    Function,
    FunctionNode,
    Module,
    dotted,
    imported_names,
    stored_names,
)

_DEPTH = 20
_STEPS = 400_000
_NOTHING = Result(EMPTY, NONE, NEXT, frozenset(), {})

Block = Sequence[ast.stmt]


class TooComplexError(Exception):
    """A function needs more steps than the analysis allows itself."""


class Interpreter(Caller):
    """Executes the project's functions as the ranks of one class would."""

    def __init__(self, world: World, ranks: RankClass) -> None:
        super().__init__(world, ranks)
        self._results: dict[object, Result] = {}
        self._stack: list[Function] = []
        self._globals: dict[Module, dict[str, Value]] = {}
        self._modules: dict[Module, Result] = {}
        self._written_by: dict[Function, dict[str, Value]] = {}
        self.nested: dict[FunctionNode, tuple[Function, Value]] = {}
        self.steps = 0

    # -- entry points --------------------------------------------------------------------------

    def run_entry(self, value: Value, hook: Hook | None, site: Site) -> Result:
        """Execute a function with unknown arguments, as its decorators and its hook have it."""
        frame = Frame(site.module, None)
        arguments = Arguments(complete=False)
        if hook is not None and hook.ranks == "first":
            test = Test(
                site, "hook", self.ranks.global_rank == 0, Rank(frozenset({"global"})), hook
            )
            frame.scopes |= test.rank.scopes
            if test.taken:
                with frame.guarded(test):
                    self.call(frame, value, arguments, site)
        else:
            self.call(frame, value, arguments, site)
        status = RAISE if frame.stopped else NEXT
        return Result(Trace(frame.trace), NONE, status, frozenset(frame.scopes), {})

    def run_module(self, module: Module) -> Result:
        """Execute a file as the main program."""
        found = self._modules.get(module)
        if found is None:
            frame = Frame(module, None)
            frame.variables["__name__"] = Const("__main__")
            status = self._guard_depth(frame, module.tree.body)
            found = self._modules[module] = self._result_of(frame, status)
        return found

    def module_variables(self, module: Module) -> dict[str, Value]:
        """Execute a module's top level once, as an import would; return its variables."""
        found = self._globals.get(module)
        if found is None:
            frame = Frame(module, None)
            self._globals[module] = frame.variables
            frame.variables["__name__"] = Const(module.source.path.stem)
            self._guard_depth(frame, module.tree.body)
            found = self._globals[module] = frame.variables
        return found

    def _guard_depth(self, frame: Frame, body: Block) -> str:
        if len(self._stack) > _DEPTH:
            return NEXT
        return self.execute(frame, body)

    def written(self, method: Function, instance: Instance) -> dict[str, Value]:
        """Execute a method with unknown arguments; return the attributes of self it sets."""
        found = self._written_by.get(method)
        if found is None:
            self._written_by[method] = {}
            bare = Instance(instance.definition)
            result = self.run(FunctionValue(method, None, bare), Arguments(complete=False))
            found = self._written_by[method] = result.attributes
        return found

    def run(self, value: FunctionValue, arguments: Arguments) -> Result:
        """Execute a function of the project; results are remembered."""
        key = (value, arguments.positional, arguments.keywords, arguments.complete)
        found = self._results.get(key)
        if found is not None:
            return found
        if value.function in self._stack or len(self._stack) > _DEPTH:
            return _NOTHING
        self._stack.append(value.function)
        try:
            result = self._run(value, arguments)
        finally:
            self._stack.pop()
        self._results[key] = result
        return result

    def _run(self, value: FunctionValue, arguments: Arguments) -> Result:
        function = value.function
        bound = value.bound
        frame = Frame(function.module, function, value.closure, bound)
        self._bind_parameters(frame, function, bound, arguments)
        if frame.bound is None and function.owner is not None:
            parameters = function.node.args
            first = [*parameters.posonlyargs, *parameters.args][:1]
            if first and isinstance(frame.variables.get(first[0].arg), Instance):
                frame.bound = frame.variables[first[0].arg]
        if isinstance(function.node, ast.Lambda):
            result = self.evaluate(frame, function.node.body)
            frame.returns.append(({}, result))
            return self._result_of(frame, NEXT)
        return self._result_of(frame, self.execute(frame, function.node.body))

    def _result_of(self, frame: Frame, status: str) -> Result:
        if status == NEXT and frame.function is not None:
            if not isinstance(frame.function.node, ast.Lambda):
                frame.returns.append((frame.facts, NONE))
        attributes: dict[str, Value] = {}
        if frame.function is not None and frame.function.owner is not None:
            parameters = frame.function.node.args
            first = [*parameters.posonlyargs, *parameters.args][:1]
            if first:
                prefix = f"{first[0].arg}."
                attributes = {
                    name.removeprefix(prefix): value
                    for name, value in frame.variables.items()
                    if name.startswith(prefix) and "." not in name[len(prefix) :]
                }
        return Result(
            Trace(frame.trace),
            self._returned(frame),
            RAISE if status == RAISE else NEXT,
            frozenset(frame.scopes),
            attributes,
        )

    def _returned(self, frame: Frame) -> Value:
        """Combine the values of all ``return`` statements under their conditions."""
        if not frame.returns:
            return NONE
        result = frame.returns[-1][1]
        for facts, value in reversed(frame.returns[:-1]):
            if value == result:
                continue
            if not facts or len(facts) > 4:
                mark = merge_ranks(value.rank, result.rank)
                result = Symbol(
                    self.keys.number("returned", self.keys.of(value), self.keys.of(result)),
                    rank=mark,
                )
                continue
            combined = value
            for key, truth in reversed(facts.items()):
                combined = self.keys.choose(key, *((combined, result) if truth else (result, combined)))
            result = combined
        return result

    def _bind_parameters(
        self, frame: Frame, function: Function, bound: Value | None, arguments: Arguments
    ) -> None:
        parameters = function.node.args
        named = [*parameters.posonlyargs, *parameters.args]
        values = list(arguments.positional)
        if bound is not None and named:
            values.insert(0, bound)
        elif function.owner is not None and named and not values and not arguments.complete:
            if not function.decorated_by("staticmethod"):
                values.insert(0, Instance(function.owner))
        keywords = dict(arguments.keywords)
        defaults = dict(
            zip([p.arg for p in named[len(named) - len(parameters.defaults) :]],
                parameters.defaults, strict=True)
        )
        for parameter, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
            if default is not None:
                defaults[parameter.arg] = default
        hook = self.hook_of(function) if not arguments.complete else None
        for index, parameter in enumerate([*named, *parameters.kwonlyargs]):
            value: Value | None = None
            if index < len(named) and index < len(values):
                value = values[index]
            elif parameter.arg in keywords:
                value = keywords[parameter.arg]
            elif parameter.arg in defaults and arguments.complete:
                value = self.evaluate(Frame(function.module, None), defaults[parameter.arg])
            elif hook is not None and 0 < index <= len(hook.parameters):
                kind = hook.parameters[index - 1]
                value = Object(self.knowledge.canonical(kind)) if kind else None
            frame.variables[parameter.arg] = self._parameter(frame, function, parameter, value)
        if parameters.vararg is not None:
            rest = values[len(named) :]
            frame.variables[parameters.vararg.arg] = (
                Items(tuple(rest))
                if arguments.complete
                else self.unknown("rest", frame, function.node)
            )
        if parameters.kwarg is not None:
            frame.variables[parameters.kwarg.arg] = self.unknown("keywords", frame, function.node)

    def _parameter(
        self, frame: Frame, function: Function, parameter: ast.arg, value: Value | None
    ) -> Value:
        if value is not None and not (isinstance(value, Symbol) and value.rank is None):
            return value
        if parameter.annotation is not None:
            typed = self.annotated(function.module, parameter.annotation)
            if typed is not None:
                return typed
        if value is None:
            value = Symbol(
                self.keys.number("parameter", function.node, parameter.arg), origin="name"
            )
        assert isinstance(value, Symbol)
        return value if value.each else self.by_convention(function.module, parameter.arg, value)

    def hook_of(self, function: Function) -> Hook | None:
        """Return the framework's hook that a method overrides."""
        if function.owner is None:
            return None
        return self.knowledge.hook(self.external_bases(function.owner), function.name)

    # -- statements ----------------------------------------------------------------------------

    def execute(self, frame: Frame, body: Block) -> str:
        """Execute statements in order until one leaves; return how the block ended."""
        for statement in body:
            self.steps += 1
            if self.steps > _STEPS:
                raise TooComplexError
            digest = self.world.digest(frame.module, statement)
            if digest.dull and self._unknown_only(frame, digest):
                self._skip(frame, statement, digest)
                continue
            method = getattr(self, f"_{type(statement).__name__}", None)
            status = method(frame, statement) if method is not None else NEXT
            if frame.stopped:
                frame.stopped = False
                return RAISE
            if status != NEXT:
                return str(status)
        return NEXT

    def _unknown_only(self, frame: Frame, digest: Digest) -> bool:
        """Say whether a dull statement reads nothing that is known."""
        for name in digest.loads:
            value = frame.variables.get(name)
            if value is None and frame.closure is not None:
                value = frame.closure.get(name)
            if value is None and name in frame.module.assigned and frame.function is not None:
                value = self.module_variables(frame.module).get(name)
            if value is not None and not blank(value):
                return False
        return True

    def _skip(self, frame: Frame, statement: ast.stmt, digest: Digest) -> None:
        """Give what a dull statement assigns new unknowns."""
        guarded = merge_ranks(*(test.rank for test in frame.guards))
        mark = Rank(guarded.scopes, guarded.certain, False) if guarded is not None else None
        for name in digest.stores:
            key = self.keys.number("computed", Site(frame.module, statement).key, name)
            frame.variables[name] = Symbol(key, rank=mark)

    def _Expr(self, frame: Frame, node: ast.Expr) -> str:
        if isinstance(node.value, ast.Yield | ast.YieldFrom):
            self._yield(frame, node.value)
        elif not isinstance(node.value, ast.Constant):
            self.evaluate(frame, node.value)
        return NEXT

    def _yield(self, frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
        if node.value is not None:
            self.evaluate(frame, node.value)
        frame.trace.append(Yield())
        return self.unknown("sent", frame, node)

    def _Yield(self, frame: Frame, node: ast.Yield) -> Value:
        return self._yield(frame, node)

    def _YieldFrom(self, frame: Frame, node: ast.YieldFrom) -> Value:
        return self._yield(frame, node)

    def _Assign(self, frame: Frame, node: ast.Assign) -> str:
        value = self.evaluate(frame, node.value)
        for target in node.targets:
            self.assign(frame, target, self.conventional(frame, target, value))
        return NEXT

    def _AnnAssign(self, frame: Frame, node: ast.AnnAssign) -> str:
        if node.value is None:
            return NEXT
        value = self.evaluate(frame, node.value)
        if isinstance(value, Symbol) and value.rank is None:
            value = self.annotated(frame.module, node.annotation) or value
        self.assign(frame, node.target, self.conventional(frame, node.target, value))
        return NEXT

    def _AugAssign(self, frame: Frame, node: ast.AugAssign) -> str:
        left = self.evaluate(frame, _loaded(node.target))
        value = self._binary(node.op, left, self.evaluate(frame, node.value))
        self.assign(frame, node.target, value)
        return NEXT

    def _Delete(self, frame: Frame, node: ast.Delete) -> str:
        for target in node.targets:
            if isinstance(target, ast.Name):
                frame.variables.pop(target.id, None)
        return NEXT

    def _Return(self, frame: Frame, node: ast.Return) -> str:
        value = self.evaluate(frame, node.value)
        if frame.stopped:
            return RAISE
        mark = merge_ranks(*(test.rank for test in frame.guards))
        if mark is not None and isinstance(value, Symbol) and value.rank is None:
            mark = Rank(mark.scopes, mark.certain, False)
        frame.returns.append((dict(frame.facts), marked(value, mark)))
        return self._leave(frame, node, "return")

    def _leave(self, frame: Frame, node: ast.stmt, kind: str) -> str:
        frame.trace.append(
            Exit(kind, Site(frame.module, node), tuple(frame.guards))  # type: ignore[arg-type]
        )
        return EXIT

    def _Break(self, frame: Frame, node: ast.Break) -> str:
        return self._leave(frame, node, "break")

    def _Continue(self, frame: Frame, node: ast.Continue) -> str:
        return self._leave(frame, node, "continue")

    def _Raise(self, frame: Frame, node: ast.Raise) -> str:
        return RAISE

    def _Assert(self, frame: Frame, node: ast.Assert) -> str:
        self.evaluate(frame, node.test)
        return NEXT

    def _FunctionDef(self, frame: Frame, node: FunctionNode) -> str:
        outer = frame.function
        name = f"{outer.qualname}.<locals>.{node.name}" if outer else node.name
        if outer is None and frame.closure is None:
            function = frame.module.symbols.get(node.name)
            if isinstance(function, Function) and function.node is node:
                return NEXT  # a global, decorated where it is looked up
        inner = Function(frame.module, node, name, None)
        closure = frame.scope()
        value = self.decorated(inner, None, closure)
        frame.variables[node.name] = value
        if self.world.gives(frame.module, node):
            self.nested[node] = (inner, value)
        return NEXT

    _AsyncFunctionDef = _FunctionDef

    def _Import(self, frame: Frame, node: ast.Import | ast.ImportFrom) -> str:
        if frame.function is None:
            return NEXT  # looked up in the module's symbols
        for name, target in imported_names(node):
            if name != "*":
                frame.variables[name] = self.imported(frame.module, target)
        return NEXT

    _ImportFrom = _Import

    def _If(self, frame: Frame, node: ast.If) -> str:
        test = self.evaluate(frame, node.test)
        if frame.stopped:
            return RAISE
        return self._choose(frame, test, node.test, node.body, node.orelse)

    def _choose(
        self, frame: Frame, test: Value, node: ast.AST, body: Block, orelse: Block
    ) -> str:
        def arm(block: Block) -> Callable[[], Outcome]:
            return lambda: Outcome(self.execute(frame, block), NONE)

        return self.decide(frame, test, node, arm(body), arm(orelse)).status

    def _Match(self, frame: Frame, node: ast.Match) -> str:
        subject = self.evaluate(frame, node.subject)
        return self._cases(frame, node, subject, 0)

    def _cases(self, frame: Frame, node: ast.Match, subject: Value, index: int) -> str:
        if index == len(node.cases):
            return NEXT
        case = node.cases[index]
        test = self._pattern(frame, case.pattern, subject)

        def matched() -> Outcome:
            if case.guard is None:
                return Outcome(self.execute(frame, case.body), NONE)
            guard = self.evaluate(frame, case.guard)
            return self.decide(
                frame,
                guard,
                case.guard,
                lambda: Outcome(self.execute(frame, case.body), NONE),
                lambda: Outcome(self._cases(frame, node, subject, index + 1), NONE),
            )

        return self.decide(
            frame,
            test,
            case.pattern,
            matched,
            lambda: Outcome(self._cases(frame, node, subject, index + 1), NONE),
        ).status

    def _pattern(self, frame: Frame, pattern: ast.pattern, subject: Value) -> Value:
        if isinstance(pattern, ast.MatchValue):
            return self.compare(ast.Eq, subject, self.evaluate(frame, pattern.value))
        if isinstance(pattern, ast.MatchSingleton):
            return self.compare(ast.Is, subject, Const(pattern.value))
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None:
                frame.variables[pattern.name] = subject
            return TRUE
        if isinstance(pattern, ast.MatchOr):
            options = [self._pattern(frame, option, subject) for option in pattern.patterns]
            known = [option for option in options if isinstance(option, Const)]
            if len(known) == len(options):
                mark = merge_ranks(*(option.rank for option in known))
                return Const(any(option.value for option in known), rank=mark)
        for name in stored_names(pattern):
            frame.variables[name] = self.unknown("matched", frame, pattern, name)
        return self.unknown("pattern", frame, pattern)

    # -- loops ---------------------------------------------------------------------------------

    def _For(self, frame: Frame, node: ast.For | ast.AsyncFor) -> str:
        iterable = self.evaluate(frame, node.iter)
        self._widen(frame, node)
        item = self.item_of(frame, node, iterable)
        self.assign(frame, node.target, item)
        return self._repeat(frame, node, lambda: self.execute(frame, node.body), False)

    _AsyncFor = _For

    def _While(self, frame: Frame, node: ast.While) -> str:
        self._widen(frame, node)
        with frame.capture() as tested:
            test = self.truth(self.evaluate(frame, node.test))
        frame.trace.extend(tested)

        def turn() -> str:
            def body() -> Outcome:
                status = self.execute(frame, node.body)
                if status == NEXT:
                    frame.trace.extend(tested)
                return Outcome(status, NONE)

            leave = Outcome(NEXT, NONE)
            return self.decide(frame, test, node.test, body, lambda: leave).status

        return self._repeat(frame, node, turn, True)

    def _repeat(
        self,
        frame: Frame,
        node: ast.For | ast.AsyncFor | ast.While,
        turn: Callable[[], str],
        endless: bool,
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
            frame.trace.append(Loop(site, body, endless, tuple(frame.guards)))
        if status == RAISE and isinstance(node, ast.While) and _always(node.test):
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
                    self.keys.number("loop", Site(frame.module, node).key, name), rank=known.rank
                )

    # -- with and try --------------------------------------------------------------------------

    def _With(self, frame: Frame, node: ast.With | ast.AsyncWith) -> str:
        return self._enter(frame, node, 0)

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
            if guard.synchronises:
                frame.trace.append(self.synchronisation(frame, guard, site))
            self._bind_context(frame, item, value)
            if test is None:
                return self._enter(frame, node, index + 1)
            frame.scopes |= test.rank.scopes
            if not test.taken:
                return NEXT
            with frame.guarded(test):
                return self._enter(frame, node, index + 1)
        self._bind_context(frame, item, value)
        if _yields(entered):
            with frame.capture() as body:
                status = self._enter(frame, node, index + 1)
            frame.trace.extend(replace_yield(Trace(entered), Trace(body)))
            return status
        frame.trace.extend(entered)
        if isinstance(value, Instance):
            return self._enter_object(frame, node, index, value, site)
        return self._enter(frame, node, index + 1)

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
        enter, leave = (self._instance_member(frame, value, name, site) for name in names)
        if isinstance(enter, FunctionValue):
            self.call(frame, enter, Arguments(), site)
        with frame.capture() as body:
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
            bound = value if isinstance(value, Instance | Object) else self.unknown(
                "context", frame, item.context_expr
            )
            self.assign(frame, item.optional_vars, bound)

    def _Try(self, frame: Frame, node: ast.Try) -> str:
        """An exception is taken to be raised on every rank or on none."""
        before = dict(frame.variables)
        facts = dict(frame.facts)
        with frame.capture() as body:
            status = self.execute(frame, node.body)
            if status == NEXT and node.orelse:
                status = self.execute(frame, node.orelse)
        items = Trace(body)
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
        if caught or items:
            items = Trace([Branch(key, caught, items)])
        if ended == NEXT and status == NEXT:
            frame.variables = self._joined(key, frame.variables, after)
            frame.facts = facts
            return items, NEXT
        if status == NEXT:
            frame.variables, frame.facts = after, after_facts
            return items, NEXT
        frame.facts = facts
        return items, ended


def _yields(items: Sequence[Item]) -> bool:
    return any(
        isinstance(item, Yield)
        or (isinstance(item, Branch) and (_yields(item.yes.items) or _yields(item.no.items)))
        or (isinstance(item, Scope | Loop) and _yields(item.body.items))
        for item in items
    )


def _always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


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


def _loaded(target: ast.expr) -> ast.expr:
    """Return the target of an augmented assignment as an expression that is read."""
    match target:
        case ast.Name():
            return ast.copy_location(ast.Name(target.id, ast.Load()), target)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    return target
