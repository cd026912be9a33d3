"""Executing functions on one rank class: from syntax to a trace of collectives.

One :class:`Interpreter` stands for one rank class in one project. Running a function gives its
trace, its value and how it ended; results are remembered by function and arguments, so a helper
that is called from a hundred files is executed once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from ckptlint.analysis.blocks import Blocks
from ckptlint.analysis.frame import NEXT, RAISE, Arguments, Frame, Result
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import (
    EMPTY,
    Test,
    Trace,
)
from ckptlint.analysis.values import (
    NONE,
    Const,
    FunctionValue,
    Instance,
    Items,
    Object,
    Rank,
    Settings,
    Site,
    Symbol,
    Value,
    blank,
    merge_divergent,
    merge_ranks,
)
from ckptlint.analysis.world import World
from ckptlint.facts import Hook
from ckptlint.project import (
    ClassDefinition,
    Function,
    FunctionNode,
    Module,
)

Contents = dict[Function, Mapping[str, Value]]
_NOTHING = Result(EMPTY, NONE, NEXT, frozenset(), {})


class Interpreter(Blocks):
    """Executes the project's functions as the ranks of one class would."""

    def __init__(self, world: World, ranks: RankClass, keys: Keys, common: Common) -> None:
        super().__init__(world, ranks, keys, common)
        self._frames: dict[Module, Frame] = {}  # of the files whose variables are being found out

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
        return self.memory.apart(
            ("program", module), lambda: self._run_main(module), lambda: _NOTHING
        )

    def _run_main(self, module: Module) -> Result:
        frame = Frame(module, None, shared=set(self.world.setters(module)))
        frame.variables["__name__"] = Const("__main__")
        with self._counting():
            return self._result_of(frame, self.execute(frame, module.tree.body))

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Count the steps of one function or file, whatever it calls."""
        outer, self._steps = self._steps, 0
        try:
            yield
        finally:
            self._steps = outer

    def module_variables(self, module: Module) -> Mapping[str, Value]:
        """Execute a module's top level once, as an import would; return its variables."""

        def so_far() -> Mapping[str, Value]:
            return self._frames[module].variables if module in self._frames else {}

        return self.memory.apart(
            ("variables", module),
            partial(self.apart_from_settings, lambda: self._find_variables(module)),
            so_far,
        )

    def _find_variables(self, module: Module) -> Mapping[str, Value]:
        frame = Frame(module, None, shared=set(self.world.setters(module)))
        frame.variables["__name__"] = Const(module.source.path.stem)
        outer, self._frames = self._frames, {**self._frames, module: frame}
        try:
            with self._counting():
                self.execute(frame, module.tree.body)
        finally:
            self._frames = outer
        return frame.variables

    def written(self, method: Function, instance: Instance) -> Mapping[str, Value]:
        """Return the attributes of self that a method sets, whatever its arguments."""
        definition = instance.definition
        contents: Contents = self.memory.round(
            ("contents", definition),
            partial(self.apart_from_settings, lambda: self._find_contents(definition)),
            {},
        )
        return contents.get(method, {})

    def _find_contents(self, definition: ClassDefinition) -> Contents:
        """Execute the methods that give the attributes of a class something known."""
        bare = Instance(definition, exact=True)
        methods = dict.fromkeys(
            method
            for each in reversed(list(self.bases(definition)))
            for writers in self.world.writers(each).values()
            for method in writers.methods
        )
        return {
            method: self.run(
                FunctionValue(method, None, bare), Arguments(complete=False)
            ).attributes
            for method in methods
        }

    def given(self, setter: Function) -> Settings:
        """Return what a function puts into variables of its module."""
        node = setter.node
        if not (self.world.tests(setter.module, node) or self.world.gives(setter.module, node)):
            return {}
        bound = Instance(setter.owner, exact=True) if setter.owner is not None else None
        value = FunctionValue(setter, None, bound)
        settings: Settings = self.memory.round(
            ("given", setter),
            partial(
                self.apart_from_settings,
                lambda: self.run(value, Arguments(complete=False)).settings,
            ),
            {},
        )
        return settings

    def run(self, value: FunctionValue, arguments: Arguments) -> Result:
        """Execute a function of the project; results are remembered."""
        settings = frozenset(self.settings.items())
        key = (value, arguments.positional, arguments.keywords, arguments.complete, settings)
        return self.memory.call(key, value.function, lambda: self._run(value, arguments), _NOTHING)

    def _run(self, value: FunctionValue, arguments: Arguments) -> Result:
        with self._counting():
            return self._run_alone(value, arguments)

    def _run_alone(self, value: FunctionValue, arguments: Arguments) -> Result:
        function = value.function
        bound = value.bound
        self.world.project.read(function.module, function.node)
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
        node = frame.function.node if frame.function is not None else None
        if status == NEXT and isinstance(node, FunctionNode):
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
            RAISE if status == RAISE and _fails(frame) else NEXT,
            frozenset(frame.scopes),
            attributes,
            frame.settings,
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
                result = Symbol(
                    self.keys.number("returned", self.keys.of(value), self.keys.of(result)),
                    rank=merge_ranks(value.rank, result.rank),
                    divergent=merge_divergent(
                        self.keys.disagreement(value), self.keys.disagreement(result)
                    ),
                )
                continue
            combined = value
            for key, truth in reversed(facts.items()):
                arms = (combined, result) if truth else (result, combined)
                combined = self.keys.choose(key, *arms)
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
        elif (
            function.owner is not None
            and named
            and not (values or arguments.complete or function.decorated_by("staticmethod"))
        ):
            values.insert(0, Instance(function.owner))
        keywords = dict(arguments.keywords)
        defaults = dict(
            zip(
                [p.arg for p in named[len(named) - len(parameters.defaults) :]],
                parameters.defaults,
                strict=True,
            )
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
        if value is not None and not (isinstance(value, Symbol) and blank(value)):
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


def _fails(frame: Frame) -> bool:
    """Say whether a function whose last path ended in an exception never returns.

    A check that fails because of what the analysis takes a constant to be is not believed: the
    function must end in an exception whatever is tested, or because of the rank.
    """
    if frame.returns:
        return False
    return bool(frame.scopes) or isinstance(frame.failed_at, ast.Raise | ast.Expr)
