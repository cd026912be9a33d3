"""Names that hold the rank: those of the facts, and those to which a project gives it.

``self.leads = get_rank() == 0`` makes ``leads`` such a name, ``return rank == 0`` the function
around it. Names are enough to find the functions in which a rank may be tested, so that no other
is executed; what they hold there is for the interpreter to say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ckptlint.analysis.reach import Mentions, View, Views
from ckptlint.knowledge import Knowledge
from ckptlint.memo import Memo, digest
from ckptlint.project import (
    ClassDefinition,
    Function,
    FunctionNode,
    Module,
    Project,
    every_statement,
    last_name,
    walk,
)
from ckptlint.source import Source, SourceError

_ROUNDS = 4
_ROUNDS_WITHOUT_RANK = 2
_MAX_FILES = 40
_KEPT = ("int", "bool", "str")
_Assigned = tuple[list[ast.expr], ast.expr]
# A function, by its file and line, and those of its parameters that hold the rank.
_Receiver = tuple[str, int, tuple[str, ...]]


@dataclass(frozen=True)
class _Body:
    """What of a function's syntax tells where the rank goes.

    A constant that is assigned or returned under a test tells what the test gave: ``assignments``
    and ``returned`` hold the test then. ``runs_others`` says that it runs what it is given, or
    surrounds it as a context manager: on the ranks that it picks.
    """

    statements: tuple[ast.If | ast.Global, ...]
    assignments: tuple[_Assigned, ...]
    returned: tuple[ast.expr, ...]
    calls: tuple[ast.Call, ...]
    tests: tuple[ast.expr, ...]
    runs_others: bool

    @classmethod
    def of(cls, node: FunctionNode) -> _Body:
        parts = list(walk(node))
        calls = tuple(part for part in parts if isinstance(part, ast.Call))
        received = {part.arg for part in parts if isinstance(part, ast.arg)}
        runs = any(isinstance(c.func, ast.Name) and c.func.id in received for c in calls)
        assigned = _assignments(part for part in parts if isinstance(part, ast.stmt))
        returned = [part.value for part in parts if isinstance(part, ast.Return) and part.value]
        for part in parts:
            if isinstance(part, ast.If):
                assigned.extend((targets, part.test) for targets in flags_of(part))
                returned.extend(part.test for each in every_statement([part]) if _answers(each))
        return cls(
            tuple(part for part in parts if isinstance(part, ast.If | ast.Global)),
            tuple(assigned),
            tuple(returned),
            tuple(call for call in calls if call.args or call.keywords),
            tuple(part.test for part in parts if isinstance(part, ast.If | ast.IfExp)),
            runs or any(isinstance(part, ast.Yield) for part in parts),
        )


class Holders:
    """The names of one project that hold the rank, and the files that mention one.

    ``names`` hold something that differs between ranks, of which ``ranks`` hold the rank itself;
    ``sources`` are the files in which ranks may part, ``speaking`` those that mention the rank, or
    something that communicates and that few files mention.
    """

    def __init__(self, project: Project, knowledge: Knowledge, memo: Memo | None = None) -> None:
        self._project = project
        self._knowledge = knowledge
        self._memo = memo or Memo()
        self._lexicon = project.lexicon
        self.views = Views()
        self._environment = knowledge.rank_variables
        self.names = knowledge.rank_names
        self.sources: dict[Source, None] = {}
        self._bodies: dict[Function, _Body] = {}
        self._followed: set[_Receiver] = set()
        ranks = self.names | self._environment | knowledge.rank_hooks
        for source in self._lexicon.mentioning(ranks):
            self._is_whole(source)  # a torn file is told, whatever comes into it
        self._spread(ranks, self.concerned, _ROUNDS)
        # Clocks and random numbers are everywhere. They matter where something communicates that
        # few files mention: in a large library most files only run models.
        self.ranks = self.names
        few = self.in_few_files(knowledge.acting)
        self.speaking = frozenset({*self.sources, *self._lexicon.mentioning(few)})
        differing = knowledge.differing_names | self.in_few_files(knowledge.differing_results)
        self.names |= differing
        marked = {*filter(self.concerned, self._marked(few, knowledge) | {*self.sources})}
        self._spread(differing, marked.__contains__, _ROUNDS_WITHOUT_RANK)

    @cached_property
    def several(self) -> bool:
        """Whether the project may run as several ranks: it names a framework, or a variable that
        holds the rank. What others write is of no interest."""
        names = self._knowledge.import_roots | self._knowledge.rank_variables
        return next(self._lexicon.mentioning(names), None) is not None

    @cached_property
    def looked_at(self) -> frozenset[Source]:
        """The files in which ranks may get in each other's way: those that hold the rank, and those
        whose ranks wait for each other."""
        if not self.several:
            return frozenset(self.sources)
        waits = self.in_few_files(self._knowledge.waits)
        sources = filter(self.concerned, self._lexicon.mentioning(waits))
        return frozenset(self.sources).union(filter(self._is_whole, sources))

    @cached_property
    def used(self) -> frozenset[Source]:
        """The files to which the imports of one lead that holds the rank: parts of a program that
        knows of several."""
        users = filter(self.concerned, self.sources)
        return self._project.led_to(users) if self.several else frozenset()

    def concerned(self, source: Source) -> bool:
        """Say whether something that communicates may come into a file by its imports."""
        return source.display in self._concerned

    @cached_property
    def _concerned(self) -> frozenset[str]:
        return frozenset(self._memo.answer("concerned", self._find_concerned))

    def _find_concerned(self) -> list[str]:
        importing = self._project.importing(self._knowledge.packages)
        return sorted(source.display for source in self._project.leading_to(importing))

    def _is_whole(self, source: Source) -> bool:
        """Say whether a file can be parsed; a torn one is noted by the project."""
        self._project.questions.ask("file", source.display)
        torn = self._memo.answer(f"torn {source.display}", lambda: self._tear(source))
        if torn is not None:
            self._project.broken.setdefault(source, SourceError(*torn))
        return torn is None

    def _tear(self, source: Source) -> list[object] | None:
        if self._project.parsed(source) is not None:
            return None
        error = self._project.broken[source]
        return [error.reason, error.line, error.cell]

    def _marked(self, names: Iterable[str], knowledge: Knowledge) -> set[Source]:
        """Return the files in which one of some collectives stands beside what it belongs to."""
        found: set[Source] = set()
        for name in names:
            files = set(self._lexicon.mentioning((name,))) - found
            for words in knowledge.acting_marks.get(name, ()) if files else ():
                beside = (set(self._lexicon.mentioning((word,))) for word in words)
                found |= files.intersection(*beside)
        return found

    def _spread(
        self, names: Collection[str], wanted: Callable[[Source], bool], rounds: int
    ) -> None:
        """Find what names the code of some files gives what ``names`` hold, and so on."""
        for _ in range(rounds):
            sources = filter(wanted, self._lexicon.mentioning(names))
            whole = [source for source in sources if self._is_whole(source)]
            self.sources.update(dict.fromkeys(whole))
            names = self.in_few_files(self._given_by(whole, names) - self.names)
            if not names:
                break
            self.names |= names

    def _given_by(self, sources: Iterable[Source], new: Collection[str]) -> set[str]:
        """Return the names to which files, and the functions that these call, give the rank."""
        state = digest([*sorted(new), "", *sorted(self.names)])
        given: set[str] = set()
        receivers: list[_Receiver] = []

        def follow(found: list[Any]) -> None:
            names, received = found
            given.update(names)
            for path, line, held in received:
                receiver = (path, line, tuple(held))
                if receiver not in self._followed:
                    self._followed.add(receiver)
                    receivers.append(receiver)

        for source in sources:
            key = f"given {state} {source.display}"
            follow(self._memo.answer(key, partial(self._given, source, new)))
        while receivers:
            receiver = receivers.pop()
            key = f"given {state} {receiver}"
            follow(self._memo.answer(key, partial(self._continued, *receiver)))
        return given

    def in_few_files(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of some names that stand in few files: the others say nothing."""
        return frozenset(
            name
            for name in names
            if self._lexicon.count(name) <= _MAX_FILES and not name.startswith("__")
        )

    def mentioned(self, module: Module, said: Mentions) -> bool:
        """Say whether what differs between ranks may be tested where these identifiers stand."""
        return self._mentions(module, said, self.names)

    def ranked(self, module: Module, said: Mentions) -> bool:
        """Say whether the rank itself may be tested where these identifiers of a file stand."""
        return self._mentions(module, said, self.ranks)

    def _mentions(self, module: Module, said: Mentions, names: Collection[str]) -> bool:
        return (
            said.any_of(names)
            or not self._environment.isdisjoint(said.strings)
            or any(
                not module.aliases[name].isdisjoint(names)
                for name in said.names
                if name in module.aliases
            )
        )

    def _given(self, source: Source, new: Collection[str]) -> list[Any]:
        """Return the names, and the functions, to which the code of a file gives the rank, by way
        of ``new`` names.

        What other names lead to was found before: whatever carries one carries it by itself.
        """
        module = self._project.module(source)
        fields: list[_Assigned] = [
            ([ast.Name(name)], value)
            for symbol in module.symbols.values()
            if isinstance(symbol, ClassDefinition)
            for name, (_, value) in symbol.fields.items()
            if value is not None
        ]
        aliases = {name for name, known in module.aliases.items() if not known.isdisjoint(new)}
        wanted = {name.encode() for name in aliases.union(new)}
        top = _assignments(module.top_statements)
        found: list[str | _Receiver] = [*self._held([*top, *fields], frozenset())]
        view = View(module)
        for function in module.functions:
            if not wanted.isdisjoint(source.words(function.node)):
                found += self._inside(view, function, frozenset())
        return _plain(found)

    def _continued(self, path: str, line: int, parameters: Iterable[str]) -> list[Any]:
        """Go on in a function whose ``parameters`` hold the rank."""
        module = self._project.module(self._project.named[path])
        found: list[str | _Receiver] = []
        for function in module.functions:
            if function.node.lineno == line:
                found += self._inside(View(module), function, frozenset(parameters))
        return _plain(found)

    def _inside(
        self, view: View, function: Function, parameters: frozenset[str]
    ) -> Iterator[str | _Receiver]:
        """Yield what a function gives the rank, which ``parameters`` hold on entry."""
        if isinstance(function.node, ast.Lambda):
            return
        body = self._bodies.get(function)
        if body is None:
            body = self._bodies[function] = _Body.of(function.node)
        assignments = body.assignments
        holding = parameters
        while more := frozenset(self._held(assignments, holding)) - holding:
            holding |= more
        for targets, value in assignments:
            if self._carries(value, holding):
                yield from (t.attr for t in _leaves(targets) if isinstance(t, ast.Attribute))
        if any(self._carries(value, holding) for value in body.returned):
            yield function.name
        for statement in body.statements:
            if isinstance(statement, ast.If) and self._carries(statement.test, holding):
                if any(isinstance(each, ast.Raise) for each in every_statement([statement])):
                    yield function.name
            elif isinstance(statement, ast.Global):
                yield from holding.intersection(statement.names)
        for call in body.calls:
            yield from self._passed(view, call, holding)
        if body.runs_others and any(self._carries(test, holding) for test in body.tests):
            yield function.name

    def _passed(
        self, view: View, call: ast.Call, holding: frozenset[str]
    ) -> Iterator[str | _Receiver]:
        """Follow the rank into the functions and constructors of the project that receive it."""
        places = [i for i, each in enumerate(call.args) if self._carries(each, holding)]
        keywords = [k.arg for k in call.keywords if k.arg and self._carries(k.value, holding)]
        if not (places or keywords):
            return
        if isinstance(call.func, ast.Name):
            symbol = view.name(call.func.id)
            if isinstance(symbol, ClassDefinition) and "__init__" not in symbol.methods:
                self._project.questions.ask("file", symbol.module.source.display)
                names = list(symbol.fields)
                yield from (name for i, name in enumerate(names) if i in places)
                yield from (name for name in keywords if name in names)
            elif isinstance(symbol, ClassDefinition):
                yield from _received(symbol.methods["__init__"], places, keywords)
            elif isinstance(symbol, Function):
                yield from _received(symbol, places, keywords)
        elif isinstance(call.func, ast.Attribute):
            for target in view.attribute(call.func.attr):
                yield from _received(target, places, keywords)

    def _held(self, assignments: Iterable[_Assigned], holding: frozenset[str]) -> Iterator[str]:
        """Yield the plain names that receive the rank."""
        for targets, value in assignments:
            if self._carries(value, holding):
                yield from (t.id for t in _leaves(targets) if isinstance(t, ast.Name))

    def _carries(self, node: ast.expr, holding: Collection[str]) -> bool:
        """Say whether an expression hands on the rank that is in it: a test of it, a copy."""
        match node:
            case ast.Name():
                return node.id in holding or node.id in self.names
            case ast.Attribute():
                return node.attr in self.names
            case ast.Call():
                if last_name(node.func) in self.names:
                    return True
                kept = isinstance(node.func, ast.Name) and node.func.id in _KEPT
                return any(
                    self._variable(each) or (kept and self._carries(each, holding))
                    for each in node.args
                )
            case ast.Subscript():
                return self._variable(node.slice)
            case ast.Compare():
                parts = [node.left, *node.comparators]
            case ast.BoolOp():
                parts = node.values
            case ast.UnaryOp():
                parts = [node.operand]
            case ast.BinOp():
                parts = [node.left, node.right]
            case ast.IfExp():
                parts = [node.test, node.body, node.orelse]
            case ast.NamedExpr():
                parts = [node.value]
            case ast.Lambda():
                parts = [node.body]
            case ast.Tuple():
                parts = node.elts
            case _:
                return False
        return any(self._carries(part, holding) for part in parts)

    def _variable(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and node.value in self._environment


def _received(
    function: Function, places: Iterable[int], keywords: Iterable[str]
) -> Iterator[_Receiver]:
    """Yield a function with those of its parameters that a call gives the rank."""
    function.module.project.questions.ask("file", function.module.source.display)
    arguments = function.node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if function.owner is not None and not function.decorated_by("staticmethod"):
        names = names[1:]
    every = {*names, *(each.arg for each in arguments.kwonlyargs)}
    held = {names[i] for i in places if i < len(names)} | (every & set(keywords))
    if held:
        yield (function.module.source.display, function.node.lineno, tuple(sorted(held)))


def _plain(given: Iterable[str | _Receiver]) -> list[Any]:
    """Return names and receivers as JSON has them."""
    every = set(given)
    names = sorted(each for each in every if isinstance(each, str))
    return [names, sorted(each for each in every if not isinstance(each, str))]


def _assignments(statements: Iterable[ast.stmt]) -> list[_Assigned]:
    found: list[_Assigned] = []
    for statement in statements:
        if isinstance(statement, ast.Assign):
            found.append((statement.targets, statement.value))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            found.append(([statement.target], statement.value))
    return found


def flags_of(test: ast.If) -> Iterator[list[ast.expr]]:
    """Yield what a block and its alternative assign true, false or None to."""
    for statement in every_statement([test]):
        match statement:
            case ast.Assign(targets=targets, value=ast.Constant(value=True | False | None)):
                yield targets


def _answers(statement: ast.stmt) -> bool:
    """Say whether a statement returns true or false."""
    match statement:
        case ast.Return(value=ast.Constant(value=True | False)):
            return True
    return False


def _leaves(targets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from _leaves(target.elts)
        else:
            yield target
