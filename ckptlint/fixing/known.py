"""What the facts and the text of a module say of names, without looking at what is called."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import lru_cache

from ckptlint.facts import Call
from ckptlint.knowledge import Knowledge
from ckptlint.project import Module

_BUILT_IN = frozenset({"dict", "list", "str"})


def mentions(node: ast.AST, names: Collection[str], knowledge: Knowledge) -> bool:
    for child in ast.walk(node):
        name = child.attr if isinstance(child, ast.Attribute) else getattr(child, "id", None)
        if isinstance(child, ast.Constant) and child.value in knowledge.environment:
            return True
        if name in names:
            return True
    return False


@lru_cache(maxsize=64)
def ranked_names(module: Module, knowledge: Knowledge) -> frozenset[str]:
    """Return the names of predicates, those to which a module assigns one, and its functions that
    only return one."""
    names = predicate_names(knowledge)
    found = set(names)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign | ast.NamedExpr) and mentions(node.value, names, knowledge):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(map(_last, targets))
        elif (
            isinstance(node, ast.FunctionDef)
            and isinstance(node.body[-1], ast.Return)
            and len(node.body) <= 1 + (ast.get_docstring(node, clean=False) is not None)
            and mentions(node.body[-1], names, knowledge)
        ):
            found.add(node.name)
    return frozenset(found - {""})


@lru_cache(maxsize=8)
def predicate_names(knowledge: Knowledge) -> frozenset[str]:
    return frozenset({full.rpartition(".")[2] for full in knowledge.predicates}) | frozenset(
        knowledge.conventions
    )


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@lru_cache(maxsize=8)
def readers(knowledge: Knowledge) -> frozenset[str]:
    """Return names of methods that change nothing: those that the facts call pure, and those of
    which they know no other effect than to read, on one rank alone."""
    pure = {name.rpartition(".")[2] for name in knowledge.pure if _is_method(name)}
    found: set[str] = set()
    others: set[str] = set()
    for full, records in knowledge.calls.items():
        owner, _, last = full.rpartition(".")
        if owner in knowledge.classes and all(map(reads, records)):
            found.add(last)
        else:
            others.add(last)
    return frozenset(pure | (found - others))


def reads(record: Call) -> bool:
    return record.who == "any" and record.effect == "read" and record.framework != "python"


def _is_method(name: str) -> bool:
    """Say whether a dotted name is that of a method: its owner is a class."""
    owner = name.rpartition(".")[0].rpartition(".")[2]
    return owner in _BUILT_IN or owner[:1].isupper()
