"""What an attribute was given where its object was made, from the syntax alone.

Namespaces of constants (``args = Namespace(world_size=1)``) are not executed: most hold nothing of
interest.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from ckptlint.project import Import, Module, every_statement


def made_with(module: Module, node: ast.expr, values: Collection[Any]) -> bool:
    """Say whether every object that a name of a file may stand for was made with one of some
    constants for the attribute that is read from it."""
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return False
    made = list(_made(module, node.value.id))
    return bool(made) and all(
        isinstance(each, ast.Call)
        and any(
            keyword.arg == node.attr
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value in values
            for keyword in each.keywords
        )
        for each in made
    )


def _made(module: Module, name: str) -> Iterator[ast.expr]:
    """Yield what a file, or that from which it has a name, assigns to the name."""
    symbol = module.symbols.get(name)
    if isinstance(symbol, Import) and symbol.name:
        found = module.project.find(module, symbol.module, symbol.level)
        if found is None or found is module:
            return
        module, name = found, symbol.name
    module.project.questions.ask("file", module.source.display)  # functions are looked into, too
    for statement in every_statement(module.tree.body):
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in statement.targets
        ):
            yield statement.value
