"""What may run on every rank: expressions without side effects, and names behind calls."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable

from ckptlint.fixing.known import mentions, predicate_names, ranked_names, readers, reads
from ckptlint.knowledge import Knowledge
from ckptlint.project import Function, Import, Module, dotted

# Numbers that each rank computes from its own data or its own clock.
_OWN = re.compile(
    r"(?i)(^|_)(loss(es)?|acc|accuracy|metrics?|score|best|ppl|perplexity|elapsed|time|now|psnr|fid"
    r"|iou|bleu|rouge|f1|reward|grad|norm|patience)($|_)"
)
_LOGGING = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log"})
_OPENS = frozenset({"open", "io.open", "bz2.open", "gzip.open", "lzma.open"})
_PLAIN = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.Starred,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.comprehension,
    ast.Lambda,
    ast.arguments,
    ast.arg,
    ast.keyword,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)


class Purity:
    """Judges the expressions of one function by the facts."""

    def __init__(
        self, module: Module, scope: ast.AST, knowledge: Knowledge, inside: bool = False
    ) -> None:
        self._inside = inside
        self._computing: dict[str, bool] = {}
        self.module = module
        self.knowledge = knowledge
        self.imported: dict[str, Import] = {}
        for names in module.local_imports:
            self.imported.update(names)
        for name, symbol in module.symbols.items():
            if isinstance(symbol, Import):
                self.imported[name] = symbol
        self.bound = module.assigned | {
            name for name, symbol in module.symbols.items() if not isinstance(symbol, Import)
        }
        if not isinstance(scope, ast.Module):
            self.bound |= {
                node.id
                for node in ast.walk(scope)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            } | {node.arg for node in ast.walk(scope) if isinstance(node, ast.arg)}
        self._readers = readers(knowledge)
        self._ranked = ranked_names(module, knowledge)

    def canonical(self, node: ast.expr) -> str | None:
        """Return the dotted name that a callee has in the facts, or None."""
        path = node.id if isinstance(node, ast.Name) else dotted(node) or ""
        root, _, rest = path.partition(".")
        target = self.imported.get(root)
        if target is not None and root not in self.bound:
            base = ".".join(part for part in (target.module, target.name) if part)
            return self.knowledge.canonical(f"{base}.{rest}" if rest else base)
        if path and not rest and root not in self.bound and hasattr(builtins, root):
            return root
        return None

    def pure(self, node: ast.AST, besides: Iterable[ast.AST] = ()) -> bool:
        """Say whether evaluating an expression has no effect; ``besides`` are not looked at."""
        if any(node is each for each in besides):
            return True
        if isinstance(node, ast.Call):
            if not self._pure_callee(node.func):
                return False
            parts: list[ast.AST] = [*node.args, *node.keywords]
            if isinstance(node.func, ast.Attribute):
                parts.append(node.func.value)
            return all(self.pure(part, besides) for part in parts)
        if not isinstance(node, _PLAIN):
            return False
        if isinstance(node, ast.comprehension) and node.is_async:
            return False
        return all(self.pure(child, besides) for child in ast.iter_child_nodes(node))

    def pure_call(self, call: ast.Call) -> bool:
        """Say whether what is called has no effect, whatever it is given."""
        return self._pure_callee(call.func)

    def _pure_callee(self, func: ast.expr) -> bool:
        name = self.canonical(func)
        if name is not None:
            predicate = self.knowledge.predicates.get(name)
            records = self.knowledge.calls.get(name, [])
            read = bool(records) and all(map(reads, records))
            return name in self.knowledge.pure or predicate is not None or read
        if isinstance(func, ast.Attribute) and func.attr in self._readers:
            return True
        function = self.own_function(func)
        return function is not None and self._computes(function)

    def own_function(self, func: ast.expr) -> Function | None:
        """Return the project's function of that name."""
        path = func.id if isinstance(func, ast.Name) else dotted(func) or ""
        root, _, rest = path.partition(".")
        symbol = self.module.symbols.get(root)
        if isinstance(symbol, Import):
            name = rest or symbol.name
            inner = ".".join(part for part in (symbol.module, symbol.name if rest else "") if part)
            found = self.module.project.find(self.module, inner, symbol.level)
            symbol = found.symbols.get(name) if found is not None else None
        elif rest:
            return None
        return symbol if isinstance(symbol, Function) else None

    def _computes(self, function: Function) -> bool:
        """Say whether a function of the project does nothing but return a value; one that calls
        others of the project is not looked into further."""
        if self._inside or not isinstance(function.node, ast.FunctionDef):
            return False
        known = self._computing.get(function.qualname)
        if known is None:
            inner = Purity(function.module, function.node, self.knowledge, inside=True)
            known = all(map(inner._only_returns, function.node.body))
            known = known and not function.node.decorator_list
            self._computing[function.qualname] = known
        return known

    def _only_returns(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case ast.Return(value=value):
                return value is None or self.pure(value)
            case ast.Assign(targets=[ast.Name()], value=value):
                return self.pure(value)
            case ast.If():
                inner = (*statement.body, *statement.orelse)
                return self.pure(statement.test) and all(map(self._only_returns, inner))
        return False

    def repeatable(self, node: ast.AST) -> bool:
        """Say whether a test may be evaluated more than once: cheap, and without effects."""
        if isinstance(node, ast.Call):
            plain = all(self.repeatable(part) for part in (*node.args, *node.keywords))
            if not plain:
                return False
            name = self.canonical(node.func)
            if name is not None and name in self.knowledge.predicates:
                return True
            return self._pure_callee(node.func) or self._own_predicate(node)
        if isinstance(node, ast.Attribute):
            return self.repeatable(node.value)
        return isinstance(node, _PLAIN) and all(
            self.repeatable(child) for child in ast.iter_child_nodes(node)
        )

    def _own_predicate(self, call: ast.Call) -> bool:
        """Say whether a call without arguments only looks something up."""
        if call.args or call.keywords:
            return False
        if isinstance(call.func, ast.Attribute):
            return call.func.attr in predicate_names(self.knowledge) or any(
                self._looks_up(function)
                for function in self.module.functions
                if function.owner is not None and function.name == call.func.attr
            )
        symbol = self.module.symbols.get(getattr(call.func, "id", ""))
        if isinstance(symbol, Import):
            found = self.module.project.find(self.module, symbol.module, symbol.level)
            symbol = found.symbols.get(symbol.name) if found is not None else symbol
        if isinstance(symbol, Function):
            return self._looks_up(symbol)
        return getattr(call.func, "id", "") in predicate_names(self.knowledge)

    @staticmethod
    def _looks_up(function: Function) -> bool:
        return not any(
            isinstance(
                node,
                ast.Assign | ast.AugAssign | ast.For | ast.While | ast.With | ast.Yield | ast.Await,
            )
            or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))
            for node in ast.walk(function.node)
        )

    def harmless(self, call: ast.Call) -> bool:
        """Say whether a call is known not to change what it is given."""
        name = self.canonical(call.func)
        if name is not None:
            return name in self.knowledge.calls or name in self.knowledge.pure or name == "print"
        return self._pure_callee(call.func) or (
            isinstance(call.func, ast.Attribute) and call.func.attr in _LOGGING
        )

    def communicates(self, call: ast.Call) -> bool:
        """Say whether a call may be a collective: by its resolved name, or by a method's name."""
        name = self.canonical(call.func)
        if name is not None:
            return name in self.knowledge.communicating
        return isinstance(call.func, ast.Attribute) and call.func.attr in self.knowledge.acting

    def differs(self, node: ast.AST) -> bool:
        """Say whether something in a piece of syntax gives each rank a value of its own: the
        clock, random numbers and the like, or a text with the rank in it."""
        for each in ast.walk(node):
            if isinstance(each, ast.JoinedStr) and self.ranked(each):
                return True
            if isinstance(each, ast.Call):
                name = self.canonical(each.func) or ""
                if name in self.knowledge.divergent:
                    return True
        return False

    def opens(self, call: ast.Call) -> bool:
        """Say whether a call opens a file."""
        return self.canonical(call.func) in _OPENS

    def tells(self, call: ast.Call) -> bool:
        """Say whether a call only prints or logs."""
        if isinstance(call.func, ast.Attribute):
            return call.func.attr in (*_LOGGING, "print_exc")
        return self.canonical(call.func) == "print"

    def immutable(self, node: ast.AST | None) -> bool:
        """Say whether an expression gives a text or number, which cannot be changed in place."""
        match node:
            case ast.Constant() | ast.JoinedStr():
                return True
            case ast.BinOp():
                return self.immutable(node.left) or self.immutable(node.right)
            case ast.Call(func=func):
                name = self.canonical(func) or ""
                return name.startswith("os.path.") or name in ("str", "int", "float")
        return False

    def doubtful(self, node: ast.AST) -> str | None:
        """Say why a condition may not be the same on every rank, or return None."""
        if not self.pure(node):
            return f"`{ast.unparse(node)}` must be the same on every rank"
        for child in ast.walk(node):
            name = child.attr if isinstance(child, ast.Attribute) else getattr(child, "id", "")
            if name and _OWN.search(name):
                return f"`{name}` must be the same on every rank"
        return None

    def ranked(self, node: ast.AST) -> bool:
        """Say whether an expression mentions what usually depends on the rank, or a name that
        such an expression is assigned to."""
        return mentions(node, self._ranked, self.knowledge)
