"""Which names a piece of syntax reads, binds and changes, and whether that matters elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ckptlint.project import dotted

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MUTATORS = frozenset(
    {
        *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"),
        *("reverse", "setdefault", "sort", "update", "load_state_dict", "merge"),
    }
)
_EXITS = (ast.Return, ast.Break, ast.Continue)


@dataclass(frozen=True)
class Uses:
    """Dotted paths that code reads, binds anew, and changes in place.

    A path ``a.b`` is read with its whole object; the function that is called counts as read.
    """

    loads: frozenset[str]
    stores: frozenset[str]
    changes: frozenset[str]

    @classmethod
    def of(cls, *nodes: ast.AST) -> Uses:
        """Collect the uses of pieces of syntax."""
        loads: set[str] = set()
        stores: set[str] = set()
        changes: set[str] = set()
        for node in nodes:
            _collect(node, loads, stores, changes)
        return cls(frozenset(loads), frozenset(stores), frozenset(changes))

    @property
    def loads_of_roots(self) -> frozenset[str]:
        """The plain names that are read, be it for an attribute."""
        return frozenset(path.partition(".")[0] for path in self.loads)

    @property
    def written(self) -> frozenset[str]:
        """Everything that is not the same afterwards."""
        return self.stores | self.changes


def _collect(node: ast.AST, loads: set[str], stores: set[str], changes: set[str]) -> None:
    stack = [node]
    while stack:
        current = stack.pop()
        match current:
            case ast.Name(id=name, ctx=ast.Load()):
                loads.add(name)
            case ast.Name(id=name):
                stores.add(name)
            case ast.Attribute(ctx=ast.Load()):
                path = dotted(current)
                if path is None:
                    stack.append(current.value)
                else:
                    loads.add(path)
            case ast.Attribute() | ast.Subscript(ctx=ast.Store() | ast.Del()):
                path = path_of(current)
                if path is not None:
                    changes.add(path)
                stack.extend(ast.iter_child_nodes(current))
            case ast.alias(name=name, asname=other):
                stores.add(other or name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                stores.add(name)
                stack.extend(ast.iter_child_nodes(current))
            case ast.ClassDef(name=name):
                stores.add(name)
                stack.extend(ast.iter_child_nodes(current))
            case ast.ExceptHandler(name=str(name)):
                stores.add(name)
                stack.extend(ast.iter_child_nodes(current))
            case ast.Call(func=ast.Attribute(attr=attribute, value=owner)):
                if attribute in _MUTATORS and (path := path_of(owner)) is not None:
                    changes.add(path)
                stack.extend(ast.iter_child_nodes(current))
            case _:
                stack.extend(ast.iter_child_nodes(current))


def path_of(node: ast.AST) -> str | None:
    """Return the dotted path of the object that an attribute or subscript belongs to or is."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return dotted(node) or path_of(node.value)
    return None


def touch(one: Iterable[str], other: Iterable[str]) -> bool:
    """Say whether two sets of paths concern a common object."""
    others = list(other)
    return any(
        a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.") for a in one for b in others
    )


def contains(node: ast.AST, wanted: Iterable[ast.AST]) -> bool:
    """Say whether one of the nodes lies inside ``node``."""
    nodes = {id(each) for each in wanted}
    return any(id(child) in nodes for child in ast.walk(node))


def leaves(statements: Iterable[ast.stmt]) -> bool:
    """Say whether the statements may leave the block, loop or function that they stand in."""
    return any(_leaves(statement, False) for statement in statements)


def _leaves(node: ast.AST, in_loop: bool) -> bool:
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, _EXITS):
        return not in_loop
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return False
    inside = in_loop or isinstance(node, ast.For | ast.AsyncFor | ast.While)
    return any(_leaves(child, inside) for child in ast.iter_child_nodes(node))


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists directly inside a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def way_to(node: ast.AST, wanted: ast.AST) -> list[tuple[ast.AST, list[ast.stmt], int]] | None:
    """Return the statements that enclose ``wanted``, outermost first, ``wanted`` being the last:
    each with its parent, the list it stands in and its place there."""
    for block in blocks(node):
        for index, statement in enumerate(block):
            if statement is wanted:
                return [(node, block, index)]
            if _spans(statement, wanted):
                inner = way_to(statement, wanted)
                if inner is not None:
                    return [(node, block, index), *inner]
    return None


def _spans(outer: ast.stmt, inner: ast.AST) -> bool:
    line: int = getattr(inner, "lineno", 0)
    first = min([outer.lineno, *(d.lineno for d in getattr(outer, "decorator_list", ()))])
    last: int = outer.end_lineno or outer.lineno
    return bool(first <= line <= last)


def read_elsewhere(names: Iterable[str], scope: ast.AST, region: Sequence[ast.stmt]) -> set[str]:
    """Return those names whose binding inside ``region`` may be read outside of it.

    A read behind an assignment of its own (earlier in its block, or in one around it) is none.
    """
    return {name for name in names if _escapes(name, scope, {id(s) for s in region})}


def _escapes(name: str, scope: ast.AST, region: set[int]) -> bool:
    """Walk the blocks of ``scope``; a plain assignment hides what was bound before."""
    if any(isinstance(n, ast.Global | ast.Nonlocal) and name in n.names for n in ast.walk(scope)):
        return True

    def walk(block: Sequence[ast.stmt], hidden: bool) -> bool:
        for statement in block:
            if id(statement) in region:
                hidden = False
                continue
            parts = list(blocks(statement))
            if not parts:
                if not hidden and name in Uses.of(statement).loads_of_roots:
                    return True
            else:
                later = isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.For, ast.While))
                inner = hidden and not later
                if not hidden and name in _header(statement):
                    return True
                if any(walk(part, inner) for part in parts):
                    return True
            if isinstance(statement, ast.Assign | ast.AnnAssign) and name in _bound(statement):
                hidden = True
        return False

    return any(walk(block, False) for block in blocks(scope))


def _header(statement: ast.stmt) -> frozenset[str]:
    inside = {id(s) for block in blocks(statement) for s in block}
    parts = [child for child in ast.iter_child_nodes(statement) if id(child) not in inside]
    return Uses.of(*parts).loads_of_roots


def _bound(statement: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}
