"""Whether a name leads to something of interest, through the functions of the project.

Names are resolved as far as imports and definitions go: a plain name to what the module binds, an
attribute to the functions of that name in the files that the module can see. So too much is let
through rather than too little, nothing has to be executed, and only files that a question leads to
are parsed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from ckptlint.analysis.naming import looks_for_a_name
from ckptlint.knowledge import AMBIGUOUS
from ckptlint.project import ClassDefinition, Function, Import, Module, children
from ckptlint.questions import Answers, Questions
from ckptlint.source import Source

_HOPS = 6


class View:
    """What a module can see: its names, and the methods of the classes around it."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._questions = module.project.questions
        self._names: Answers[str, Function | ClassDefinition | Module | None] = {}
        self._attributes: Answers[str, tuple[Function, ...]] = {}
        self._bound: Answers[str, tuple[Module, ...]] = {}
        self._visible: Answers[str, frozenset[Source]] = {}

    def name(self, name: str) -> Function | ClassDefinition | Module | None:
        """Return what a plain name leads to, if it is something of the project."""
        return self._questions.remembered(self._names, name, lambda: self._find(name))

    def _find(self, name: str) -> Function | ClassDefinition | Module | None:
        found = resolve(self.module, name)
        if found is None:
            for names in self.module.local_imports:
                if name in names:
                    found = found or _imported(self.module, names[name], _HOPS)
        return found

    @property
    def _modules(self) -> tuple[Module, ...]:
        """The modules of the project that the file's imports bind."""
        return self._questions.remembered(self._bound, "", self._find_modules)

    def _find_modules(self) -> tuple[Module, ...]:
        found = (
            self.name(name)
            for name, symbol in self.module.symbols.items()
            if isinstance(symbol, Import)
        )
        return tuple(module for module in found if isinstance(module, Module))

    def attribute(self, name: str) -> tuple[Function, ...]:
        """Return the functions that an attribute of this name may lead to."""
        return self._questions.remembered(
            self._attributes, name, lambda: tuple(self._functions(name))
        )

    def _functions(self, name: str) -> Iterator[Function]:
        for bound in self._modules:
            definition = bound.symbols.get(name)
            if isinstance(definition, ClassDefinition):
                yield from _unnamed(definition)
        project = self.module.project
        defining = project.lexicon.defining(name)
        if not defining:
            return
        visible = self._questions.remembered(
            self._visible, "", lambda: project.visible(self.module.source)
        )
        for source in defining:
            if source not in visible:
                continue
            module = project.parsed(source, "outline")
            if module is None:
                continue
            for symbol in module.symbols.values():
                if isinstance(symbol, ClassDefinition) and name in symbol.methods:
                    yield symbol.methods[name]
                elif (
                    isinstance(symbol, Function)
                    and symbol.name == name
                    and module is not self.module
                ):
                    yield symbol

    def targets(self, said: Mentions) -> Iterator[Function]:
        """Yield the functions that mentioning these names may lead to."""
        for name in said.names:
            symbol = self.name(name)
            if isinstance(symbol, Function):
                yield symbol
            elif isinstance(symbol, ClassDefinition):
                yield from _unnamed(symbol)
        for name in said.attributes:
            yield from self.attribute(name)


def _unnamed(definition: ClassDefinition) -> Iterator[Function]:
    """Yield the methods that run without being named where a class is: ``__init__`` and such."""
    return (method for name, method in definition.methods.items() if name.startswith("__"))


def resolve(
    module: Module, name: str, hops: int = _HOPS
) -> Function | ClassDefinition | Module | None:
    """Follow a name of a module through imports to a definition of the project."""
    found = _bound(module, name, hops)
    if found is None:
        for star in module.project.giving(module.source, name, "outline"):
            if isinstance(star, Module):
                found = found or _bound(star, name, hops)
    return found


def _bound(module: Module, name: str, hops: int) -> Function | ClassDefinition | Module | None:
    symbol = module.symbols.get(name)
    return _imported(module, symbol, hops) if isinstance(symbol, Import) else symbol


def _imported(
    module: Module, target: Import, hops: int
) -> Function | ClassDefinition | Module | None:
    if not hops:
        return None
    found = module.project.find(module, target.module, target.level, "outline")
    if not target.name:
        return found
    if found is not None and found is not module:
        symbol = resolve(found, target.name, hops - 1)
        if symbol is not None:
            return symbol
    inner = ".".join(part for part in (target.module, target.name) if part)
    return module.project.find(module, inner, target.level, "outline")


class Mentions:
    """The identifiers of a piece of syntax: plain names, attributes, and others.

    ``strings`` are strings that are identifiers, and the names of keyword arguments. An attribute
    that many things have (``os.remove``, ``list.remove``) is told from others by what it belongs
    to: ``os.remove`` is among the attributes as well. A file that is opened for writing is the name
    ``open()``, a loop that looks for the free name of one ``exists()``.
    """

    __slots__ = ("attributes", "names", "strings")

    def __init__(self, *nodes: ast.AST) -> None:
        names: set[str] = set()
        attributes: set[str] = set()
        strings: set[str] = set()
        stack = list(nodes)
        while stack:
            current = stack.pop()
            if isinstance(current, ast.Name):
                names.add(current.id)
                continue
            if isinstance(current, ast.Attribute):
                attributes.add(current.attr)
                if current.attr in AMBIGUOUS:
                    attributes.add(owned(current))
            elif isinstance(current, ast.Call) and _opens_to_write(current):
                names.add("open()")
            elif isinstance(current, ast.While | ast.For) and looks_for_a_name(current):
                names.add("exists()")
            elif isinstance(current, ast.Constant):
                if isinstance(current.value, str) and current.value.isidentifier():
                    strings.add(current.value)
                continue
            elif isinstance(current, ast.keyword) and current.arg is not None:
                strings.add(current.arg)
            stack += children(current)
        self.names = frozenset(names)
        self.attributes = frozenset(attributes)
        self.strings = frozenset(strings)

    def any_of(self, names: Collection[str]) -> bool:
        """Say whether one of some names or attributes is mentioned."""
        return not (self.names.isdisjoint(names) and self.attributes.isdisjoint(names))


