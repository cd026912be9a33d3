"""Attributes and classes: what an object has, by its own code or by the facts."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from ckptlint.analysis.containers import CONTAINER
from ckptlint.analysis.frame import Arguments, Frame
from ckptlint.analysis.names import Namer
from ckptlint.analysis.values import (
    LAZILY,
    TRUE,
    Choice,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    Many,
    ModuleValue,
    Object,
    Rank,
    Site,
    Symbol,
    Table,
    Value,
    blank,
    merge_divergent,
    merge_ranks,
)
from ckptlint.facts import Call
from ckptlint.project import (
    ClassDefinition,
    Function,
    Module,
)

_MAX_HEIRS = 3
_MANY = frozenset(
    ("list", "List", "set", "Set", "Sequence", "Iterable", "Iterator", "Collection", "Generator")
)
_MAPPINGS = frozenset(("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict"))


class Members(Namer):
    """Resolves attributes of modules, objects and classes."""

    @abstractmethod
    def written(self, method: Function, instance: Instance) -> Mapping[str, Value]:
        """Return the attributes of self that a method sets, whatever its arguments."""

    @abstractmethod
    def inline(
        self, frame: Frame, callee: FunctionValue, arguments: Arguments, site: Site
    ) -> Value:
        """Splice the body of a project's function into the trace."""

    @abstractmethod
    def operate(
        self, frame: Frame, record: Call, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        """Emit a recorded call and give its result."""

    def attribute(self, frame: Frame, base: Value, name: str, node: ast.expr) -> Value:
        """Read an attribute; a property of the project is executed, one of the facts folded."""
        value = self.member(frame, base, name, Site(frame.module, node))
        if isinstance(value, External) and value.owner is not None:
            record = next(iter(self.knowledge.calls.get(value.name, ())), None)
            if record is not None and record.property:
                return self.operate(frame, record, value, Arguments(), Site(frame.module, node))
        return value

    def called_attribute(self, frame: Frame, base: Value, node: ast.Attribute) -> Value:
        """Read an attribute in order to call it."""
        return self.member(frame, base, node.attr, Site(frame.module, node))

    def member(self, frame: Frame, base: Value, name: str, site: Site) -> Value:
        known = self.knowledge
        match base:
            case Choice():
                yes = self.member(frame, base.yes, name, site)
                no = self.member(frame, base.no, name, site)
                if isinstance(base.no, Const) and base.no.value is None:
                    return yes
                if isinstance(base.yes, Const) and base.yes.value is None:
                    return no
                return self.keys.choose(base.key, yes, no)
            case ModuleValue():
                full = f"{base.module.name}.{name}"
                if self.recorded(full):
                    return External(full)
                found = self.global_value(base.module, name)
                if found is not None:
                    return found
                inner = (
                    base.module.project.find(base.module, name, 1, "outline")
                    if base.module.source.path.name == "__init__.py"
                    else None
                )
                if inner is not None:
                    return ModuleValue(inner)
            case Table() | Many() | Items():
                return External(f"{CONTAINER}.{name}", owner=base)
            case External(owner=None):
                full = known.canonical(f"{base.name}.{name}")
                predicate = known.predicates.get(full)
                if predicate is not None and predicate.kind == "attribute":
                    return self.folded(frame, predicate, True)
                return External(f"{base.name}.{name}")
            case Object():
                return self._object_member(frame, base, base.name, name)
            case Instance():
                return self.instance_member(frame, base, name, site)
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
            divergent=base.divergent,
        )
        if base.rank is not None or base.divergent is not None:
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
        symbol = Symbol(self.keys.number("attribute", self.keys.of(base), name), origin="attribute")
        return self.by_convention(frame.module, name, symbol)

    def instance_member(self, frame: Frame, base: Instance, name: str, site: Site) -> Value:
        for own, value in base.attributes:
            if own == name:
                return value
        fallback: Value | None = None
        settled: Const | None = None
        for definition in self.bases(base.definition):
            method = definition.methods.get(name)
            if method is not None:
                if method.decorated_by("property", "cached_property"):
                    value = self.decorated(method, base)
                    if isinstance(value, FunctionValue):
                        once = method.decorated_by("cached_property")  # made elsewhere, as a rule
                        with self.within({LAZILY: TRUE} if once else {}):
                            return self.inline(frame, value, Arguments(), site)
                    return self.unknown("property", frame, site.node)
                return self._overridden(base, name, self.decorated(method, base))
            set_to = self._written(definition, base, name)
            if isinstance(set_to, Const) and set_to.rank is None:
                settled = settled or set_to  # a base may put the rank there
            elif settled is not None and set_to is not None and set_to.rank is not None:
                key = self.keys.number("attribute", self.keys.of(base), name)
                return Symbol(key, rank=Rank(set_to.rank.scopes, False, set_to.rank.exact))
            elif set_to is not None:
                if not isinstance(set_to, Symbol):
                    return settled or set_to
                fallback = fallback or set_to
            if name in definition.fields:
                value = self._field(definition, name)
                if not isinstance(value, Symbol):
                    return settled or value
                fallback = fallback or value
        if settled is not None:
            return settled
        for external in self.external_bases(base.definition):
            if self.knowledge.member(external, name) or self.knowledge.attribute(external, name):
                return self._object_member(frame, base, external, name)
        symbol = fallback or Symbol(
            self.keys.number("attribute", self.keys.of(base), name), origin="attribute"
        )
        assert isinstance(symbol, Symbol)
        return self.by_convention(frame.module, name, symbol)

    def _overridden(self, base: Instance, name: str, value: Value) -> Value:
        """Add what the classes that inherit make of a method, where that may communicate.

        Which class an object is of is the same on every rank.
        """
        if base.exact:
            return value
        heirs = [heir for heir in self.world.descendants(base.definition) if name in heir.methods]
        heirs = [
            heir
            for heir in heirs
            if self.world.gives(heir.module, heir.methods[name].node)
            and any(each is base.definition for each in self.bases(heir))
        ]
        for heir in heirs[:_MAX_HEIRS]:
            own = self.decorated(heir.methods[name], Instance(heir, base.attributes))
            value = self.keys.choose(
                self.keys.number("class", heir.qualname, heir.module.source.display), own, value
            )
        return value

    def _written(self, definition: ClassDefinition, base: Instance, name: str) -> Value | None:
        """Return what the class's own methods put into an attribute, when they agree."""
        writers = self.world.writers(definition).get(name)
        if writers is None:
            return None
        symbol = Symbol(self.keys.number("attribute", self.keys.of(base), name))
        found: list[Value] = []
        executed = (self.written(method, base).get(name) for method in writers.methods)
        constants = map(Const, writers.constants)
        for value in (*executed, *constants, symbol if writers.unknown else None):
            if value is not None and value not in found:
                found.append(value)
        told = [value for value in found if not blank(value)]
        if len(told) == 1:
            return told[0]
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        return replace(
            symbol,
            rank=merge_ranks(*(value.rank for value in told)),
            divergent=merge_divergent(*map(self.keys.disagreement, told)),
        )

    def _field(self, definition: ClassDefinition, name: str) -> Value:
        annotation, value = definition.fields[name]
        frame = Frame(definition.module, None)
        if annotation is not None:
            typed = self.annotated(definition.module, annotation)
            if typed is not None:
                return typed
        if isinstance(value, ast.Constant) and annotation is None:
            return Const(value.value)
        if value is not None and self.world.interesting(definition.module, value):
            return self.evaluate(frame, value)
        return self.unknown("field", frame, definition.node, name)

    def bases(self, definition: ClassDefinition) -> tuple[ClassDefinition, ...]:
        """Return a class of the project and its bases in the project, nearest first."""
        return self.memory.aside(
            ("ancestry", definition),
            lambda: tuple(self._find_ancestry(definition)),
            lambda: (definition,),
        )

    def _find_ancestry(self, definition: ClassDefinition) -> Iterator[ClassDefinition]:
        seen: set[ClassDefinition] = set()
        queue = [definition]
        while queue:
            current = queue.pop(0)
            if current in seen:
                continue
            seen.add(current)
            yield current
            for value in self.base_values(current):
                if isinstance(value, ClassValue):
                    queue.append(value.definition)

    def external_bases(self, definition: ClassDefinition) -> tuple[str, ...]:
        """Return the dotted names of bases outside the project, at any depth."""
        return tuple(
            value.name
            for current in self.bases(definition)
            for value in self.base_values(current)
            if isinstance(value, External)
        )

    def base_values(self, definition: ClassDefinition) -> tuple[Value, ...]:
        """Return what stands for the bases of a class."""
        return self.memory.aside(
            ("bases", definition),
            partial(self.apart_from_settings, lambda: self._find_bases(definition)),
            tuple,  # a class that is its own base ends here
        )

    def _find_bases(self, definition: ClassDefinition) -> tuple[Value, ...]:
        frame = Frame(definition.module, None)
        values: list[Value] = []
        for node in definition.node.bases:
            while isinstance(node, ast.Subscript):
                node = node.value
            if isinstance(node, ast.Name | ast.Attribute):
                values.append(self.evaluate(frame, node))
        return tuple(values)

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
            head = (
                node.value.attr
                if isinstance(node.value, ast.Attribute)
                else (node.value.id if isinstance(node.value, ast.Name) else "")
            )
            if head in _MANY or head in _MAPPINGS:
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                held = self.annotated(module, parts[0 if head in _MANY else -1])
                return Many(held, mapped=head in _MAPPINGS) if held is not None else None
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
