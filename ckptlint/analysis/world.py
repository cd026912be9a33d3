"""What all rank classes share: the project, the knowledge, and which functions can matter.

A function is looked at when it mentions something that holds the rank and may reach a collective.
That is decided from identifiers, before anything is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ckptlint.analysis.attributes import Attributes, Writers
from ckptlint.analysis.holders import Holders
from ckptlint.analysis.partings import Partings
from ckptlint.analysis.reach import Mentions, Reach, View, Views, owned, resolve
from ckptlint.analysis.values import Site
from ckptlint.knowledge import Knowledge
from ckptlint.project import (
    ClassDefinition,
    Function,
    FunctionNode,
    Module,
    Project,
    dotted,
    last_name,
    walk,
)
from ckptlint.questions import Answers
from ckptlint.source import Source

_RANK_SOURCES = frozenset({"environ", "getenv"})
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BINDS = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete)

_MAX_HEIRS = 16  # classes, and files that name one


@dataclass(frozen=True)
class Digest:
    """What a statement can do, from its syntax alone.

    ``dull`` statements only compute unknowns from unknowns: when every name in ``loads`` holds an
    unknown, executing one comes to giving each of ``stores`` a new unknown.
    """

    dull: bool
    loads: frozenset[str]
    stores: frozenset[str]


_EXECUTED = Digest(False, frozenset(), frozenset())


class World:
    """One project under analysis: what is known of it before anything is executed.

    With ``failures``, an exception under a rank test is a way out of the function like any other,
    instead of a path that is none.
    """

    def __init__(
        self, project: Project, knowledge: Knowledge, holders: Holders, failures: bool = False
    ) -> None:
        self.failures = failures
        self.project = project
        self.knowledge = knowledge
        self.holders = holders
        self._questions = project.questions
        self._views = Views(holders.views)
        self._heirs: Answers[ClassDefinition, tuple[ClassDefinition, ...]] = {}
        self._descendants: Answers[ClassDefinition, tuple[ClassDefinition, ...]] = {}
        self._visible: Answers[Source, frozenset[Source]] = {}
        self._mentioned: Answers[frozenset[str], bool] = {}
        self._digests: Answers[ast.stmt, Digest] = {}
        self._holding: Answers[ClassDefinition, frozenset[str]] = {}
        self._setters: dict[Module, dict[str, tuple[Function, ...]]] = {}
        self._exits = frozenset(name.rpartition(".")[2] for name in knowledge.exits)
        self._telling = Reach(self._views, knowledge.interesting | _RANK_SOURCES)
        self._giving = Reach(self._views, knowledge.givers)
        self._wrapping = Reach(self._views, knowledge.wrappers)
        self._acting = Reach(self._views, knowledge.acting)
        self._partings = Partings(project, self._views, self.holders, self._acting, knowledge)
        self._differing = Reach(self._views, self.holders.names)
        several = self.holders.several  # what a project of one rank writes is of no interest
        self._writing = Reach(self._views, knowledge.writers if several else frozenset())
        self._readers = knowledge.readers if several else frozenset()
        self._attributes = Attributes(self._tells, project.questions)

    def mentions(self, node: ast.AST) -> Mentions:
        """Return the identifiers of a piece of syntax."""
        return self._views.mentions(node)

    def digest(self, module: Module, statement: ast.stmt) -> Digest:
        """Summarise a statement once."""
        return self._questions.remembered(
            self._digests, statement, lambda: self._digest(module, statement)
        )

    def _digest(self, module: Module, statement: ast.stmt) -> Digest:
        def telling(name: str) -> bool:
            return (
                self._telling.leads(module, name)
                or self._differing.leads(module, name)
                or self._writing.leads(module, name)
                or name in self._readers
            )

        match statement:
            case ast.Assign(value=ast.Constant(value=True | False)):
                return _EXECUTED  # a flag: it may be set under a test
        loads: set[str] = set()
        stores: set[str] = set()
        for node in walk(statement):
            if isinstance(node, ast.Raise) and (
                self.failures or not _only_refuses(statement, node)
            ):
                return _EXECUTED
            if isinstance(node, ast.Call) and self._ends(node.func):
                return _EXECUTED
            if isinstance(node, ast.While | ast.For) and self._writing.named(node):
                return _EXECUTED
            if isinstance(node, ast.Name):
                if telling(node.id):
                    return _EXECUTED
                (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
            elif isinstance(node, ast.Attribute):
                if telling(node.attr) or telling(owned(node)):
                    return _EXECUTED
                path = dotted(node)
                if path is not None:
                    (loads if isinstance(node.ctx, ast.Load) else stores).add(path)
            elif isinstance(node, (*_LEAVES, *_DEFINES, *_BINDS)):
                return _EXECUTED
        return Digest(True, frozenset(loads), frozenset(stores))

    def matters(self, module: Module, node: ast.AST) -> bool:
        """Say whether executing this may tell ranks apart, communicate, or change a file."""
        return (
            self.gives(module, node)
            or self.writes(module, node)
            or self.tests(module, node)
            or self._tells(module, node)
        )

    def _tells(self, module: Module, node: ast.AST) -> bool:
        return (
            self._telling.mentioned(module, node)
            or self._differing.mentioned(module, node)
            or self._writing.mentioned(module, node)
        )

    def _ends(self, callee: ast.expr) -> bool:
        """Say whether a call may be one that never returns."""
        return last_name(callee) in self._exits

    def interesting(self, module: Module, node: ast.AST) -> bool:
        """Say whether executing this may give anything but unknowns."""
        return self._telling.mentioned(module, node)

    def differs(self, module: Module, node: ast.AST) -> bool:
        """Say whether what this gives may depend on the rank, or differ without it."""
        return self._differing.mentioned(module, node)

    def writers(self, definition: ClassDefinition) -> Mapping[str, Writers]:
        """Return what a class's own code may put into each attribute of ``self``."""
        return self._attributes.writers(definition)

    def holding(self, definition: ClassDefinition) -> frozenset[str]:
        """Return the attributes into which a class's own statements may put something known."""
        return self._questions.remembered(
            self._holding, definition, lambda: self._find_holding(definition)
        )

    def _find_holding(self, definition: ClassDefinition) -> frozenset[str]:
        self.project.read(definition.module, definition.node)
        return frozenset(
            child.attr
            for node in walk(definition.node)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and self.interesting(definition.module, node)
            for child in walk(node)
            if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store)
        )

    def mentioned(self, names: Collection[str]) -> bool:
        """Say whether any file mentions one of these functions, going by their last names."""
        wanted = frozenset(name.rpartition(".")[2] for name in names)
        lexicon = self.project.lexicon
        return self._questions.remembered(
            self._mentioned, wanted, lambda: next(lexicon.mentioning(wanted), None) is not None
        )

    def gives(self, module: Module, node: ast.AST) -> bool:
        """Say whether something that communicates may enter here.

        A collective is found only on a resolved owner, so what does not mention one, nor calls
        what does, cannot reach any by itself.
        """
        return self._giving.mentioned(module, node)

    def tests(self, module: Module, node: ast.AST) -> bool:
        """Say whether something that holds the rank is mentioned here."""
        self.project.read(module, node)
        return self.holders.mentioned(module, self.mentions(node))

    def may_part(self, module: Module, node: FunctionNode) -> bool:
        """Say whether ranks may part in a function in a way that matters."""
        self.project.read(module, node)
        return self._partings.may_part(module, node)

    def wrapped_later(self, module: Module, node: ast.AST, call: ast.Call) -> bool:
        """Say whether a function wraps a model only after a call to which it passes it."""
        self.project.read(module, node)
        passed = {each.id for each in call.args if isinstance(each, ast.Name)}
        return bool(passed) and any(
            isinstance(part, ast.Call)
            and part.lineno > (call.end_lineno or call.lineno)
            and any(isinstance(each, ast.Name) and each.id in passed for each in part.args)
            and self._wrapping.leads(module, last_name(part))
            for part in walk(node)
        )

    def calls_received(self, module: Module, node: FunctionNode | ast.Lambda) -> bool:
        """Say whether what a function does depends on a function or module it is given."""
        self.project.read(module, node)
        return self._partings.calls_received(module, node)

    def callers(self, function: Function) -> Iterator[tuple[Site, Function | None]]:
        """Yield the functions that may call a function, and files (None) whose top level may.

        A method such as ``__enter__`` is called wherever its class is mentioned.
        """
        name = function.name
        sought: Function | ClassDefinition = function
        if function.owner is not None and function.name.startswith("__"):
            name, sought = function.owner.name, function.owner
        for module in self._seeing(function.module, self.project.lexicon.mentioning({name})):
            view = self._views.of(module)

            def leads(said: Mentions, view: View = view) -> bool:
                if sought is not function:
                    return name in said.names and view.name(name) is sought
                return said.any_of({name}) and function in view.targets(said)

            for caller in module.functions:
                if leads(self._views.said(caller)):
                    yield Site(module, caller.node), caller
            # A file whose top level only starts a program has no other half of anything.
            top = module.top_expressions
            if any(map(leads, map(self.mentions, top))) and self._acts_besides(module, top, name):
                yield Site(module, module.tree), None

    def setters(self, module: Module) -> Mapping[str, tuple[Function, ...]]:
        """Return the functions of a module that set its variables, by the variables' names."""
        known = self._setters.get(module)
        if known is None:
            known = {}
            for function, names in module.declared.items():
                for name in names:
                    known[name] = (*known.get(name, ()), function)
            self._setters[module] = known
        return known

    def _acts_besides(self, module: Module, nodes: Iterable[ast.AST], name: str) -> bool:
        return any(
            self._acting.leads(module, each)
            for said in map(self.mentions, nodes)
            for each in said.names | said.attributes
            if each != name
        )

    def descendants(self, definition: ClassDefinition) -> tuple[ClassDefinition, ...]:
        """Return the classes of the project that inherit from a class, at any depth.

        A class with very many of them is a framework's own; which of them is meant where, nothing
        in the source tells, so none is returned.
        """
        return self._questions.remembered(
            self._descendants, definition, lambda: self._find_descendants(definition)
        )

    def _find_descendants(self, definition: ClassDefinition) -> tuple[ClassDefinition, ...]:
        found: dict[ClassDefinition, None] = {}
        pending = [definition]
        while pending and len(found) <= _MAX_HEIRS:
            for heir in self.heirs(pending.pop()):
                if heir is not definition and heir not in found:
                    found[heir] = None
                    pending.append(heir)
        return tuple(found) if len(found) <= _MAX_HEIRS else ()

    def heirs(self, definition: ClassDefinition) -> tuple[ClassDefinition, ...]:
        """Return the classes of the project that name a class among their bases."""
        return self._questions.remembered(
            self._heirs, definition, lambda: tuple(self._find_heirs(definition))
        )

    def _find_heirs(self, definition: ClassDefinition) -> Iterator[ClassDefinition]:
        sources = self.project.lexicon.inheriting(definition.name)
        few = sources if len(sources) <= _MAX_HEIRS else ()
        for module in self._seeing(definition.module, few):
            for symbol in module.symbols.values():
                if (
                    isinstance(symbol, ClassDefinition)
                    and any(last_name(base) == definition.name for base in symbol.node.bases)
                    and resolve(module, definition.name) is definition
                ):
                    yield symbol

    def _seeing(self, target: Module, sources: Iterable[Source]) -> Iterator[Module]:
        """Parse those of some files that may have a name from a module."""
        for source in sources:
            find = partial(self.project.visible, source)
            visible = self._questions.remembered(self._visible, source, find)
            if target.source in visible:
                module = self.project.parsed(source, "outline")
                if module is not None:
                    yield module

    def writes(self, module: Module, node: ast.AST) -> bool:
        """Say whether executing this may change a file, or load a state."""
        return self._writing.mentioned(module, node)

    def shares(self, module: Module, node: ast.AST, owner: ast.AST | None = None) -> bool:
        """Say whether a function changes files or loads a state, and it or its class knows of
        ranks."""
        around = node if owner is None else owner
        self.project.read(module, around)
        if module.source in self.holders.speaking and self._writing.named(node):
            return self.gives(module, around) or self.tests(module, around)
        return self.holders.ranked(module, self.mentions(node)) and self.writes(module, node)


def telling(knowledge: Knowledge, holders: Holders) -> frozenset[str]:
    """Return the identifiers to which it is asked whether a name leads."""
    return frozenset().union(
        _RANK_SOURCES,
        knowledge.interesting,
        knowledge.givers,
        knowledge.wrappers,
        knowledge.acting,
        knowledge.writers,
        holders.names,
    )


def _only_refuses(statement: ast.stmt, node: ast.Raise) -> bool:
    """Say whether an exception only ends ``if`` blocks without ``else``: the usual check."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and any(
            child is node or (isinstance(child, ast.If) and _only_refuses(child, node))
            for child in statement.body
        )
    )