def owned(node: ast.Attribute) -> str:
    """Return an attribute that many things have with the name that it belongs to."""
    if node.attr in AMBIGUOUS and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.attr


def _opens_to_write(node: ast.Call) -> bool:
    if not (isinstance(node.func, ast.Name) and node.func.id == "open"):
        return False
    modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    return any(isinstance(m, ast.Constant) and not {*str(m.value)}.isdisjoint("wax") for m in modes)


class Views:
    """What is known of modules and functions without executing them, remembered.

    Of ``others`` the identifiers in each piece of syntax are taken over, which depend on nothing.
    """

    def __init__(self, others: Views | None = None) -> None:
        self._views: dict[Module, View] = {}
        self._mentions: dict[ast.AST, Mentions] = others._mentions if others is not None else {}

    def of(self, module: Module) -> View:
        """Return what a module can see."""
        known = self._views.get(module)
        if known is None:
            known = self._views[module] = View(module)
        return known

    def said(self, function: Function) -> Mentions:
        """Return the identifiers of a function of any file."""
        source = function.module.source
        function.module.project.questions.ask("said", f"{source.display}:{function.qualname}")
        return self.mentions(function.node)

    def mentions(self, node: ast.AST) -> Mentions:
        """Return the identifiers of a piece of syntax, in a file of which all was asked for."""
        known = self._mentions.get(node)
        if known is None:
            known = self._mentions[node] = Mentions(node)
        return known


class Reach:
    """Which names, in which modules, lead to one of some identifiers (``seeds``)."""

    def __init__(self, views: Views, seeds: frozenset[str]) -> None:
        self._views = views
        self._seeds = seeds
        self._leads: Answers[tuple[Module, str], bool] = {}
        self._mentioned: Answers[tuple[Module, ast.AST], bool] = {}
        self._known: Answers[Function, bool] = {}

    def mentioned(self, module: Module, node: ast.AST) -> bool:
        """Say whether a piece of syntax mentions a name that leads there."""
        module.project.read(module, node)
        said = self._views.mentions(node)
        if said.any_of(self._seeds):
            return True
        return module.project.questions.remembered(
            self._mentioned,
            (module, node),
            lambda: any(self.leads(module, name) for name in said.names | said.attributes),
        )

    def named(self, node: ast.AST) -> bool:
        """Say whether a piece of syntax mentions one of the identifiers itself."""
        return self._views.mentions(node).any_of(self._seeds)

    def leads(self, module: Module, name: str) -> bool:
        """Say whether a name, plain or as an attribute, leads there in this module."""
        if name in self._seeds:
            return True
        return module.project.questions.remembered(
            self._leads, (module, name), lambda: self._find(module, name)
        )

    def _find(self, module: Module, name: str) -> bool:
        return any(
            original in self._seeds or self._lead(module, original)
            for original in module.originals(name)
        )

    def _lead(self, module: Module, name: str) -> bool:
        view = self._views.of(module)
        symbol = view.name(name)
        if isinstance(symbol, Function) and self.reaches(symbol):
            return True
        if isinstance(symbol, ClassDefinition) and any(map(self.reaches, symbol.methods.values())):
            return True
        return any(map(self.reaches, view.attribute(name)))

    def reaches(self, start: Function) -> bool:
        """Say whether a function mentions one of the identifiers, or a function that does."""
        questions = start.module.project.questions
        if start not in self._known:
            with questions.apart() as asked:
                passed, found = self._walk(start, questions)
            self._known.update(dict.fromkeys(passed, (found, asked)))
        found, asked = self._known[start]
        questions.use(asked)
        return found

    def _walk(self, start: Function, questions: Questions) -> tuple[Iterable[Function], bool]:
        """Go through what a function mentions, what that mentions, and so on; return the functions
        of which it is known now whether they lead there, and whether they do."""
        came_from: dict[Function, Function | None] = {start: None}
        queue = [start]
        while queue:
            function = queue.pop()
            found, asked = self._known.get(function, (False, None))
            if asked is not None:
                questions.use(asked)
            if found or self._direct(function):
                steps: list[Function] = []
                step: Function | None = function
                while step is not None:
                    steps.append(step)
                    step = came_from[step]
                return steps, True
            if asked is not None:
                continue
            for target in self._views.of(function.module).targets(self._views.said(function)):
                if target not in came_from:
                    came_from[target] = function
                    queue.append(target)
        return came_from, False

    def _direct(self, function: Function) -> bool:
        said = self._views.said(function)
        if said.any_of(self._seeds):
            return True
        module = function.module
        return any(
            not self._seeds.isdisjoint(module.originals(name))
            for name in said.names
            if name in module.renames
        )
