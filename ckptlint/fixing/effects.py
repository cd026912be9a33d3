"""What else comes to run on every rank when a collective does: helpers and registered hooks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from ckptlint.fixing.purity import Purity
from ckptlint.fixing.scopes import contains
from ckptlint.knowledge import Knowledge
from ckptlint.project import Function, Module

_HOOK_MAKERS = ("register_save_state_pre_hook", "register_state_dict_hook")
_WRITES = re.compile(
    r"(?i)^(save|write|dump|push|upload|to_json|to_csv|mkdir|makedirs|rmtree|unlink|remove|rename"
    r"|move|copy)"
)


def may_run_everywhere(
    function: Function, operations: Sequence[ast.AST], knowledge: Knowledge
) -> bool | None:
    """Judge a helper through which a collective is reached, ``operations`` being what is to run.

    True when it does nothing else but compute; False when it writes or deletes without a test of
    its own; None when that cannot be told.
    """
    if isinstance(function.node, ast.Lambda):
        return None
    purity = Purity(function.module, function.node, knowledge)
    calls = _unguarded_calls(function.node.body, purity)
    if any(writes(call, purity) for call in calls if call not in operations):
        return False
    if all(_only_computes(statement, operations, purity) for statement in function.node.body):
        return True
    return None


def _only_computes(statement: ast.stmt, operations: Sequence[ast.AST], purity: Purity) -> bool:
    if isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        return statement.value is None or purity.pure(statement.value, operations)
    if isinstance(statement, ast.If) and purity.pure(statement.test):
        inner = (*statement.body, *statement.orelse)
        return all(_only_computes(each, operations, purity) for each in inner)
    return isinstance(statement, ast.Pass)


def _unguarded_calls(body: Iterable[ast.stmt], purity: Purity) -> Iterator[ast.Call]:
    """Yield the calls of a body that stand under no test of the rank, and behind no exit of some
    ranks."""
    for statement in body:
        if isinstance(statement, ast.If) and purity.ranked(statement.test):
            if isinstance(statement.body[-1], ast.Return | ast.Continue | ast.Break):
                return
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        nested = [
            part
            for name in ("body", "orelse", "finalbody")
            for part in getattr(statement, name, ())
        ]
        if not nested:
            yield from (node for node in ast.walk(statement) if isinstance(node, ast.Call))
            continue
        for child in ast.iter_child_nodes(statement):
            if not isinstance(child, ast.stmt):
                yield from (node for node in ast.walk(child) if isinstance(node, ast.Call))
        yield from _unguarded_calls(nested, purity)


def writes(call: ast.Call, purity: Purity) -> bool:
    """Say whether a call is known to write or delete, for all ranks to see."""
    name = purity.canonical(call.func)
    last = call.func.attr if isinstance(call.func, ast.Attribute) else name or ""
    if last.startswith(("upload", "push_to")):
        return True
    if last in ("makedirs", "mkdir") and any(k.arg == "exist_ok" for k in call.keywords):
        return False
    records = purity.knowledge.calls.get(name or "", [])
    if records:
        return any(record.effect in ("write", "delete") for record in records)
    if name == "open":
        return len(call.args) > 1 or bool(call.keywords)
    return last == "mkdir" or last == "rmtree"


def hook_writes(module: Module, knowledge: Knowledge) -> str | None:
    """Return the name of a save hook registered in this file that writes on every rank.

    A hook that cannot be found counts as one that does.
    """
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called not in _HOOK_MAKERS:
            continue
        given = node.args[0]
        name = ast.unparse(given)
        found = _definition(module.tree, given, node)
        if found is None:
            return name
        purity = Purity(module, found, knowledge)
        for call in _unguarded_calls(found.body, purity):
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            last = last or getattr(call.func, "id", "")
            if _WRITES.match(last):
                return name
    return None


def _definition(tree: ast.Module, given: ast.expr, before: ast.Call) -> ast.FunctionDef | None:
    """Find the function of that name in the same scope, nearest in front of the registration."""
    if not isinstance(given, ast.Name):
        return None
    found: ast.FunctionDef | None = None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == given.id
            and node.lineno < before.lineno
            and not contains(node, [before])
            and (found is None or node.lineno > found.lineno)
        ):
            found = node
    return found
