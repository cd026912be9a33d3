"""The project: its modules, what they define, and where an import leads.

Everything here is syntax and file paths; what values names hold is the analysis's business.
Modules are parsed when they are first asked for.
"""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from ckptlint.lexicon import Index, Lexicon
from ckptlint.questions import Answers, Questions
from ckptlint.source import Source, SourceError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Asking = Literal["file", "outline"]
_SOURCE_FOLDERS = ("src", "source", "lib", "python")


@dataclass(frozen=True, eq=False)
class Function:
    """A function or method as defined in a module (lambdas included)."""

    module: Module
    node: FunctionNode | ast.Lambda
    qualname: str
    owner: ClassDefinition | None = None

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @cached_property
    def decorators(self) -> tuple[ast.expr, ...]:
        """Decorator expressions, outermost first."""
        return () if isinstance(self.node, ast.Lambda) else tuple(self.node.decorator_list)

    def decorated_by(self, *names: str) -> bool:
        """Say whether a decorator ends in one of ``names`` (``property``, ``x.setter``, ...)."""
        return any(last_name(decorator) in names for decorator in self.decorators)


@dataclass(frozen=True, eq=False)
class ClassDefinition:
    """A class as defined in a module."""

    module: Module
    node: ast.ClassDef
    qualname: str

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.node.name

    @cached_property
    def methods(self) -> Mapping[str, Function]:
        """Methods by name; the last definition of a name wins, a property's getter stays."""
        found: dict[str, Function] = {}
        for statement in _statements(self.node.body):
            if isinstance(statement, FunctionNode):
                method = Function(self.module, statement, f"{self.qualname}.{statement.name}", self)
                if not method.decorated_by("setter", "deleter", "overload"):
                    found[statement.name] = method
        return found

    @cached_property
    def fields(self) -> Mapping[str, tuple[ast.expr | None, ast.expr | None]]:
        """Names assigned in the class body: annotation and value."""
        found: dict[str, tuple[ast.expr | None, ast.expr | None]] = {}
        for statement in _statements(self.node.body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = (statement.annotation, statement.value)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        found[target.id] = (None, statement.value)
        return found

    @cached_property
    def writers(self) -> Mapping[str, tuple[Function, ...]]:
        """For each attribute of ``self``, the methods that assign it, or hand it to a function that
        may change what it is; ``__init__`` first."""
        found: dict[str, dict[Function, None]] = {}
        for method in sorted(self.methods.values(), key=lambda m: m.name != "__init__"):
            arguments = method.node.args
            first = [*arguments.posonlyargs, *arguments.args][:1]
            if not first:
                continue
            for node in walk(method.node):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.ctx, ast.Store)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == first[0].arg
                ):
                    found.setdefault(node.attr, {})[method] = None
            for handed, _ in handed_on(method.node, first[0].arg):
                found.setdefault(handed.attr, {})[method] = None
        return {name: tuple(methods) for name, methods in found.items()}


@dataclass(frozen=True)
class Import:
    """A name bound by an import: the module, and the name taken from it ("" for the module)."""

    module: str
    name: str
    level: int = 0


