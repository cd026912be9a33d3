"""Loops that look for a name that no file has yet, from the syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ckptlint.project import last_name

Repeated: TypeAlias = ast.While | ast.For | ast.AsyncFor

_LOOKS = frozenset({"exists", "isdir", "isfile", "is_dir", "is_file", "lexists"})
_TELLS = frozenset({"debug", "info", "log", "print", "warn", "warning"})


def looks_for_a_name(loop: Repeated) -> ast.Call | None:
    """Return the call with which a loop looks whether a name is taken: one that does nothing but
    make the next name, until there is no file of that name."""
    found = _positive(loop.test) if isinstance(loop, ast.While) else None
    makes: list[tuple[ast.expr, ast.expr]] = []
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[target], value=value):
                makes.append((target, value))
            case ast.AugAssign(target=target, value=value):
                makes.append((target, value))
            case ast.Expr(value=ast.Call(func=func)) if last_name(func) in _TELLS:
                continue
            case ast.If(
                test=ast.UnaryOp(op=ast.Not(), operand=test),
                body=[*_, ast.Break() | ast.Return()],
                orelse=[],
            ) if found is None:
                found = _positive(test)
            case _:
                return None
    return found if found is not None and _names_it(makes, found, loop) else None


def made_in(loop: Repeated) -> frozenset[str]:
    """Return the names, plain or dotted, that a loop gives new values."""
    return frozenset(
        ast.unparse(node)
        for node in ast.walk(loop)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


def names_in(node: ast.AST) -> Iterator[str]:
    """Yield the names in a piece of syntax, plain and dotted."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            yield ast.unparse(part)


def _names_it(makes: Iterable[tuple[ast.expr, ast.expr]], look: ast.Call, loop: Repeated) -> bool:
    """Say whether a loop makes what is looked for in each turn, and nothing else but for that."""
    asked = frozenset(names_in(look))
    parts = asked.union(
        *(names_in(value) for target, value in makes if ast.unparse(target) in asked)
    )
    return (
        not made_in(loop).isdisjoint(asked)
        and made_in(loop) <= parts
        and all(isinstance(target, ast.Name | ast.Attribute) for target, _ in makes)
    )


def _positive(test: ast.expr) -> ast.Call | None:
    """Return the call that looks for a file where a test demands that there is one."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    calls = (part for part in parts if isinstance(part, ast.Call))
    return next((call for call in calls if last_name(call.func) in _LOOKS), None)
