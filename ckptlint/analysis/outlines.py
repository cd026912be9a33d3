"""Short names for the parts of a file, by which it is known later which of them have changed.

What is found out depends on what stands outside functions, where names are looked up (``outside``);
on the text of the functions that were executed; and of those that were only gone through, on the
names by which they may lead somewhere. A local variable more or less leads nowhere.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping

from ckptlint.analysis.reach import Mentions
from ckptlint.project import Function, Module

OUTSIDE = ""
TORN: Mapping[str, str] = {OUTSIDE: "torn"}  # the outline of a file that cannot be parsed


def outline(module: Module, telling: Collection[str]) -> Mapping[str, str]:
    """Return names for the parts of a file: two for each function, apart by a space, and one for
    what stands outside them. ``telling`` are the words that lead somewhere by themselves."""
    return {OUTSIDE: outside(module), **inside(module, telling)}


def outside(module: Module) -> str:
    """Name what of a file stands outside functions.

    What is looked up without reading a function counts as outside: its imports, its decorators,
    and the variables of the file that it sets.
    """
    code, end = module.source.code, 0
    pieces: list[bytes] = []
    for function in sorted(module.functions, key=lambda each: each.node.lineno):
        first, last = module.source.extent(function.node)
        pieces.append(code[end:first])
        end = max(end, last)
    lines = b"\n".join([*pieces, code[end:]]).splitlines()
    told = [line for line in lines if not line.lstrip().startswith((b"#", b"\r"))]
    imports = [ast.unparse(statement) for statement in module.import_statements]
    return _named([*filter(None, told)], imports, *map(_seen_outside, module.functions))


def inside(module: Module, telling: Collection[str]) -> Mapping[str, str]:
    """Name the text of each function, and the names by which it may lead somewhere."""
    texts: dict[str, list[object]] = defaultdict(list)
    leading: dict[str, list[object]] = defaultdict(list)
    for function in module.functions:
        first, last = module.source.extent(function.node)
        texts[function.qualname].append(module.source.code[first:last])
        leading[function.qualname].append(_leading(function, telling))
    return {name: f"{_named(*texts[name])} {_named(*leading[name])}" for name in texts}


def _leading(function: Function, telling: Collection[str]) -> list[list[str]]:
    """Return the identifiers by which a function may lead to another, or to one of ``telling``:
    every attribute, and the plain names that stand for something outside of it."""
    module, said = function.module, Mentions(function.node)
    names = said.names
    if not module.project.starred(module.source):
        bound = {name for imports in module.local_imports for name in imports}
        names = frozenset(
            name
            for name in names
            if name in telling or name in module.symbols or name in module.renames or name in bound
        )
    return [sorted(names), sorted(said.attributes)]


def _seen_outside(function: Function) -> list[str]:
    variables = function.module.declared.get(function, ())
    return [function.qualname, *map(ast.unparse, function.decorators), *variables]


def _named(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