@dataclass(frozen=True, eq=False)
class Module:
    """One parsed file of the project."""

    source: Source
    project: Project
    symbols: dict[str, Function | ClassDefinition | Import] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    _around: dict[ast.AST, Sequence[str]] = field(default_factory=dict)

    @property
    def tree(self) -> ast.Module:
        """The syntax tree (raises SourceError)."""
        return self.source.tree

    @cached_property
    def name(self) -> str:
        """The dotted name under which others import the file."""
        head, _, rest = self.project.dotted(str(self.source.path)).partition(".")
        return rest if head in _SOURCE_FOLDERS else f"{head}.{rest}".strip(".")

    @cached_property
    def imports(self) -> frozenset[str]:
        """Top-level names of all modules imported anywhere in the file."""
        roots: set[str] = set()
        for node in self.import_statements:
            if isinstance(node, ast.Import):
                roots.update(alias.name.partition(".")[0] for alias in node.names)
            elif node.module and not node.level:
                roots.add(node.module.partition(".")[0])
        return frozenset(roots)

    @cached_property
    def import_statements(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """Every import statement of the file, those in functions included."""
        return tuple(
            statement
            for statement in every_statement(self.tree.body)
            if isinstance(statement, ast.Import | ast.ImportFrom)
        )

    @cached_property
    def aliases(self) -> Mapping[str, set[str]]:
        """What ``import a as b`` binds under another name: the names of what it may stand for."""
        found: dict[str, set[str]] = defaultdict(set)
        for statement in self.import_statements:
            for name, target in imported_names(statement):
                original = (target.name or target.module).rpartition(".")[2]
                if original != name:
                    found[name].add(original)
        return found

    @cached_property
    def renames(self) -> Mapping[str, set[str]]:
        """The aliases, and what ``b = x.a`` at the top of the file binds under another name."""
        found = defaultdict(set, {name: set(names) for name, names in self.aliases.items()})
        for assignment in self.top_statements:
            if isinstance(assignment, ast.Assign):
                read = {
                    node.attr if isinstance(node, ast.Attribute) else node.id
                    for node in walk(assignment.value)
                    if isinstance(node, ast.Attribute | ast.Name)
                }
                for name in stored_names(assignment):
                    found[name] |= read - {name}
        return found

    def originals(self, name: str) -> frozenset[str]:
        """Return a name together with the names of all that it may stand for."""
        found = {name}
        pending = [name]
        while pending:
            for original in self.renames.get(pending.pop(), ()):
                if original not in found:
                    found.add(original)
                    pending.append(original)
        return frozenset(found)

    @cached_property
    def local_imports(self) -> tuple[Mapping[str, Import], ...]:
        """What import statements inside functions bind."""
        top = set(map(id, self.top_statements))
        return tuple(
            {name: target for name, target in imported_names(node) if name != "*"}
            for node in self.import_statements
            if id(node) not in top
        )

    @cached_property
    def top_statements(self) -> tuple[ast.stmt, ...]:
        """The statements that run when the file is imported, outside classes, in order."""
        return tuple(_statements(self.tree.body))

    @cached_property
    def top_expressions(self) -> tuple[ast.AST, ...]:
        """What runs when the file is run, without the bodies of functions and classes."""
        found: list[ast.AST] = []
        for statement in self.top_statements:
            if isinstance(statement, ast.If):
                found.append(statement.test)
            elif isinstance(statement, ast.With):
                found.extend(statement.items)
            elif not isinstance(statement, ast.Try | ast.ClassDef | FunctionNode):
                found.append(statement)
        return tuple(found)

    def around(self, node: ast.AST) -> Sequence[str]:
        """Return the functions of which a piece of syntax is a part, or which are in it, each with
        the name of the file before it."""
        known = self._around.get(node)
        if known is None:
            first = getattr(node, "lineno", 0)
            last = getattr(node, "end_lineno", 0) or first
            known = self._around[node] = [
                f"{self.source.display}:{name}"
                for start, end, name in self._extents
                if start <= last and first <= end
            ]
        return known

    @cached_property
    def _extents(self) -> tuple[tuple[int, int, str], ...]:
        """The lines of each function, decorators included, with its name."""
        return tuple(
            (
                min([each.node.lineno, *(decorator.lineno for decorator in each.decorators)]),
                each.node.end_lineno or each.node.lineno,
                each.qualname,
            )
            for each in self.functions
        )

    @cached_property
    def declared(self) -> Mapping[Function, Sequence[str]]:
        """The variables of the file that functions declare as global, for those that do."""
        if b"global " not in self.source.data:
            return {}
        found: dict[Function, list[str]] = {}
        for function in self.functions:
            for node in walk(function.node):
                if isinstance(node, ast.Global):
                    found.setdefault(function, []).extend(node.names)
        return found

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function of the file that is not inside another function."""
        return tuple(_functions(self, self.tree.body, ""))


class Project:
    """All files of a project, found by import.

    ``sources`` are all files that may be analysed; ``root`` is the folder above them. ``broken``
    are those that were needed and could not be parsed, ``outlined`` those of which the outline was
    asked for. ``questions`` notes what was asked of the
    files; ``index`` finds them by the names in them, where there already is one.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        root: Path,
        questions: Questions | None = None,
        index: Index | None = None,
    ) -> None:
        self.broken: dict[Source, SourceError] = {}
        self.root = root
        self.sources = {source.path: source for source in sources}
        self.named = {source.display: source for source in sources}
        self.questions = questions or Questions()
        self.outlined: set[Source] = set()
        self.lexicon = Lexicon(sources, self.questions, index)
        self._by_name = {
            self.dotted(str(source.path)): source
            for source in self.lexicon.sources
            if source.importable
        }
        self._modules: dict[Path, Module] = {}
        self._resolved: dict[tuple[str, str], tuple[Source | None, tuple[str, ...]]] = {}
        self._imports: Answers[Source, frozenset[Source]] = {}
        self._starred: Answers[Source, tuple[Source | str, ...]] = {}

    def dotted(self, path: str) -> str:
        """Return the dotted name of a file, from the project's folder on."""
        relative = path.removeprefix(str(self.root)).lstrip(os.sep).removesuffix(".py")
        return relative.removesuffix("__init__").strip(os.sep).replace(os.sep, ".")

    def module(self, source: Source) -> Module:
        """Parse a file and index what it defines (raises SourceError)."""
        found = self.parsed(source)
        if found is None:
            raise self.broken[source]
        return found

    def read(self, module: Module, node: ast.AST) -> None:
        """Note that what is found out depends on the text of a piece of syntax, not only on the
        outline of its file."""
        self.questions.ask("text", *module.around(node))

    def parsed(self, source: Source, of: Asking = "file") -> Module | None:
        """Parse a file and index what it defines; None when it is broken.

        ``of`` tells what of the file is of interest: all, or its outline.
        """
        self.questions.ask(of, source.display)
        if of == "outline":
            self.outlined.add(source)
        known = self._modules.get(source.path)
        if known is None and source not in self.broken:
            known = Module(source, self)
            try:
                _collect(known, known.tree.body)
            except SourceError as error:
                self.broken[source] = error
                return None
            self._modules[source.path] = known
        return known

    def find(
        self, importer: Module, dotted: str, level: int = 0, of: Asking = "file"
    ) -> Module | None:
        """Return the module that an import in ``importer`` names, if it is in the project.

        The folder of the importing file and its parents are searched before the source folders,
        since training scripts import their neighbours.
        """
        source = self._locate(importer.source.path, dotted, level)
        return None if source is None else self.parsed(source, of)

    def visible(self, source: Source) -> frozenset[Source]:
        """Return a file, the files that its imports lead to, and those that theirs lead to."""
        direct = self.imported(source)
        return frozenset({source}).union(direct, *map(self.imported, direct))

    def importing(self, packages: Collection[str]) -> frozenset[Source]:
        """Return the files that import one of some packages themselves."""
        return frozenset(
            source
            for source in self.lexicon.mentioning(packages)
            if any(
                not level and name.partition(".")[0] in packages
                for name, level in self.lexicon.imports(source)
            )
        )

    def leading_to(self, targets: Collection[Source]) -> frozenset[Source]:
        """Return the files that are among some, or whose imports lead to one, at any distance."""
        self.questions.ask("files", "all")
        importers: dict[Source, list[Source]] = defaultdict(list)
        for source in self.lexicon.sources if targets else ():
            for each in self.imported(source):
                importers[each].append(source)
        return _closed(targets, importers.__getitem__)

    def led_to(self, sources: Iterable[Source]) -> frozenset[Source]:
        """Return the files to which the imports of some lead, at any distance."""
        return _closed(frozenset().union(*map(self.imported, sources)), self.imported)

    def reachable(self, source: Source) -> frozenset[Source]:
        """Return a file and all that its imports lead to, at any distance."""
        return _closed((source,), self.imported)

    def imported(self, source: Source) -> frozenset[Source]:
        """Return the files that import statements lead to, read from the bytes of the file."""
        return self.questions.remembered(self._imports, source, lambda: self._imported(source))

    def _imported(self, source: Source) -> frozenset[Source]:
        targets = self.lexicon.imports(source)
        named = ((dotted, level) for dotted, level in targets if not dotted.endswith("*"))
        found = (self._locate(source.path, dotted, level) for dotted, level in named)
        return frozenset(each for each in found if each)

    def starred(self, source: Source) -> tuple[Source | str, ...]:
        """Return what a file imports by ``*``, at any depth, nearest first: files of the project,
        and the names of modules that are not of the project."""
        return self.questions.remembered(self._starred, source, lambda: tuple(self._stars(source)))

    def _stars(self, source: Source) -> Mapping[Source | str, None]:
        found: dict[Source | str, None] = {}
        stack = [source]
        while stack:
            new: list[Source] = []
            current = stack.pop()
            for star, level in self.lexicon.imports(current):
                if not star.endswith("*"):
                    continue
                name = star.removesuffix("*").removesuffix(".")
                target = self._locate(current.path, name, level)
                if target is None or target is current:
                    found[name] = None
                elif target is not source and target not in found:
                    found[target] = None
                    new.append(target)
            stack.extend(reversed(new))
        return found

    def giving(self, source: Source, name: str, of: Asking = "file") -> Iterator[Module | str]:
        """Yield what may give a file a name by ``import *``: modules that mention the name, and the
        names of modules that are not of the project."""
        starred = self.starred(source)
        if starred:
            mentioning = set(self.lexicon.mentioning((name,)))
            for star in starred:
                if isinstance(star, str):
                    yield star
                elif star in mentioning:
                    module = self.parsed(star, of)
                    if module is not None:
                        yield module

    def _locate(self, importer: Path, dotted: str, level: int) -> Source | None:
        folder = self.dotted(os.path.dirname(importer))
        key = (folder, "." * level + dotted)
        if key not in self._resolved:
            tried: list[str] = []
            found: Source | None = None
            for name in self._candidates(folder, dotted, level):
                tried.append(name)
                found = self._by_name.get(name)
                if found is not None:
                    break
            self._resolved[key] = (found, tuple(tried))
        found, names = self._resolved[key]
        self.questions.ask("module", *names)
        return found

    @staticmethod
    def _candidates(folder: str, dotted: str, level: int) -> Iterator[str]:
        if level:
            parts = folder.split(".") if folder else []
            base = parts[: len(parts) - (level - 1)]
            yield ".".join([*base, dotted] if dotted else base)
            return
        while True:
            yield f"{folder}.{dotted}" if folder else dotted
            if not folder:
                break
            folder = folder.rpartition(".")[0]
        for name in _SOURCE_FOLDERS:
            yield f"{name}.{dotted}"


