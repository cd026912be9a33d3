"""Calls that leave the project: what the facts say of them."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ckptlint.analysis.containers import CONTAINER, function, method, parts_of
from ckptlint.analysis.contributions import contributed
from ckptlint.analysis.frame import Arguments, Frame
from ckptlint.analysis.groups import GROUPED, group_of, is_world, made_for_group, of_group
from ckptlint.analysis.guards import Guards
from ckptlint.analysis.made import made_with
from ckptlint.analysis.sequences import Access, Operation
from ckptlint.analysis.shares import share_of_range
from ckptlint.analysis.values import (
    APART,
    LAZILY,
    NONE,
    ClassValue,
    Const,
    Divergent,
    External,
    Instance,
    Items,
    Object,
    Partial,
    Rank,
    Site,
    Symbol,
    Value,
    merge_divergent,
)
from ckptlint.facts import Call, Disagreement
from ckptlint.project import Module, dotted

_FOLDED: Mapping[str, Callable[[Any], Any]] = {
    "int": int,
    "str": str,
    "bool": bool,
    "float": float,
    "abs": abs,
    "len": len,
}
_ROOT = Divergent("a result that only the root rank receives", part="root")
_OWN = "what this rank computed from its own data"


class ExternalCaller(Guards):
    """Emits recorded calls and gives their results."""

    @abstractmethod
    def result(self, callee: Value, arguments: Arguments) -> Symbol:
        """Make the unknown that an unknown function returns."""

    def call_object(self, frame: Frame, callee: Object, arguments: Arguments, site: Site) -> Value:
        full = self.knowledge.member(callee.name, "__call__")
        if full is not None:
            return self.call_external(frame, External(full, callee), arguments, site)
        return self.result(callee, arguments)

    def call_external(
        self, frame: Frame, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        if callee.name.startswith(f"{CONTAINER}."):
            held = method(self.keys, callee, arguments.positional)
            return self.result(callee, arguments) if held is None else held
        known = self.knowledge
        name = known.canonical(callee.name)
        certain = not isinstance(callee.owner, Object) or callee.owner.certain
        predicate = known.predicates.get(name)
        if predicate is not None and predicate.kind == "call":
            group = arguments.get(predicate.group, 0) if predicate.group else None
            if group is not None and not is_world(self.knowledge, group):
                group_rank = Rank(frozenset({"group"}), certain)
                if predicate.meaning == "rank":
                    return Const(self.ranks.group_rank, rank=group_rank)
                return self.result(callee, arguments)
            if any(arguments.get(each, 0) == Const(it) for each, it in predicate.job.items()):
                predicate = replace(predicate, scope="global")
            return self.folded(frame, predicate, certain)
        guard = known.guards.get(name)
        if guard is not None:
            return self.call_guard(frame, guard, arguments, site)
        if name in known.exits:
            frame.stopped = True
            return NONE
        special = self._special(frame, name, arguments, site)
        if special is not None:
            return special
        source = known.divergent.get(name)
        records = self._records(name) if source is None or site.node in frame.looks else ()
        value: Value | None = None
        for record in records:
            if self._applies(record, arguments, callee.owner):
                value = self.operate(frame, record, callee, arguments, site)
                break
        if source is not None:
            return replace(self.result(callee, arguments), divergent=self.differs(source))
        if value is not None:
            return value
        return self._given(frame, name, callee, arguments, site)

    def _records(self, name: str) -> list[Call]:
        return self.knowledge.calls.get(name, [])

    def _applies(self, record: Call, arguments: Arguments, owner: Value | None = None) -> bool:
        for path, wanted in record.when.items():
            value = self._setting(record, path, arguments, owner)
            options = wanted if isinstance(wanted, list) else [wanted]
            if not (isinstance(value, Const) and value.value in options):
                return False
        for path, unwanted in record.unless.items():
            value = self._setting(record, path, arguments, owner)
            if isinstance(value, Const) and value.value == unwanted:
                return False
        return True

    @staticmethod
    def _setting(
        record: Call, path: str, arguments: Arguments, owner: Value | None
    ) -> Value | None:
        name, _, inner = path.partition(".")
        value = owner if name == "self" else arguments.get(name, record.positions.get(name, -1))
        if not inner:
            return value
        if value is None:  # the object may have been passed by position
            value = next((v for v in arguments.positional if isinstance(v, Object)), None)
        if isinstance(value, Object):
            for setting, constant in value.settings:
                if setting == inner:
                    return Const(constant)
        return None

    def operate(
        self, frame: Frame, record: Call, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        """Emit a recorded call and give its result."""
        certain = not isinstance(callee.owner, Object) or callee.owner.certain
        certain = certain and not record.name.startswith("*")
        path = self._path(record, callee, arguments)
        guards = tuple(frame.guards)
        if record.who in ("all", "group"):
            if not self._is_local(frame, record, callee, site):
                group = group_of(self.knowledge, record, arguments, callee.owner)
                handed = self.handed(frame, site)
                given = self._given_alike(record, arguments)
                tag = arguments.get(record.tag, record.tag_position) if record.tag else None
                place = Items((path, tag)) if path is not None and tag is not None else path
                single = self._starts_one(frame.module, record, arguments, site)
                frame.trace.append(
                    Operation(site, record, group, certain, guards, handed, place, given, single)
                )
        elif path is not None and APART not in self.settings and not _is_right(record, arguments):
            forgiven = bool(frame.forgiving) and record.effect in ("create", "delete", "rename")
            content = (*arguments.positional, *self._state(record, callee.owner, arguments))
            frame.trace.append(Access(site, record, path, content, certain, guards, forgiven))
        if record.own:
            part = arguments.get(record.own, record.positions.get(record.own, -1)) or NONE
            contributed(self.keys, part, self.result(External("len"), Arguments((part,))))
        for position in record.clears:
            if position < len(arguments.nodes):
                self._clear(frame, arguments.nodes[position], None)
        for position in record.differs:
            if position < len(arguments.nodes):
                self._clear(frame, arguments.nodes[position], _ROOT)
        name = self.knowledge.canonical(callee.name)
        value = self._given(frame, name, callee, arguments, site)
        if not isinstance(value, Symbol):
            return value
        if record.result == "root":
            # Where it depends on the backend, what is whole elsewhere is not called a part.
            mark = replace(_ROOT, part="") if record.backends else _ROOT
            return replace(value, divergent=mark)
        if record.effect == "forward" and record.result == "own":
            own = merge_divergent(*map(self.keys.disagreement, arguments.positional))
            return replace(value, divergent=own or Divergent(_OWN, likely=False))
        return value

    def _given_alike(self, record: Call, arguments: Arguments) -> object:
        """Return the constant that is given for the argument in which ranks must agree."""
        if not record.alike:
            return None
        value = arguments.get(record.alike, record.positions.get(record.alike, -1))
        parts = value.items if isinstance(value, Items) else (value,)
        if any(not isinstance(part, Const) or part.rank is not None for part in parts):
            return None
        return tuple(part.value for part in parts if isinstance(part, Const))

    def _path(self, record: Call, callee: External, arguments: Arguments) -> Value | None:
        """Return the argument that names the file, unless it is an open file itself."""
        if record.path == "self":
            return callee.owner
        path = arguments.get(record.path, record.path_position) if record.path else None
        if isinstance(path, Object) and "io.IOBase" in self.knowledge.mro(path.name):
            return None
        return path

    def _state(self, record: Call, owner: Value | None, arguments: Arguments) -> tuple[Value, ...]:
        """Return the state that a call writes without being given it by position: another one, or
        that of an object which a backend keeps in parts."""
        given = arguments.get(record.state) if record.state else None
        if given is not None:
            return (given,)
        if record.state and isinstance(owner, Object):
            source = self.knowledge.divergent.get(
                self.knowledge.member(owner.name, "state_dict") or ""
            )
            if source is not None and source.backends:
                key = self.keys.number("state", self.keys.of(owner))
                return (Symbol(key, divergent=self.differs(source)),)
        return ()

    def call_method(
        self, frame: Frame, base: Value, name: str, arguments: Arguments, site: Site
    ) -> None:
        """Emit what a method does by its name alone: nothing is known of the object."""
        callee = External(f"*.{name}", base)
        for record in self._records(callee.name):
            if self._applies(record, arguments):
                self.operate(frame, record, callee, arguments, site)
                return

    def _is_local(self, frame: Frame, record: Call, callee: External, site: Site) -> bool:
        """Say whether a collective does nothing here, or is given a model that is whole still."""
        if record.name in self.settings or (record.effect == "setup" and LAZILY in self.settings):
            return True
        if isinstance(callee.owner, Object) and self._is_single(callee.owner):
            return True
        return (
            record.effect == "gather"
            and callee.owner is None
            and frame.function is not None
            and isinstance(site.node, ast.Call)
            and self.world.wrapped_later(frame.module, frame.function.node, site.node)
        )

    def _is_single(self, made: Object) -> bool:
        """Say whether what an object was made with says that there is one process."""
        single = self.knowledge.classes[made.name].single if made.settings else {}
        settings = dict(made.settings)
        return bool(single) and all(settings.get(name) in single[name] for name in single)

    def _starts_one(self, module: Module, record: Call, arguments: Arguments, site: Site) -> bool:
        """Say whether what a call is given says that there is one process."""
        return bool(record.single) and all(
            any(arguments.get(name) == Const(value) for value in values)
            or any(
                keyword.arg == name and made_with(module, keyword.value, values)
                for keyword in getattr(site.node, "keywords", ())
            )
            for name, values in record.single.items()
        )

    def differs(self, source: Disagreement) -> Divergent:
        """Return the mark that a source of divergence gives, in view of what the project seeds."""
        likely = source.likely and not self.world.mentioned(source.seeds)
        return Divergent(
            source.reason, likely, source.part, source.counts, backends=source.backends
        )

    def _clear(self, frame: Frame, node: ast.expr, mark: Divergent | None) -> None:
        """Forget what the variables of an argument held: they are equal on every rank from now
        on, or differ by ``mark``."""
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id in frame.variables:
                agreed = self.unknown("agreed", frame, child)
                frame.variables[child.id] = replace(agreed, divergent=mark)

    def _given(
        self, frame: Frame, name: str, callee: External, arguments: Arguments, site: Site
    ) -> Value:
        """Return the typed object that an external call gives, or an unknown."""
        known = self.knowledge
        returns = known.returns.get(name)
        if returns is not None:
            if returns.arguments:
                settings = GROUPED if of_group(callee.owner) else ()
                values = tuple(
                    Object(known.canonical(kind), settings=settings)
                    if kind and _plain(value) and (isinstance(value, Symbol) or not returns.unknown)
                    else value
                    for value, kind in zip_longest(
                        arguments.positional, returns.types[: len(arguments.positional)]
                    )
                )
                return values[0] if len(values) == 1 else Items(values)
            if len(returns.types) == 1:
                single = Object(known.canonical(returns.types[0]))
                if returns.in_place and arguments.nodes:
                    self._become(frame, arguments.nodes[0], single)
                return single
            if returns.types:
                return Items(
                    tuple(
                        Object(known.canonical(kind))
                        if kind
                        else Symbol(
                            self.keys.number("part", Site(frame.module, site.node).key, str(i))
                        )
                        for i, kind in enumerate(returns.types)
                    )
                )
        if name in known.classes:
            settings = tuple(
                (keyword, value.value)
                for keyword, value in arguments.keywords
                if isinstance(value, Const) and value.rank is None
            )
            if made_for_group(known, name, arguments):
                settings += GROUPED
            instance = Object(name, settings=settings)
            made = [] if LAZILY in self.settings else self._records(f"{name}.__init__")
            for record in made:
                if self._applies(record, arguments) and record.who in ("all", "group"):
                    group = group_of(self.knowledge, record, arguments)
                    guards, alone = tuple(frame.guards), self._is_single(instance)
                    frame.trace.append(Operation(site, record, group, True, guards, single=alone))
            return instance
        result = self.result(callee, arguments)
        if name in known.pure:
            given = [*arguments.positional, *(value for _, value in arguments.keywords)]
            mark = merge_divergent(*map(self.keys.disagreement, given))
            if mark is not None and (mark.counts or name != "len"):
                return replace(result, divergent=mark)
        if callee.owner is None:
            return self.by_convention(frame.module, name.rpartition(".")[2], result)
        return result

    def _become(self, frame: Frame, node: ast.expr, made: Value) -> None:
        """Turn what a name or an attribute holds into something else."""
        if isinstance(node, ast.Name) or dotted(node) is not None:
            self.assign(frame, node, made)

    def _special(self, frame: Frame, name: str, arguments: Arguments, site: Site) -> Value | None:
        """Evaluate the few functions of the language that values pass through."""
        first = arguments.positional[0] if arguments.positional else None
        if name in _FOLDED and len(arguments.positional) == 1 and isinstance(first, Const):
            try:
                return Const(_FOLDED[name](first.value), rank=first.rank)
            except (TypeError, ValueError):
                return self.derived(name, first)
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
                return self.member(
                    frame, arguments.positional[0], attribute.value, Site(site.module, node)
                )
        if name == "super":
            return self._super(frame)
        if name in ("range", "itertools.islice"):
            share = share_of_range(self.keys, arguments.positional[name != "range" :])
            if share is not None:
                result = self.result(External(name), arguments)
                return replace(result, divergent=share)
        return function(self.keys, name, arguments.positional)

    def _super(self, frame: Frame) -> Value | None:
        function, bound = frame.function, frame.bound
        if function is None or function.owner is None or bound is None:
            return None
        values = self.base_values(function.owner)
        for value in values:
            if isinstance(value, ClassValue):
                attributes = bound.attributes if isinstance(bound, Instance) else ()
                return Instance(value.definition, attributes, exact=True)
        for value in values:
            if isinstance(value, External):
                return Object(self.knowledge.canonical(value.name))
        return None


def _is_right(record: Call, arguments: Arguments) -> bool:
    """Say whether a call chooses who writes, and writes the whole."""
    shards = (mark for mark in parts_of(arguments.positional) if mark.part == "shard")
    return record.guards_writes and next(shards, None) is None


def _plain(value: Value) -> bool:
    """Say whether a value is an object that the facts know nothing of."""
    return isinstance(value, Symbol | Instance) and value.rank is None
