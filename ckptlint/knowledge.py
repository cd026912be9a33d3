"""Looking facts up: canonical names, inheritance, and the version that a project uses.

:class:`Knowledge` is a :class:`~ckptlint.facts.FactSet` indexed for one project: records that do
not hold for the project's versions are gone, and every spelling of a name leads to one record.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from ckptlint.facts import (
    Alias,
    Call,
    Class,
    Disagreement,
    Evidence,
    Exit,
    FactSet,
    Framework,
    Guard,
    Hook,
    Predicate,
    Pure,
    Returns,
)

# Last names that many things have, which are told apart by what they belong to.
AMBIGUOUS = frozenset(
    {"copy", "cp", "delete", "dump", "link", "move", "mv", "put", "remove", "rename", "replace"}
    | {"rm", "save", "touch", "upload"}
)


class Knowledge:
    """The facts as one project needs them.

    ``versions`` maps a framework's name to the release that the project uses; a framework that is
    not in it is taken at its newest release.
    """

    def __init__(self, facts: FactSet, versions: Mapping[str, str] | None = None) -> None:
        self.facts = facts
        self.versions = dict(versions or {})
        self.frameworks: dict[str, Framework] = {f.name: f for f in facts.frameworks}
        self._aliases: dict[str, str] = {
            other: alias.name for alias in facts.of(Alias) for other in alias.also
        }
        self._canonical: dict[str, str] = {}
        self.calls: dict[str, list[Call]] = defaultdict(list)
        self.predicates: dict[str, Predicate] = {}
        self.conventions: dict[str, Predicate] = {}
        self.environment: dict[str, Predicate] = {}
        self.guards: dict[str, Guard] = {}
        self.hooks: dict[tuple[str, str], Hook] = {}
        self.classes: dict[str, Class] = {}
        self.returns: dict[str, Returns] = {}
        self.usual_names: dict[str, list[Class]] = defaultdict(list)
        for record in facts.records:
            if self._holds(record):
                self._index(record)
        self.pure = {self.canonical(record.name) for record in facts.of(Pure)}
        self.truths = {self.canonical(r.name): r.truth for r in facts.of(Pure) if r.truth}
        self.divergent = {self.canonical(record.name): record for record in facts.of(Disagreement)}
        self.exits = {self.canonical(record.name) for record in facts.of(Exit)}
        self.evidence: tuple[Evidence, ...] = tuple(facts.of(Evidence))
        self._mro: dict[str, tuple[str, ...]] = {}

    def _holds(self, record: object) -> bool:
        versions = getattr(record, "versions", "")
        if not versions:
            return True
        framework = self.frameworks.get(getattr(record, "framework", ""))
        release = self.versions.get(framework.name) if framework else None
        if release is None and framework and framework.releases:
            release = framework.releases[-1]
        if release is None:
            return True
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(versions).contains(release, prereleases=True)

    def _index(self, record: object) -> None:
        if isinstance(record, Call):
            self.calls[self.canonical(record.name)].append(record)
        elif isinstance(record, Predicate):
            table = {"env": self.environment, "name": self.conventions}.get(record.kind)
            if table is None:
                self.predicates[self.canonical(record.name)] = record
            else:
                table[record.name] = record
        elif isinstance(record, Guard):
            self.guards[self.canonical(record.name)] = record
        elif isinstance(record, Hook):
            self.hooks[(self.canonical(record.owner), record.name)] = record
        elif isinstance(record, Class):
            self.classes[self.canonical(record.name)] = record
            for name in record.usual_names:
                self.usual_names[name].append(record)
        elif isinstance(record, Returns):
            self.returns[self.canonical(record.name)] = record

    def canonical(self, name: str) -> str:
        """Turn any spelling of a dotted name into the one that the records use."""
        known = self._canonical.get(name)
        if known is None:
            known = self._canonical[name] = self._rewrite(name)
        return known

    def _rewrite(self, name: str) -> str:
        for _ in range(8):  # an alias may lead to another; a circle of them ends here
            head = name
            while head and head not in self._aliases:
                head = head.rpartition(".")[0]
            if not head or self._aliases[head] == head:
                return name
            name = self._aliases[head] + name[len(head) :]
        return name

    def mro(self, name: str) -> tuple[str, ...]:
        """Return a class and its bases, nearest first, by canonical name."""
        name = self.canonical(name)
        found = self._mro.get(name)
        if found is None:
            seen: dict[str, None] = {}
            queue = [name]
            while queue:
                current = self.canonical(queue.pop(0))
                if current not in seen:
                    seen[current] = None
                    known = self.classes.get(current)
                    queue.extend(known.bases if known else ())
            found = self._mro[name] = tuple(seen)
        return found

    def member(self, owner: str, name: str) -> str | None:
        """Return the canonical name under which a class's method or attribute has a record."""
        for base in self.mro(owner):
            full = f"{base}.{name}"
            if (
                full in self.calls
                or full in self.predicates
                or full in self.guards
                or full in self.returns
                or full in self.divergent
            ):
                return full
        return None

    def attribute(self, owner: str, name: str) -> str | None:
        """Return the class of an attribute, or None when the facts do not say."""
        for base in self.mro(owner):
            known = self.classes.get(base)
            if known and name in known.attributes:
                return self.canonical(known.attributes[name])
        return None

    def hook(self, owners: Iterator[str] | tuple[str, ...], name: str) -> Hook | None:
        """Find the hook that a method overrides, given its class's external bases."""
        for owner in owners:
            for base in self.mro(owner):
                found = self.hooks.get((base, name))
                if found:
                    return found
        return None

    def usual(self, name: str, imports: frozenset[str]) -> Class | None:
        """Return the class that a name conventionally holds, if a file's imports allow it.

        ``imports`` are the top-level modules imported by the file.
        """
        for known in self.usual_names.get(name, ()):
            framework = self.frameworks.get(known.framework)
            if framework is None or imports.intersection(framework.imports):
                return known
        return None

    @cached_property
    def import_roots(self) -> frozenset[str]:
        """Top-level modules that belong to any framework."""
        return frozenset(name for f in self.frameworks.values() for name in f.imports)

    @cached_property
    def telling_classes(self) -> frozenset[str]:
        """Classes whose members communicate, depend on the rank, or give something that does."""
        owners = {
            full.rpartition(".")[0]
            for table in (self.communicating, self.predicates, self.guards)
            for full in table
        }
        return self._classes_around(owners)

    @cached_property
    def wrappers(self) -> frozenset[str]:
        """Last names of what makes a model one whose forward communicates: ``fully_shard``."""
        classes = {
            full.rpartition(".")[0]
            for full, records in self.calls.items()
            if any(record.effect == "forward" for record in records)
        } & self.classes.keys()
        makers = {
            full
            for full, returns in self.returns.items()
            if any(self.canonical(kind) in classes for kind in returns.types if kind)
            and full.rpartition(".")[0] not in self.classes
        }
        return frozenset(full.rpartition(".")[2] for full in classes | makers)

    def _classes_around(self, owners: set[str]) -> frozenset[str]:
        """Return the classes that inherit from ``owners`` or hold an instance of one."""
        return frozenset(
            name
            for name in self.classes
            if not owners.isdisjoint(self.mro(name))
            or any(
                not owners.isdisjoint(self.mro(kind))
                for base in self.mro(name)
                if base in self.classes
                for kind in self.classes[base].attributes.values()
            )
        )

    @cached_property
    def members(self) -> frozenset[str]:
        """Names of members of classes that communicate, depend on the rank, or hold what does."""
        names = {
            last
            for table in (self.communicating, self.predicates, self.guards)
            for owner, _, last in (full.rpartition(".") for full in table)
            if owner in self.classes
        }
        for known in self.classes.values():
            names.update(known.attributes)
        return frozenset(names)

    @cached_property
    def communicating(self) -> frozenset[str]:
        """Canonical names of all collectives, and of guards that hold one."""
        return frozenset(
            full
            for full, records in self.calls.items()
            if any(record.who in ("all", "group") for record in records)
        ) | {full for full, guard in self.guards.items() if guard.synchronises}

    @cached_property
    def rank_names(self) -> frozenset[str]:
        """Identifiers that hold, give or apply a test of something that differs between ranks."""
        found = {name for name, each in self.conventions.items() if each.varies}
        found.update(name.rpartition(".")[2] for name, p in self.predicates.items() if p.varies)
        found.update(
            name.rpartition(".")[2]
            for name, guard in self.guards.items()
            if guard.ranks != "all" or guard.synchronises
        )
        return frozenset(found)

    @cached_property
    def differing_names(self) -> frozenset[str]:
        """Identifiers of what differs between ranks without being a rank: clocks, random numbers.

        What is unlikely to differ is noticed where it is met; it is no reason to look further.
        """
        return frozenset(
            name.rpartition(".")[2] for name, each in self.divergent.items() if each.likely
        )

    @cached_property
    def differing_results(self) -> frozenset[str]:
        """Identifiers of calls whose result differs between ranks, or is there on the root only."""
        return (
            frozenset(
                name.rpartition(".")[2]
                for name, records in self.calls.items()
                if any(record.differs or record.result == "root" for record in records)
            )
            | self.collecting
        )

    @cached_property
    def collecting(self) -> frozenset[str]:
        """Identifiers of calls to which each rank gives what it has of its own."""
        return frozenset(
            name.rpartition(".")[2]
            for name, records in self.calls.items()
            if any(record.own for record in records)
        )

    @cached_property
    def rank_variables(self) -> frozenset[str]:
        """Environment variables that hold something that differs between ranks."""
        return frozenset(name for name, each in self.environment.items() if each.varies)

    @cached_property
    def rank_hooks(self) -> frozenset[str]:
        """Methods that a framework calls on some ranks only."""
        return frozenset(name for (_, name), hook in self.hooks.items() if hook.ranks != "all")

    @cached_property
    def acting(self) -> frozenset[str]:
        """Identifiers by which a collective is called, where no argument makes it one.

        A constructor is called by the name of its class; what an object does when it is called has
        no name.
        """
        names: set[str] = set()
        for full in self.communicating:
            owner, _, last = full.rpartition(".")
            records = self.calls.get(full, ())
            if last == "__init__":
                names.add(owner.rpartition(".")[2])
            elif last != "__call__" and not (records and all(r.when for r in records)):
                names.add(last)
        return frozenset(names)

    @cached_property
    def packages(self) -> frozenset[str]:
        """The packages without which nothing communicates: those of a framework."""
        names = (*self.communicating, *self.classes, *self.guards, *self._aliases)
        found = {name.partition(".")[0] for name in names if "." in name}
        records: list[Class | Guard] = [*self.classes.values(), *self.guards.values()]
        everyday = {
            record.name.partition(".")[0]
            for record in records
            if record.framework in self.frameworks and not self.frameworks[record.framework].imports
        }
        return frozenset(found - everyday - sys.stdlib_module_names)

    @cached_property
    def acting_marks(self) -> Mapping[str, frozenset[frozenset[str]]]:
        """Words that stand beside the identifier of a collective where it is one, all of a set.

        Of a method they are the name of its class, or one that its objects usually have; of a
        function the first and the last name of the module that it is imported from.
        """
        found: dict[str, set[frozenset[str]]] = {}
        usual: dict[str, set[str]] = {}
        for name, known in self.usual_names.items():
            for each in known:
                usual.setdefault(self.canonical(each.name), set()).add(name)
        for full in self.communicating:
            owner, _, last = full.rpartition(".")
            first, short = owner.partition(".")[0], owner.rpartition(".")[2]
            marks = found.setdefault(last, set())
            if owner in self.classes:
                marks.update(frozenset({name}) for name in {short, *usual.get(owner, ())})
            else:
                marks.add(frozenset({first, short}))
        return {last: frozenset(marks) for last, marks in found.items()}

    @cached_property
    def acting_settings(self) -> frozenset[str]:
        """Names of the arguments that make a call a collective."""
        return frozenset(
            name
            for full in self.communicating
            for record in self.calls.get(full, ())
            for name in record.when
        )

    @cached_property
    def interesting(self) -> frozenset[str]:
        """Identifiers through which something known enters a function.

        Members of classes are not among them: they matter only on an object that is known already.
        """
        names = set(self.conventions)
        names.update(
            name
            for name, classes in self.usual_names.items()
            if any(self.canonical(known.name) in self.telling_classes for known in classes)
        )
        for table in (self.communicating, self.predicates, self.guards):
            names.update(
                last
                for owner, _, last in (full.rpartition(".") for full in table)
                if owner not in self.classes
            )
        for full, returns in self.returns.items():
            if any(self.canonical(kind) in self.telling_classes for kind in returns.types if kind):
                names.add(full.rpartition(".")[2])
        told = {name for name, known in self.classes.items() if known.settings}
        names.update(full.rpartition(".")[2] for full in self.telling_classes | told)
        return frozenset(names - {"__init__", "__call__", "environ", "get"})

    @cached_property
    def givers(self) -> frozenset[str]:
        """Identifiers by which something that communicates enters a function.

        A collective is found only on a resolved owner, so a function that mentions none of these,
        nor calls one that does, cannot reach any by itself.
        """
        owners = {full.rpartition(".")[0] for full in self.communicating}
        classes = self._classes_around(owners)
        names = {name.rpartition(".")[2] for name in classes}
        for usual, known in self.usual_names.items():
            if any(self.canonical(each.name) in classes for each in known):
                names.add(usual)
        for full, returns in self.returns.items():
            if any(self.canonical(kind) in classes for kind in returns.types if kind):
                names.add(full.rpartition(".")[2])
        for full in self.communicating:
            owner, _, last = full.rpartition(".")
            if owner not in self.classes:
                names.add(last)
        return frozenset(names)

    @cached_property
    def writers(self) -> frozenset[str]:
        """Identifiers by which a function changes a file, looks for the name of a new one, or loads
        a state."""
        found = {"exists()"}
        for full, records in self.calls.items():
            if any(
                r.path and (r.who == "one" or (r.who, r.effect) == ("any", "load")) for r in records
            ):
                owner, _, last = full.rpartition(".")
                if last in AMBIGUOUS and owner in self.classes:
                    found.update(maker.rpartition(".")[2] for maker in self._makers(owner))
                elif last in AMBIGUOUS:
                    found.update((f"{owner.rpartition('.')[2]}.{last}", f"np.{last}"))
                elif last == "open":
                    found.add("open()")
                elif last != "__init__" and last not in AMBIGUOUS:
                    found.add(last)
        return frozenset(found)

    def _makers(self, kind: str) -> Iterator[str]:
        """Yield the functions that give an object of a class, or of one that inherits from it."""
        for full, returns in self.returns.items():
            if any(kind in self.mro(self.canonical(each)) for each in returns.types if each):
                yield full

    @cached_property
    def readers(self) -> frozenset[str]:
        """Identifiers by which a file is read, by which a rank gets a part of its own, and by which
        one gets what is a file or has methods that change files.

        Looking whether there is a file gives what is not worth executing a statement for.
        """
        looking = {full.rpartition(".")[2] for full, d in self.divergent.items() if not d.part}
        parts = {full.rpartition(".")[2] for full, d in self.divergent.items() if d.part}
        reading = frozenset(
            full.rpartition(".")[2]
            for full, records in self.calls.items()
            if any(r.who == "any" and r.path and r.effect == "read" for r in records)
        )
        owners = {"io.IOBase"} | {
            full.rpartition(".")[0]
            for full, records in self.calls.items()
            if any(record.who == "one" and record.path for record in records)
        }
        handles = {name for name in self.classes if not owners.isdisjoint(self.mro(name))}
        makers = chain.from_iterable(map(self._makers, owners & self.classes.keys()))
        giving = {full.rpartition(".")[2] for full in (*handles, *makers)}
        return (reading - looking) | parts | giving

    @cached_property
    def waits(self) -> frozenset[str]:
        """Identifiers by which ranks wait for each other, and do nothing else."""
        return frozenset(
            full.rpartition(".")[2]
            for full, records in self.calls.items()
            if any(record.effect == "barrier" for record in records)
        )
