"""Adding an import to a file, where imports of its kind stand."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ckptlint.finding import Edit, Span
from ckptlint.fixing.proposal import RefusedError
from ckptlint.project import Import, Module


def imported(module: Module, package: str, beside: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edit that imports a package under its own name, or none where it is imported.

    The line goes among those that import one of ``beside`` or, without any, behind the first
    imports. A copy in the project is imported from where it stands. Raises RefusedError where the
    name means something else in the file.
    """
    home = _home(module, package)
    symbol = module.symbols.get(package)
    if isinstance(symbol, Import):
        full = ".".join(part for part in (symbol.module, symbol.name) if part)
        if full == ".".join(part for part in (home, package) if part):
            return ()
    if symbol is not None or package in module.assigned:
        raise RefusedError(f"`{package}` is another thing in this file")
    line = f"from {home} import {package}" if home else f"import {package}"
    place = _place(module.tree.body, line, package, beside)
    end = "\r\n" if module.source.lines and module.source.lines[0].endswith("\r\n") else "\n"
    return (Edit(Span(module.source.display, place, 1, place, 1), line + end),)


def imported_names(
    module: Module, package: str, names: Sequence[str], beside: Sequence[str]
) -> tuple[Edit, ...]:
    """Return the edit that imports names from a package, or none where they are imported.

    Raises RefusedError where one of them means something else in the file.
    """
    missing = []
    for name in names:
        symbol = module.symbols.get(name)
        if symbol is None and name not in module.assigned:
            missing.append(name)
        elif not isinstance(symbol, Import) or (symbol.module, symbol.name) != (package, name):
            raise RefusedError(f"`{name}` is another thing in this file")
    if not missing:
        return ()
    line = f"from {package} import {', '.join(missing)}"
    place = _place(module.tree.body, line, package, beside)
    end = "\r\n" if module.source.lines and module.source.lines[0].endswith("\r\n") else "\n"
    return (Edit(Span(module.source.display, place, 1, place, 1), line + end),)


def _home(module: Module, package: str) -> str:
    """Return the package in which the project has a copy, or nothing."""
    tail = f"/{package}/__init__.py"
    for source in module.project.sources.values():
        if source.display.endswith(tail):
            name = module.project.module(source).name
            return name.rpartition(".")[0]
    return ""


def _place(body: Sequence[ast.stmt], line: str, package: str, beside: Sequence[str]) -> int:
    """Return the number of the line in front of which an import goes."""
    groups: list[list[ast.Import | ast.ImportFrom]] = []
    before: ast.stmt | None = None
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if before is not None and statement.lineno == (before.end_lineno or 0) + 1:
                groups[-1].append(statement)
            else:
                groups.append([statement])
            before = statement
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    groups = [g for g in groups if getattr(g[0], "module", "") != "__future__"]
    if not groups:
        raise RefusedError("the file imports nothing beside which an import could go")
    group = next((g for g in groups if any(_root(s) in beside for s in g)), groups[0])
    plain = line.startswith("import ")
    for statement in group:
        if plain != isinstance(statement, ast.Import):
            if plain:
                return statement.lineno
            continue
        if _module(statement) > package:
            return statement.lineno
    return (group[-1].end_lineno or group[-1].lineno) + 1


def _module(statement: ast.Import | ast.ImportFrom) -> str:
    return statement.names[0].name if isinstance(statement, ast.Import) else statement.module or ""


def _root(statement: ast.Import | ast.ImportFrom) -> str:
    return _module(statement).partition(".")[0]
