"""The project: its modules, what they define, and where an import leads.

Everything here is syntax and file paths; what values names hold is the analysis's business.
Modules are parsed when they are first asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from ckptlint.source import Source, SourceError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
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
        """For each attribute of ``self``, the methods that assign it, ``__init__`` first."""
        found: dict[str, dict[Function, None]] = {}
        for method in sorted(self.methods.values(), key=lambda m: m.name != "__init__"):
            arguments = method.node.args
            first = [*arguments.posonlyargs, *arguments.args][:1]
            if not first:
                continue
            for node in ast.walk(method.node):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.ctx, ast.Store)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == first[0].arg
                ):
                    found.setdefault(node.attr, {})[method] = None
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
    stars: list[Import] = field(default_factory=list)
    assigned: set[str] = field(default_factory=set)

    @property
    def tree(self) -> ast.Module:
        """The syntax tree (raises SourceError)."""
        return self.source.tree

    @cached_property
    def imports(self) -> frozenset[str]:
        """Top-level names of all modules imported anywhere in the file."""
        roots: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                roots.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                roots.add(node.module.partition(".")[0])
        return frozenset(roots)

    @cached_property
    def renames(self) -> tuple[tuple[str, str], ...]:
        """What is bound under another name: ``import a as b``, and ``b = x.a`` at the top."""
        found: list[tuple[str, str]] = []
        for name, target in self.symbols.items():
            if isinstance(target, Import):
                original = (target.name or target.module).rpartition(".")[2]
                if original != name:
                    found.append((original, name))
        for names in self.local_imports:
            found.extend(
                ((target.name or target.module).rpartition(".")[2], name)
                for name, target in names.items()
            )
        for statement in _statements(self.tree.body):
            if isinstance(statement, ast.Assign):
                read = {
                    node.attr if isinstance(node, ast.Attribute) else node.id
                    for node in ast.walk(statement.value)
                    if isinstance(node, ast.Attribute | ast.Name)
                }
                found.extend((name, other) for other in stored_names(statement) for name in read)
        return tuple(found)

    @cached_property
    def local_imports(self) -> tuple[Mapping[str, Import], ...]:
        """What import statements inside functions bind."""
        return tuple(
            {name: target for name, target in imported_names(node) if name != "*"}
            for function in self.functions
            for node in ast.walk(function.node)
            if isinstance(node, ast.Import | ast.ImportFrom)
        )

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function of the file that is not inside another function."""
        return tuple(_functions(self, self.tree.body, ""))


class Project:
    """All files of a project, found by import.

    ``sources`` are all files that may be analysed; ``root`` is the folder above them.
    """

    def __init__(self, sources: Sequence[Source], root: Path) -> None:
        self.root = root
        self.sources = {source.path: source for source in sources}
        self._by_name: dict[str, Source] = {}
        for source in sources:
            if source.importable:
                self._by_name[self._dotted(source.path)] = source
        self._modules: dict[Path, Module] = {}
        self._resolved: dict[tuple[str, str], Source | None] = {}

    def _dotted(self, path: Path) -> str:
        try:
            parts = path.relative_to(self.root).with_suffix("").parts
        except ValueError:
            parts = path.with_suffix("").parts
        if parts and parts[-1] == "__init__":
            parts = parts[:-1]
        return ".".join(parts)

    def module(self, source: Source) -> Module:
        """Parse a file and index what it defines (raises SourceError)."""
        known = self._modules.get(source.path)
        if known is None:
            known = Module(source, self)
            _collect(known, known.tree.body)
            self._modules[source.path] = known
        return known

    def find(self, importer: Module, dotted: str, level: int = 0) -> Module | None:
        """Return the module that an import in ``importer`` names, if it is in the project.

        The folder of the importing file and its parents are searched before the source folders,
        since training scripts import their neighbours.
        """
        source = self._locate(importer.source.path, dotted, level)
        if source is None:
            return None
        try:
            return self.module(source)
        except SourceError:
            return None  # told once, where the file itself is analysed

    def _locate(self, importer: Path, dotted: str, level: int) -> Source | None:
        key = (str(importer), "." * level + dotted)
        if key not in self._resolved:
            self._resolved[key] = next(
                (
                    self._by_name[name]
                    for name in self._candidates(importer, dotted, level)
                    if name in self._by_name
                ),
                None,
            )
        return self._resolved[key]

    def _candidates(self, importer: Path, dotted: str, level: int) -> Iterator[str]:
        folder = self._dotted(importer.parent / "__init__.py")
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
                if name == "*":
                    module.stars.append(target)
                else:
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
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