def _closed(
    start: Iterable[Source], more: Callable[[Source], Iterable[Source]]
) -> frozenset[Source]:
    """Return some files, those that come after them, those that come after these, and so on."""
    found = set(start)
    pending = list(found)
    while pending:
        new = set(more(pending.pop())) - found
        found |= new
        pending.extend(new)
    return frozenset(found)


def last_name(node: ast.expr) -> str:
    """Return the last identifier of a dotted name or of the function that is called."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr) -> str | None:
    """Return ``a.b.c`` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not parts:
        return None
    return ".".join([node.id, *reversed(parts)])


def display_path(path: Path, base: Path) -> str:
    """Name a file relative to ``base`` with forward slashes, or absolutely outside it."""
    try:
        return PurePosixPath(path.relative_to(base)).as_posix()
    except ValueError:
        return path.as_posix()


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements of a body, those under if, try and with included, in order."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, name, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _statements(handler.body)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and everything below it but operators and contexts, in no particular order;
    quicker than ``ast.walk``."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += children(node)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that may hold others of interest."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        leaves = _LEAVES | ({"value"} if kind is ast.Constant else set())
        found = self[kind] = tuple(name for name in kind._fields if name not in leaves)
        return found


_LEAVES = {"arg", "asname", "attr", "ctx", "id", "kind", "level", "module", "name", "op", "ops"}
_FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """Return what stands right below a node, but operators and contexts."""
    found: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def every_statement(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body and of everything in it, in no particular order."""
    pending = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        for name in ("body", "orelse", "finalbody"):
            pending.extend(getattr(statement, name, ()))
        for name in ("handlers", "cases"):
            for part in getattr(statement, name, ()):
                pending.extend(part.body)


def handed_on(node: ast.AST, owner: str) -> Iterator[tuple[ast.Attribute, ast.Call]]:
    """Yield the attributes of ``owner`` that stand first in a call whose result is not used."""
    for part in walk(node):
        match part:
            case ast.Expr(
                value=ast.Call(args=[ast.Attribute(value=ast.Name(id=name)) as handed, *_]) as call
            ) if name == owner:
                yield handed, call


def _functions(module: Module, body: Sequence[ast.stmt], prefix: str) -> Iterator[Function]:
    """Yield functions and methods; those that the module's symbols lead to are the same objects."""
    for statement in _statements(body):
        if isinstance(statement, FunctionNode) and not prefix:
            known = module.symbols.get(statement.name)
            same = isinstance(known, Function) and known.node is statement
            yield known if same else Function(module, statement, statement.name)  # type: ignore[misc]
        elif isinstance(statement, ast.ClassDef):
            symbol = module.symbols.get(statement.name)
            definition = (
                symbol
                if isinstance(symbol, ClassDefinition) and symbol.node is statement
                else ClassDefinition(module, statement, f"{prefix}{statement.name}")
            )
            yield from definition.methods.values()
            nested = [node for node in statement.body if isinstance(node, ast.ClassDef)]
            yield from _functions(module, nested, f"{definition.qualname}.")


def _collect(module: Module, body: Sequence[ast.stmt]) -> None:
    for statement in _statements(body):
        if isinstance(statement, FunctionNode):
            module.symbols[statement.name] = Function(module, statement, statement.name)
        elif isinstance(statement, ast.ClassDef):
            module.symbols[statement.name] = ClassDefinition(module, statement, statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for name, target in imported_names(statement):
                if name != "*":
                    module.symbols.setdefault(name, target)
        elif isinstance(statement, ast.With):
            for item in statement.items:
                module.assigned.update(stored_names(item))
        elif not isinstance(statement, ast.If | ast.Try):  # their parts come by themselves
            module.assigned.update(stored_names(statement))


def imported_names(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """Yield the names that an import statement binds and what they lead to."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname:
                yield alias.asname, Import(alias.name, "")
            else:
                top = alias.name.partition(".")[0]
                yield top, Import(top, "")
    else:
        for alias in statement.names:
            target = Import(statement.module or "", alias.name, statement.level)
            yield alias.asname or alias.name, target


def stored_names(node: ast.AST) -> set[str]:
    """Return the plain names that a statement assigns, inside nested blocks too."""
    return {
        child.id
        for child in walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
