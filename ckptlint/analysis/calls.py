"""Calls: what a name leads to, and what calling it does on one rank class."""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Literal

from ckptlint.analysis.expressions import Arguments, Evaluator
from ckptlint.analysis.frame import NEXT, Frame, Outcome, Result
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import Operation, Scope, Test, Trace
from ckptlint.analysis.values import (
    NONE,
    Choice,
    ClassValue,
    Closure,
    Const,
    External,
    FunctionValue,
    Guarded,
    GuardMaker,
    Instance,
    Items,
    ModuleValue,
    Object,
    Partial,
    Rank,
    Site,
    Symbol,
    Value,
    blank,
    marked,
    merge_ranks,
)
from ckptlint.analysis.world import World
from ckptlint.facts import Call, Guard
from ckptlint.project import ClassDefinition, Function, Import, Module

_FOLDED = {"int": int, "str": str, "bool": bool, "float": float, "abs": abs, "len": len}
_WORLD_GROUPS = ("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD")


class Caller(Evaluator):
    """Resolves names and attributes and executes calls."""

    def __init__(self, world: World, ranks: RankClass) -> None:
        super().__init__(world, ranks)
        self._global_values: dict[tuple[Module, str], Value | None] = {}
        self._bases: dict[ClassDefinition, tuple[Value, ...]] = {}

    @abstractmethod
    def run(self, value: FunctionValue, arguments: Arguments) -> Result:
        """Execute a function of the project; results are remembered."""

    @abstractmethod
    def module_variables(self, module: Module) -> dict[str, Value]:
        """Execute a module's top level once and return its variables."""

    @abstractmethod
    def written(self, method: Function, instance: Instance) -> dict[str, Value]:
        """Execute a method with unknown arguments; return the attributes of self it sets."""

    # -- names ---------------------------------------------------------------------------------

    def lookup(self, frame: Frame, name: str) -> Value:
        """Read a name: local, enclosing, global, built in, or by convention."""
        found = frame.variables.get(name)
        if found is None and frame.closure is not None:
            found = frame.closure.get(name)
        if found is None:
            found = self.global_value(frame.module, name)
        if found is not None:
            return found
        if hasattr(builtins, name):
            return External(name)
        symbol = Symbol(
            self.keys.number("name", frame.module.source.display, name), origin="name"
        )
        return self.by_convention(frame.module, name, symbol)

    def global_value(self, module: Module, name: str) -> Value | None:
        """Read a name of a module; None when the module does not bind it."""
        key = (module, name)
        if key in self._global_values:
            return self._global_values[key]
        self._global_values[key] = None  # modules that import each other in a circle end here
        value = self._global_value(module, name)
        if name in module.symbols:
            self._global_values[key] = value
        else:
            del self._global_values[key]
        return value

    def _global_value(self, module: Module, name: str) -> Value | None:
        symbol = module.symbols.get(name)
        if isinstance(symbol, Function):
            return self.decorated(symbol, None)
        if isinstance(symbol, ClassDefinition):
            return ClassValue(symbol)
        if isinstance(symbol, Import):
            return self.imported(module, symbol)
        if name in module.assigned:
            found = self.module_variables(module).get(name)
            if found is not None:
                return found
        for star in module.stars:
            target = module.project.find(module, star.module, star.level)
            if target is not None and target is not module:
                found = self.global_value(target, name)
                if found is not None:
                    return found
            elif self._recorded(f"{star.module}.{name}"):
                return External(f"{star.module}.{name}")
        return None

    def imported(self, module: Module, target: Import) -> Value:
        """Follow an import into the project or out of it."""
        full = f"{target.module}.{target.name}" if target.name else target.module
        if not target.level and self._recorded(full):
            return External(full)
        found = module.project.find(module, target.module, target.level)
        if not target.name:
            return ModuleValue(found) if found is not None else External(full)
        if found is not None and found is not module:
            value = self.global_value(found, target.name)
            if value is not None:
                return value
        inner = ".".join(part for part in (target.module, target.name) if part)
        submodule = module.project.find(module, inner, target.level)
        if submodule is not None:
            return ModuleValue(submodule)
        return External(full)

    def _recorded(self, name: str) -> bool:
        known = self.knowledge
        name = known.canonical(name)
        return any(
            name in table
            for table in (known.calls, known.predicates, known.guards, known.classes, known.returns)
        )

    def by_convention(self, module: Module, name: str, symbol: Symbol) -> Value:
        """Give an unknown what its name conventionally holds in a distributed program."""
        known = self.knowledge
        if module.imports.isdisjoint(known.import_roots):
            return symbol
        predicate = known.conventions.get(name)
        if predicate is not None:
            value = self.ranks.value(predicate)
            if predicate.meaning in ("world", "distributed"):
                return Const(value)
            return Const(value, rank=Rank(frozenset({predicate.scope}), certain=False))
        usual = known.usual(name, module.imports)
        if usual is not None:
            return Object(known.canonical(usual.name), certain=False)
        return symbol

    def conventional(self, frame: Frame, target: ast.expr, value: Value) -> Value:
        """Apply :meth:`by_convention` to the target of an assignment from an unknown call."""
        if isinstance(value, Symbol) and value.origin == "call" and value.rank is None:
            if isinstance(target, ast.Name):
                return self.by_convention(frame.module, target.id, value)
            if isinstance(target, ast.Attribute):
                return self.by_convention(frame.module, target.attr, value)
        return value

    # -- attributes ----------------------------------------------------------------------------

    def attribute(self, frame: Frame, base: Value, name: str, node: ast.expr) -> Value:
        """Read an attribute; a property of the project is executed, one of the facts folded."""
        value = self._member(frame, base, name, Site(frame.module, node))
        if isinstance(value, External) and value.owner is not None:
            record = next(iter(self._records(value.name)), None)
            if record is not None and record.property:
                return self._operate(frame, record, value, Arguments(), Site(frame.module, node))
        return value

    def called_attribute(self, frame: Frame, base: Value, node: ast.Attribute) -> Value:
        """Read an attribute in order to call it."""
        return self._member(frame, base, node.attr, Site(frame.module, node))

    def _member(self, frame: Frame, base: Value, name: str, site: Site) -> Value:
        known = self.knowledge
        match base:
            case Choice():
                yes = self._member(frame, base.yes, name, site)
                no = self._member(frame, base.no, name, site)
                if isinstance(base.no, Const) and base.no.value is None:
                    return yes
                if isinstance(base.yes, Const) and base.yes.value is None:
                    return no
                return yes if yes == no else Choice(base.key, yes, no)
            case ModuleValue():
                found = self.global_value(base.module, name)
                if found is not None:
                    return found
                inner = base.module.project.find(
                    base.module, name, 1
                ) if base.module.source.path.name == "__init__.py" else None
                if inner is not None:
                    return ModuleValue(inner)
            case External(owner=None):
                full = known.canonical(f"{base.name}.{name}")
                predicate = known.predicates.get(full)
                if predicate is not None and predicate.kind == "attribute":
                    return self.folded(frame, predicate, True)
                return External(f"{base.name}.{name}")
            case Object():
                return self._object_member(frame, base, base.name, name)
            case Instance():
                return self._instance_member(frame, base, name, site)
            case ClassValue():
                for definition in self.bases(base.definition):
                    method = definition.methods.get(name)
                    if method is not None:
                        if method.decorated_by("classmethod"):
                            return self.decorated(method, base)
                        return self.decorated(method, None)
        symbol = Symbol(
            self.keys.number("attribute", self.keys.of(base), name),
            origin="attribute",
            rank=base.rank,
        )
        if base.rank is not None:
            return symbol
        return self.by_convention(frame.module, name, symbol)

    def _object_member(self, frame: Frame, base: Value, owner: str, name: str) -> Value:
        known = self.knowledge
        certain = not isinstance(base, Object) or base.certain
        full = known.member(owner, name)
        if full is not None:
            predicate = known.predicates.get(full)
            if predicate is not None and predicate.kind == "attribute":
                return self.folded(frame, predicate, certain)
            return External(full, owner=base)
        kind = known.attribute(owner, name)
        if kind:
            return Object(kind, certain)
        symbol = Symbol(
            self.keys.number("attribute", self.keys.of(base), name), origin="attribute"
        )
        return self.by_convention(frame.module, name, symbol)

    def _instance_member(self, frame: Frame, base: Instance, name: str, site: Site) -> Value:
        for own, value in base.attributes:
            if own == name:
                return value
        fallback: Value | None = None
        for definition in self.bases(base.definition):
            method = definition.methods.get(name)
            if method is not None:
                if method.decorated_by("property", "cached_property"):
                    value = self.decorated(method, base)
                    if isinstance(value, FunctionValue):
                        return self.inline(frame, value, Arguments(), site)
                    return self.unknown("property", frame, site.node)
                return self.decorated(method, base)
            value = self._written(definition, base, name)
            if value is not None:
                if not isinstance(value, Symbol):
                    return value
                fallback = fallback or value
            if name in definition.fields:
                value = self._field(definition, name)
                if not isinstance(value, Symbol):
                    return value
                fallback = fallback or value
        for external in self.external_bases(base.definition):
            if self.knowledge.member(external, name) or self.knowledge.attribute(external, name):
                return self._object_member(frame, base, external, name)
        symbol = fallback or Symbol(
            self.keys.number("attribute", self.keys.of(base), name), origin="attribute"
        )
        assert isinstance(symbol, Symbol)
        return self.by_convention(frame.module, name, symbol)

    def _written(self, definition: ClassDefinition, base: Instance, name: str) -> Value | None:
        """Return what the class's own methods put into an attribute, when they agree."""
        methods = definition.writers.get(name, ())
        found: list[Value] = []
        for method in methods:
            value = self.written(method, base).get(name)
            if value is not None and value not in found:
                found.append(value)
        told = [value for value in found if not blank(value)]
        if len(told) == 1:
            return told[0]
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        mark = merge_ranks(*(value.rank for value in told))
        return Symbol(self.keys.number("attribute", self.keys.of(base), name), rank=mark)

    def _field(self, definition: ClassDefinition, name: str) -> Value:
        annotation, value = definition.fields[name]
        frame = Frame(definition.module, None)
        if annotation is not None:
            typed = self.annotated(definition.module, annotation)
            if typed is not None:
                return typed
        if isinstance(value, ast.Constant) and annotation is None:
            return Const(value.value)
        return self.unknown("field", frame, definition.node, name)

    # -- classes -------------------------------------------------------------------------------

    def bases(self, definition: ClassDefinition) -> Iterator[ClassDefinition]:
        """Yield a class of the project and its bases in the project, nearest first."""
        seen: set[ClassDefinition] = set()
        queue = [definition]
        while queue:
            current = queue.pop(0)
            if current in seen:
                continue
            seen.add(current)
            yield current
            for value in self._base_values(current):
                if isinstance(value, ClassValue):
                    queue.append(value.definition)

    def external_bases(self, definition: ClassDefinition) -> tuple[str, ...]:
        """Return the dotted names of bases outside the project, at any depth."""
        return tuple(
            value.name
            for current in self.bases(definition)
            for value in self._base_values(current)
            if isinstance(value, External)
        )

    def _base_values(self, definition: ClassDefinition) -> tuple[Value, ...]:
        known = self._bases.get(definition)
        if known is not None:
            return known
        self._bases[definition] = ()  # a class that is its own base ends here
        frame = Frame(definition.module, None)
        values: list[Value] = []
        for node in definition.node.bases:
            while isinstance(node, ast.Subscript):
                node = node.value
            if isinstance(node, ast.Name | ast.Attribute):
                values.append(self.evaluate(frame, node))
        self._bases[definition] = tuple(values)
        return self._bases[definition]

    def annotated(self, module: Module, node: ast.expr) -> Value | None:
        """Return the instance that an annotation promises, when it names a known class."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.annotated(module, node.left) or self.annotated(module, node.right)
        if isinstance(node, ast.Subscript):
            head = node.value.attr if isinstance(node.value, ast.Attribute) else (
                node.value.id if isinstance(node.value, ast.Name) else ""
            )
            if head in ("Optional", "Annotated", "Final", "ClassVar"):
                inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
                return self.annotated(module, inner)
            if head == "Union" and isinstance(node.slice, ast.Tuple):
                for option in node.slice.elts:
                    found = self.annotated(module, option)
                    if found is not None:
                        return found
            return None
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        value = self.evaluate(Frame(module, None), node)
        if isinstance(value, ClassValue):
            return Instance(value.definition)
        if isinstance(value, External):
            name = self.knowledge.canonical(value.name)
            if name in self.knowledge.classes:
                return Object(name)
        return None

    # -- functions and decorators --------------------------------------------------------------

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

    # -- calls ---------------------------------------------------------------------------------

    def call(self, frame: Frame, callee: Value, arguments: Arguments, site: Site) -> Value:
        """Call a value: emit what it does into the frame's trace, return what it gives."""
        match callee:
            case FunctionValue():
                return self.inline(frame, callee, arguments, site)
            case Guarded():
                return self._call_guarded(frame, callee, arguments, site)
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
                return self._call_external(frame, callee, arguments, site)
            case Object():
                return self._call_object(frame, callee, arguments, site)
            case Instance():
                for name in ("__call__", "forward"):
                    method = self._instance_member(frame, callee, name, site)
                    if isinstance(method, FunctionValue | Guarded):
                        return self.call(frame, method, arguments, site)
            case Choice():
                return self._call_choice(frame, callee, arguments, site)
            case Const():  # a name that conventionally is a predicate, written as a function
                return callee
        return self._result(callee, arguments)

    def _result(self, callee: Value, arguments: Arguments) -> Symbol:
        """Make the unknown that an unknown function returns."""
        parts = [self.keys.of(value) for value in arguments.positional]
        parts += [self.keys.number(name, self.keys.of(value)) for name, value in arguments.keywords]
        return Symbol(self.keys.number("call", self.keys.of(callee), *parts), origin="call")

    def _call_choice(
        self, frame: Frame, callee: Choice, arguments: Arguments, site: Site
    ) -> Value:
        key = Choice(callee.key, Const(True), Const(False))

        def on(value: Value) -> Outcome:
            return Outcome(NEXT, self.call(frame, value, arguments, site))

        return self.decide(
            frame, key, site.node, lambda: on(callee.yes), lambda: on(callee.no)
        ).value

    def _call_guarded(
        self, frame: Frame, callee: Guarded, arguments: Arguments, site: Site
    ) -> Value:
        test = self.enters(callee.guard, callee.site, "decorator")
        if test is None:
            return self.call(frame, callee.inner, arguments, site)
        frame.scopes |= test.rank.scopes
        if not test.taken:
            return Const(None, rank=test.rank)
        with frame.guarded(test):
            return marked(self.call(frame, callee.inner, arguments, site), test.rank)

    def inline(
        self, frame: Frame, callee: FunctionValue, arguments: Arguments, site: Site
    ) -> Value:
        """Splice the body of a project's function into the trace."""
        if not self._worth(callee.function, arguments):
            return self._result(callee, arguments)
        result = self.run(callee, arguments)
        frame.scopes |= result.scopes
        if result.trace.matters:
            frame.trace.append(
                Scope(site, callee.function, result.trace, tuple(frame.guards))
            )
        if result.status == "raise":
            frame.stopped = True
        if isinstance(result.value, Symbol) and result.value.rank is None:
            return Symbol(result.value.key, result.value.each, origin="call")
        return result.value

    def _worth(self, function: Function, arguments: Arguments) -> bool:
        """Say whether executing a function may tell more than that it was called."""
        members = self.world.mentions(function.node).attributes if function.owner else ()
        return (
            self.world.interesting(function.module, function.node)
            or not self.knowledge.members.isdisjoint(members)
            or any(map(self._telling, arguments.positional))
            or any(self._telling(value) for _, value in arguments.keywords)
        )

    @staticmethod
    def _telling(value: Value) -> bool:
        return value.rank is not None or isinstance(
            value, Object | Instance | FunctionValue | Guarded
        )

    def _construct(
        self, frame: Frame, callee: ClassValue, arguments: Arguments, site: Site
    ) -> Value:
        plain = Instance(callee.definition)
        for definition in self.bases(callee.definition):
            method = definition.methods.get("__init__")
            if method is None:
                continue
            if not self._worth(method, arguments):
                break
            function = FunctionValue(method, None, plain)
            result = self.run(function, arguments)
            frame.scopes |= result.scopes
            if result.trace.matters:
                frame.trace.append(Scope(site, method, result.trace, tuple(frame.guards)))
            known = tuple(
                (name, value)
                for name, value in sorted(result.attributes.items())
                if self._telling(value) or isinstance(value, Choice)
            )
            return Instance(callee.definition, known)
        else:
            if definition := next(iter(self.bases(callee.definition)), None):
                values = self._dataclass_fields(definition, arguments)
                return Instance(callee.definition, values)
        return plain

    def _dataclass_fields(
        self, definition: ClassDefinition, arguments: Arguments
    ) -> tuple[tuple[str, Value], ...]:
        """Bind the arguments of a dataclass to its fields."""
        names = [name for name, (annotation, _) in definition.fields.items() if annotation]
        pairs = [*zip(names, arguments.positional, strict=False), *arguments.keywords]
        return tuple((name, value) for name, value in pairs if self._telling(value))

    def _call_object(
        self, frame: Frame, callee: Object, arguments: Arguments, site: Site
    ) -> Value:
        full = self.knowledge.member(callee.name, "__call__")
        if full is not None:
            return self._call_external(frame, External(full, callee), arguments, site)
        return self._result(callee, arguments)

    def _call_external(
        self, frame: Frame, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        known = self.knowledge
        name = known.canonical(callee.name)
        certain = not isinstance(callee.owner, Object) or callee.owner.certain
        predicate = known.predicates.get(name)
        if predicate is not None and predicate.kind == "call":
            group = arguments.get(predicate.group, 0) if predicate.group else None
            if group is not None and not self._is_world(group):
                group_rank = Rank(frozenset({"group"}), certain)
                if predicate.meaning == "rank":
                    return Const(self.ranks.group_rank, rank=group_rank)
                return self._result(callee, arguments)
            return self.folded(frame, predicate, certain)
        guard = known.guards.get(name)
        if guard is not None:
            return self._call_guard(frame, guard, arguments, site)
        if name in known.exits:
            frame.stopped = True
            return NONE
        special = self._special(frame, name, arguments, site)
        if special is not None:
            return special
        for record in self._records(name):
            if self._applies(record, arguments):
                return self._operate(frame, record, callee, arguments, site)
        return self._given(frame, name, callee, arguments, site)

    def _records(self, name: str) -> list[Call]:
        return self.knowledge.calls.get(name, [])

    def _applies(self, record: Call, arguments: Arguments) -> bool:
        for path, wanted in record.when.items():
            value = self._setting(path, arguments)
            options = wanted if isinstance(wanted, list) else [wanted]
            if not (isinstance(value, Const) and value.value in options):
                return False
        for path, unwanted in record.unless.items():
            value = self._setting(path, arguments)
            if isinstance(value, Const) and value.value == unwanted:
                return False
        return True

    @staticmethod
    def _setting(path: str, arguments: Arguments) -> Value | None:
        name, _, inner = path.partition(".")
        value = arguments.get(name)
        if not inner:
            return value
        if value is None:  # the object may have been passed by position
            value = next((v for v in arguments.positional if isinstance(v, Object)), None)
        if isinstance(value, Object):
            for setting, constant in value.settings:
                if setting == inner:
                    return Const(constant)
        return None

    def _operate(
        self, frame: Frame, record: Call, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        """Emit a recorded call and give its result."""
        certain = not isinstance(callee.owner, Object) or callee.owner.certain
        if record.who in ("all", "group"):
            frame.trace.append(
                Operation(site, record, self._group(record, arguments), certain, tuple(frame.guards))
            )
        for position in record.clears:
            if position < len(arguments.nodes):
                self._clear(frame, arguments.nodes[position])
        return self._given(frame, self.knowledge.canonical(callee.name), callee, arguments, site)

    def _clear(self, frame: Frame, node: ast.expr) -> None:
        """Make the variables of an argument equal on every rank."""
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id in frame.variables:
                frame.variables[child.id] = self.unknown("agreed", frame, child)

    def _group(self, record: Call, arguments: Arguments) -> Literal["world", "sub"]:
        if not record.group:
            return "world"
        value = arguments.get(record.group, record.group_position)
        return "world" if value is None or self._is_world(value) else "sub"

    def _is_world(self, value: Value) -> bool:
        if isinstance(value, Const):
            return value.value is None
        if isinstance(value, External):
            return self.knowledge.canonical(value.name) in _WORLD_GROUPS
        return isinstance(value, Object) and value.name == "torch.distributed.group.WORLD"

    def _given(
        self, frame: Frame, name: str, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        """Return the typed object that an external call gives, or an unknown."""
        known = self.knowledge
        returns = known.returns.get(name)
        if returns is not None:
            if returns.arguments:
                values = arguments.positional
                return values[0] if len(values) == 1 else Items(values)
            if len(returns.types) == 1:
                return Object(known.canonical(returns.types[0]))
            if returns.types:
                return Items(
                    tuple(
                        Object(known.canonical(kind))
                        if kind
                        else Symbol(self.keys.number("part", Site(frame.module, site.node).key, i))
                        for i, kind in enumerate(returns.types)
                    )
                )
        if name in known.classes:
            settings: list[tuple[str, Any]] = [
                (keyword, value.value)
                for keyword, value in arguments.keywords
                if isinstance(value, Const) and value.rank is None
            ]
            for record in self._records(f"{name}.__init__"):
                if self._applies(record, arguments) and record.who in ("all", "group"):
                    group = self._group(record, arguments)
                    frame.trace.append(
                        Operation(site, record, group, True, tuple(frame.guards))
                    )
            return Object(name, settings=tuple(settings))
        result = self._result(callee, arguments)
        if callee.owner is None:
            return self.by_convention(frame.module, name.rpartition(".")[2], result)
        return result

    def _call_guard(
        self, frame: Frame, guard: Guard, arguments: Arguments, site: Site
    ) -> Value:
        position = guard.function
        function = (
            arguments.positional[position] if position < len(arguments.positional) else NONE
        )
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
        rest = tuple(
            value for i, value in enumerate(arguments.positional) if i != guard.function
        )
        inner = Arguments(rest, arguments.keywords, (), arguments.complete)
        if test is None:
            self.call(frame, function, inner, site)
        else:
            frame.scopes |= test.rank.scopes
            if test.taken:
                with frame.guarded(test):
                    self.call(frame, function, inner, site)
        if guard.synchronises:
            frame.trace.append(self.synchronisation(frame, guard, site))
        return self.unknown("wrapped", frame, site.node)

    def synchronisation(self, frame: Frame, guard: Guard, site: Site) -> Operation:
        """Return the barrier that a guard holds: every rank must enter it."""
        record = Call(guard.name, "all", "barrier", guard.source, framework=guard.framework)
        return Operation(site, record, "world", True, tuple(frame.guards))

    def _special(
        self, frame: Frame, name: str, arguments: Arguments, site: Site
    ) -> Value | None:
        """Evaluate the few functions of the language that values pass through."""
        first = arguments.positional[0] if arguments.positional else None
        if name in _FOLDED and len(arguments.positional) == 1 and isinstance(first, Const):
            try:
                return Const(_FOLDED[name](first.value), rank=first.rank)
            except (TypeError, ValueError):
                return self._derived(name, first)
        if name in ("int", "bool") and first is not None and len(arguments.positional) == 1:
            return first if name == "int" else self.truth(first)
        if name in ("os.environ.get", "os.getenv", "os.environ.setdefault"):
            default = arguments.get("default", 1)
            return self.environment(frame, first or NONE, default)
        if name == "functools.partial" and first is not None:
            return Partial(first, arguments.positional[1:], arguments.keywords)
        if name == "getattr" and len(arguments.positional) >= 2:
            attribute = arguments.positional[1]
            if isinstance(attribute, Const) and isinstance(attribute.value, str):
                node = ast.copy_location(ast.Name("getattr"), site.node)
                return self._member(
                    frame, arguments.positional[0], attribute.value, Site(site.module, node)
                )
        if name == "super":
            return self._super(frame)
        return None

    def _super(self, frame: Frame) -> Value | None:
        function, bound = frame.function, frame.bound
        if function is None or function.owner is None or bound is None:
            return None
        values = self._base_values(function.owner)
        for value in values:
            if isinstance(value, ClassValue):
                attributes = bound.attributes if isinstance(bound, Instance) else ()
                return Instance(value.definition, attributes)
        for value in values:
            if isinstance(value, External):
                return Object(self.knowledge.canonical(value.name))
        return None
