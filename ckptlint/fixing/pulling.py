"""Making a collective in front of its statement, its result kept under a name."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ckptlint.fixing.plan import Guarded, Item, Kept, Pulled
from ckptlint.fixing.proposal import RefusedError
from ckptlint.fixing.scopes import Uses, contains
from ckptlint.fixing.tidying import Tidying


@dataclass
class Pulling(Tidying):
    """Plans statements without blocks of their own."""

    def simple(
        self, statement: ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return
    ) -> list[Item]:
        """Plan a statement that holds collectives: as it stands, where it does nothing else."""
        self.check_arguments(statement)
        value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
        assert value is not None
        if self.purity.pure(value, self.operations) and (
            isinstance(statement, ast.Expr)
            or (isinstance(statement, ast.Assign | ast.AnnAssign) and self.own_targets(statement))
        ):
            uses = Uses.of(statement)
            self.bound |= uses.stores
            self.needed = (self.needed - uses.stores) | uses.loads
            return [Kept(statement)]
        return [*self.pull(statement, value), Guarded((statement,))]

    def pull(self, statement: ast.stmt, root: ast.expr) -> list[Item]:
        """Make the collectives of an expression beforehand, in the order in which they are
        evaluated: only where nothing that counts is evaluated before them.

        Raises RefusedError.
        """
        calls = [op for op in self.operations if contains(statement, [op])]
        items: list[Item] = []
        for call in calls:
            if not isinstance(call, ast.Call) or not contains(root, [call]):
                raise RefusedError("a collective cannot be taken out of its statement")
            if any(contains(other, [call]) for other in calls if other is not call):
                raise RefusedError("a collective stands in the arguments of another one")
            for earlier in self._evaluated_before(root, call):
                if not self.purity.pure(earlier, self.operations):
                    raise RefusedError("something else happens before the collective")
            self.needed |= Uses.of(call).loads
            items.append(Pulled(call, self._fresh(call, _name_for(statement, call))))
        return sorted(items, key=_place)

    def _evaluated_before(self, root: ast.expr, call: ast.Call) -> list[ast.expr]:
        """Return the expressions that are evaluated before ``call``. Raises RefusedError where
        the call may be made never, or more than once, for another reason than the rank."""
        found: list[ast.expr] = []
        node: ast.AST = root
        while node is not call:
            if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp):
                raise RefusedError("the collective is made in a comprehension or lambda")
            if isinstance(node, ast.GeneratorExp | ast.NamedExpr | ast.Await):
                raise RefusedError("the collective is made under a condition of its own")
            if isinstance(node, ast.Compare) and len(node.comparators) > 1:
                raise RefusedError("the collective is made in a chain of comparisons")
            child = next(c for c in ast.iter_child_nodes(node) if contains(c, [call]))
            if isinstance(node, ast.IfExp | ast.BoolOp):
                self._check_conditions(node, child)
            else:
                for other in ast.iter_child_nodes(node):
                    if other is child:
                        break
                    if isinstance(other, ast.expr | ast.keyword):
                        found.append(other.value if isinstance(other, ast.keyword) else other)
            node = child
        return found

    def _check_conditions(self, node: ast.IfExp | ast.BoolOp, child: ast.AST) -> None:
        asked = [node.test] if isinstance(node, ast.IfExp) else node.values
        before = [each for each in asked if each is not child]
        if isinstance(node, ast.BoolOp):
            before = node.values[: node.values.index(child)]  # type: ignore[arg-type]
        if not all(map(self.is_guard, before)):
            raise RefusedError("the collective is made under a condition of its own")

    def is_guard(self, test: ast.expr) -> bool:
        """Say whether a condition is the rank's alone, and may be asked at another time."""
        known = any(ast.dump(part) == ast.dump(test) for part in self.guard)
        return known or (self.purity.ranked(test) and self.purity.repeatable(test))

    def _fresh(self, call: ast.Call, wanted: str) -> str:
        """Return a name that is not in use, told apart by what is gathered."""
        names = [wanted]
        if wanted == "saved":
            names.append("result")
        elif wanted != "result":
            if call.args and isinstance(call.args[0], ast.Name):
                names.append(f"{call.args[0].id}_{wanted}")
            names.append(f"gathered_{wanted}")
        names += [f"{wanted}_{number}" for number in range(2, len(self.taken) + 3)]
        name = next(name for name in names if name not in self.taken)
        self.taken.add(name)
        return name


def _place(item: Item) -> tuple[int, int]:
    assert isinstance(item, Pulled)
    return item.call.lineno, item.call.col_offset


def _name_for(statement: ast.stmt, call: ast.Call) -> str:
    """Name a result after the keyword that takes it, or after what is called."""
    for node in ast.walk(statement):
        if isinstance(node, ast.keyword) and node.value is call and node.arg:
            return node.arg
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "result")
    if "gather" in name or "reduce" in name:
        return "reduced" if "reduce" in name else "gathered"
    if name.startswith("save"):
        return "saved"
    if isinstance(func, ast.Name):
        return "result"
    return name.removeprefix("get_").lstrip("_") or "result"
