"""Calls: what calling a value does on one rank class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from ckptlint.analysis.external import ExternalCaller
from ckptlint.analysis.frame import NEXT, Arguments, Frame, Outcome, Result
from ckptlint.analysis.sequences import (
    Scope,
)
from ckptlint.analysis.values import (
    NONE,
    Choice,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Guarded,
    GuardMaker,
    Instance,
    Many,
    Object,
    Partial,
    Site,
    Symbol,
    Table,
    Value,
)
from ckptlint.project import (
    ClassDefinition,
)


class Caller(ExternalCaller):
    """Executes calls of the project and of frameworks."""

    @abstractmethod
    def run(self, value: FunctionValue, arguments: Arguments) -> Result:
        """Execute a function of the project; results are remembered."""

    def call(self, frame: Frame, callee: Value, arguments: Arguments, site: Site) -> Value:
        """Call a value: emit what it does into the frame's trace, return what it gives."""
        match callee:
            case FunctionValue():
                return self.inline(frame, callee, arguments, site)
            case Guarded():
                return self.call_guarded(frame, callee, arguments, site)
            case GuardMaker():
                inner = arguments.positional[0] if arguments.positional else NONE
                return Guarded(inner, callee.guard, callee.site)
            case Partial():
                merged = Arguments(
                    callee.arguments + arguments.positional,
                    callee.keywords + arguments.keywords,
                    (),
                    arguments.complete,
                )
                return self.call(frame, callee.inner, merged, site)
            case ClassValue():
                return self._construct(frame, callee, arguments, site)
            case External():
                return self.call_external(frame, callee, arguments, site)
            case Object():
                return self.call_object(frame, callee, arguments, site)
            case Instance():
                for name in ("__call__", "forward"):
                    method = self.instance_member(frame, callee, name, site)
                    if isinstance(method, FunctionValue | Guarded):
                        return self.call(frame, method, arguments, site)
            case Choice():
                return self._call_choice(frame, callee, arguments, site)
            case Const():  # a name that conventionally is a predicate, written as a function
                return callee
        return self.result(callee, arguments)

    def result(self, callee: Value, arguments: Arguments) -> Symbol:
        """Make the unknown that an unknown function returns.

        What a method makes of an object that differs between ranks differs too.
        """
        parts = [self.keys.of(value) for value in arguments.positional]
        parts += [self.keys.number(name, self.keys.of(value)) for name, value in arguments.keywords]
        return Symbol(
            self.keys.number("call", self.keys.of(callee), *parts),
            origin="call",
            divergent=callee.divergent,
        )

    def _call_choice(self, frame: Frame, callee: Choice, arguments: Arguments, site: Site) -> Value:
        key = Choice(callee.key, Const(True), Const(False))

        def on(value: Value) -> Outcome:
            return Outcome(NEXT, self.call(frame, value, arguments, site))

        return self.decide(
            frame, key, site.node, lambda: on(callee.yes), lambda: on(callee.no)
        ).value

    def inline(
        self, frame: Frame, callee: FunctionValue, arguments: Arguments, site: Site
    ) -> Value:
        """Splice the body of a project's function into the trace."""
        if not self._worth(callee, arguments):
            turns = any(isinstance(v, Symbol) and v.each for v in arguments.positional)
            return replace(self.result(callee, arguments), each=turns)
        result = self.run(callee, arguments)
        frame.scopes |= result.scopes
        if result.trace.matters:
            frame.trace.append(
                Scope(
                    site,
                    callee.function,
                    result.trace,
                    tuple(frame.guards),
                    self.handed(frame, site),
                )
            )
        if result.status == "raise":
            frame.stopped = True
        if isinstance(result.value, Symbol) and result.value.rank is None:
            return replace(result.value, origin="call")
        return result.value

    def _worth(self, callee: FunctionValue, arguments: Arguments) -> bool:
        """Say whether executing a function may tell more than that it was called."""
        function = callee.function
        members = self.world.mentions(function.node).attributes if function.owner else frozenset()
        return (
            self.world.interesting(function.module, function.node)
            or self.world.differs(function.module, function.node)
            or any(function in each for each in self.world.setters(function.module).values())
            or self.world.writes(function.module, function.node)
            or not self.knowledge.members.isdisjoint(members)
            or not self._held(callee.bound).isdisjoint(members)
            or any(map(self._telling, arguments.positional))
            or any(self._telling(value) for _, value in arguments.keywords)
            or any(map(self._telling, self._seen_outside(callee)))
        )

    def _seen_outside(self, callee: FunctionValue) -> Iterator[Value]:
        """Yield what a nested function reads of the variables around it."""
        if callee.closure is not None:
            for name in self.world.mentions(callee.function.node).names:
                value = callee.closure.get(name)
                if value is not None:
                    yield value

    def _held(self, bound: Value | None) -> frozenset[str]:
        """Return the attributes of an object that may hold something known."""
        if not isinstance(bound, Instance):
            return frozenset()
        given = frozenset(name for name, _ in bound.attributes)
        return given.union(*map(self.world.holding, self.bases(bound.definition)))

    @staticmethod
    def _telling(value: Value) -> bool:
        return (
            value.rank is not None
            or value.divergent is not None
            or isinstance(value, Object | Instance | FunctionValue | Guarded | Many | Table)
        )

    def _construct(
        self, frame: Frame, callee: ClassValue, arguments: Arguments, site: Site
    ) -> Value:
        plain = Instance(callee.definition, exact=True)
        for definition in self.bases(callee.definition):
            method = definition.methods.get("__init__")
            if method is None:
                continue
            function = FunctionValue(method, None, plain)
            if not self._worth(function, arguments):
                break
            result = self.run(function, arguments)
            frame.scopes |= result.scopes
            if result.trace.matters:
                frame.trace.append(Scope(site, method, result.trace, tuple(frame.guards)))
            known = tuple(
                (name, value)
                for name, value in sorted(result.attributes.items())
                if self._telling(value) or isinstance(value, Choice)
            )
            return replace(plain, attributes=known)
        else:
            fields = self._dataclass_fields(callee.definition, arguments)
            return replace(plain, attributes=fields)
        return plain

    def _dataclass_fields(
        self, definition: ClassDefinition, arguments: Arguments
    ) -> tuple[tuple[str, Value], ...]:
        """Bind the arguments of a dataclass to its fields."""
        names = [name for name, (annotation, _) in definition.fields.items() if annotation]
        pairs = [*zip(names, arguments.positional, strict=False), *arguments.keywords]
        return tuple((name, value) for name, value in pairs if self._telling(value))
