"""Executing statements in order, and those that choose between blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from ckptlint.analysis.calls import Caller
from ckptlint.analysis.frame import EXIT, NEXT, RAISE, Frame, Outcome
from ckptlint.analysis.keys import Keys
from ckptlint.analysis.memory import Common
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import (
    Exit,
    Yield,
)
from ckptlint.analysis.values import (
    LAZILY,
    NONE,
    TRUE,
    Const,
    Rank,
    Site,
    Symbol,
    Value,
    blank,
    marked,
    merge_ranks,
)
from ckptlint.analysis.world import Digest, World
from ckptlint.project import (
    Function,
    FunctionNode,
    dotted,
    every_statement,
    imported_names,
    stored_names,
    walk,
)

Block = Sequence[ast.stmt]
_STEPS = 100_000


class TooComplexError(Exception):
    """A function needs more steps, by itself, than the analysis allows itself."""


class Statements(Caller):
    """Executes simple statements, if and match."""

    def __init__(self, world: World, ranks: RankClass, keys: Keys, common: Common) -> None:
        super().__init__(world, ranks, keys, common)
        self._steps = 0

    def execute(self, frame: Frame, body: Block) -> str:
        """Execute statements in order until one leaves; return how the block ended."""
        for statement in body:
            self._steps += 1
            if self._steps > _STEPS:
                raise TooComplexError
            digest = self.world.digest(frame.module, statement)
            # Under a rank test it matters what a block leaves as it was on every rank.
            whole = not (frame.guards and isinstance(statement, ast.If))
            if digest.dull and whole and self._unknown_only(frame, digest):
                self._skip(frame, statement, digest)
                continue
            method = getattr(self, f"_{type(statement).__name__}", None)
            status = method(frame, statement) if method is not None else NEXT
            if frame.stopped:
                frame.stopped = False
                status = RAISE
            if status == RAISE:
                frame.failed_at = statement
                if self.world.failures and frame.guards and not frame.catching:
                    status = self._leave(frame, statement, "raise")
            if status != NEXT:
                return str(status)
        return NEXT

    def _unknown_only(self, frame: Frame, digest: Digest) -> bool:
        """Say whether a dull statement reads nothing known, and sets nothing that others read."""
        if not frame.shared.isdisjoint(digest.stores):
            return False
        for name in digest.loads:
            value = frame.variables.get(name)
            if value is None and frame.closure is not None:
                value = frame.closure.get(name)
            if value is None and name in frame.module.assigned and frame.function is not None:
                value = self.assigned(frame.module, name)
            if value is not None and not blank(value):
                return False
        return True

    def _skip(self, frame: Frame, statement: ast.stmt, digest: Digest) -> None:
        """Give what a dull statement assigns new unknowns."""
        guarded = merge_ranks(*(test.rank for test in frame.guards))
        mark = Rank(guarded.scopes, False, guarded.exact) if guarded is not None else None
        known = digest.loads & frame.variables.keys()
        loaded = sorted({self.keys.of(frame.variables[name]) for name in known})
        copied = dict(_copies(statement))
        for name in digest.stores:
            if name in copied:
                key = self._copied(frame, copied[name])
            else:
                key = self.keys.number("computed", Site(frame.module, statement).key, name, *loaded)
            if frame.variables.get(name) != Symbol(key):  # else it holds that already
                frame.variables[name] = Symbol(key, rank=mark)

    def _copied(self, frame: Frame, path: str) -> int:
        """Number what is read at a dotted path of unknowns, as evaluating it would."""
        known = frame.variables.get(path)
        if known is not None:
            return self.keys.of(known)
        base, _, name = path.rpartition(".")
        if not base:
            return self.keys.number("name", frame.module.source.display, name)
        return self.keys.number("attribute", self._copied(frame, base), name)

    def _Expr(self, frame: Frame, node: ast.Expr) -> str:
        if isinstance(node.value, ast.Yield | ast.YieldFrom):
            self._yield(frame, node.value)
        elif not isinstance(node.value, ast.Constant):
            self.evaluate(frame, node.value)
        return NEXT

    def _yield(self, frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
        if node.value is not None:
            self.evaluate(frame, node.value)
        frame.trace.append(Yield(tuple(frame.settings.items())))
        return self.unknown("sent", frame, node)

    def _Yield(self, frame: Frame, node: ast.Yield) -> Value:
        return self._yield(frame, node)

    def _YieldFrom(self, frame: Frame, node: ast.YieldFrom) -> Value:
        return self._yield(frame, node)

    def _Assign(self, frame: Frame, node: ast.Assign) -> str:
        value = self.evaluate(frame, node.value)
        for target in node.targets:
            self.assign(frame, target, self.conventional(frame, target, value))
        return NEXT

    def _AnnAssign(self, frame: Frame, node: ast.AnnAssign) -> str:
        if node.value is None:
            return NEXT
        value = self.evaluate(frame, node.value)
        if isinstance(value, Symbol) and value.rank is None:
            value = self.annotated(frame.module, node.annotation) or value
        self.assign(frame, node.target, self.conventional(frame, node.target, value))
        return NEXT

    def _AugAssign(self, frame: Frame, node: ast.AugAssign) -> str:
        left = self.evaluate(frame, _loaded(node.target))
        value = self.binary(node.op, left, self.evaluate(frame, node.value))
        self.assign(frame, node.target, value)
        return NEXT

    def _Delete(self, frame: Frame, node: ast.Delete) -> str:
        for target in node.targets:
            if isinstance(target, ast.Name):
                frame.variables.pop(target.id, None)
        return NEXT

    def _Return(self, frame: Frame, node: ast.Return) -> str:
        value = self.evaluate(frame, node.value)
        if frame.stopped:
            return RAISE
        mark = merge_ranks(*(test.rank for test in frame.guards))
        if mark is not None and isinstance(value, Symbol) and value.rank is None:
            mark = Rank(mark.scopes, mark.certain, False)
        frame.returns.append((dict(frame.facts), marked(value, mark)))
        return self._leave(frame, node, "return")

    def _leave(self, frame: Frame, node: ast.stmt, kind: str) -> str:
        frame.trace.append(
            Exit(kind, Site(frame.module, node), tuple(frame.guards))  # type: ignore[arg-type]
        )
        return EXIT

    def _Break(self, frame: Frame, node: ast.Break) -> str:
        return self._leave(frame, node, "break")

    def _Continue(self, frame: Frame, node: ast.Continue) -> str:
        return self._leave(frame, node, "continue")

    def _Raise(self, frame: Frame, node: ast.Raise) -> str:
        return RAISE

    def _Assert(self, frame: Frame, node: ast.Assert) -> str:
        test = self.truth(self.evaluate(frame, node.test))
        if not isinstance(test, Const) or test.value:
            return NEXT
        if test.rank is None:  # no rank passes, as with ``assert rank == -1``
            return RAISE
        frame.scopes |= test.rank.scopes
        return RAISE if test.rank.exact else NEXT

    def _FunctionDef(self, frame: Frame, node: FunctionNode) -> str:
        outer = frame.function
        name = f"{outer.qualname}.<locals>.{node.name}" if outer else node.name
        if outer is None and frame.closure is None:
            function = frame.module.symbols.get(node.name)
            if isinstance(function, Function) and function.node is node:
                return NEXT  # a global, decorated where it is looked up
        inner = Function(frame.module, node, name, None)
        closure = frame.scope()
        value = self.decorated(inner, None, closure)
        frame.variables[node.name] = value
        if self.world.gives(frame.module, node) or self.world.writes(frame.module, node):
            self.memory.met.nested[node] = (inner, value)
        return NEXT

    _AsyncFunctionDef = _FunctionDef

    def _Global(self, frame: Frame, node: ast.Global) -> str:
        frame.shared.update(node.names)
        return NEXT

    def _Import(self, frame: Frame, node: ast.Import | ast.ImportFrom) -> str:
        if frame.function is None:
            return NEXT  # looked up in the module's symbols
        for name, target in imported_names(node):
            if name != "*":
                frame.variables[name] = self.imported(frame.module, target)
        return NEXT

    _ImportFrom = _Import

    def _If(self, frame: Frame, node: ast.If) -> str:
        test = self.evaluate(frame, node.test)
        if frame.stopped:
            return RAISE
        if _makes_once(node):
            with self.within({LAZILY: TRUE}):
                return self._choose(frame, test, node.test, node.body, node.orelse)
        narrowed = self._narrowed(frame, node.test)
        if narrowed is None:
            return self._choose(frame, test, node.test, node.body, node.orelse)
        path, before = narrowed[0], frame.variables.get(narrowed[0])

        def body() -> Outcome:
            frame.variables[path] = narrowed[1]
            status = self.execute(frame, node.body)
            if frame.variables.get(path) is narrowed[1]:  # what it is is known in there only
                if before is None:
                    del frame.variables[path]
                else:
                    frame.variables[path] = before
            return Outcome(status, NONE)

        def orelse() -> Outcome:
            return Outcome(self.execute(frame, node.orelse), NONE)

        return self.decide(frame, test, node.test, body, orelse).status

    def _narrowed(self, frame: Frame, test: ast.expr) -> tuple[str, Value] | None:
        """Return the name, and the type it has where ``isinstance(name, type)`` is true.

        Of several types of one name the first that is known is taken.
        """
        if isinstance(test, ast.BoolOp):
            found = [self._narrowed(frame, part) for part in test.values]
            if isinstance(test.op, ast.Or) and len({each and each[0] for each in found}) > 1:
                return None  # the name is something else in one of the cases
            return next((each for each in found if each is not None), None)
        match test:
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, kind]):
                path = subject.id if isinstance(subject, ast.Name) else dotted(subject)
                if path is not None and blank(self.evaluate(frame, subject)):
                    typed = self.annotated(frame.module, kind)
                    if typed is not None:
                        return path, typed
        return None

    def _choose(self, frame: Frame, test: Value, node: ast.AST, body: Block, orelse: Block) -> str:
        depth = len(frame.guards)

        def arm(block: Block, other: Block) -> Callable[[], Outcome]:
            def run() -> Outcome:
                status = self.execute(frame, block)
                if status == NEXT and len(frame.guards) > depth:
                    self._send(frame, other)
                return Outcome(status, NONE)

            return run

        return self.decide(frame, test, node, arm(body, orelse), arm(orelse, body)).status

    def _send(self, frame: Frame, skipped: Block) -> None:
        """Take over what other ranks assign from a broadcast: this one has what it sent."""
        for statement in skipped:
            match statement:
                case ast.Assign(targets=[ast.Name(name)], value=source) if (
                    name in frame.variables
                    and any(
                        isinstance(part, ast.Name)
                        and self.keys.received(frame.variables.get(part.id))
                        for part in walk(source)
                    )
                ):
                    with frame.capture():
                        value = self.evaluate(frame, source)
                    if self.keys.received(value):
                        frame.variables[name] = value

    def _Match(self, frame: Frame, node: ast.Match) -> str:
        subject = self.evaluate(frame, node.subject)
        return self._cases(frame, node, subject, 0)

    def _cases(self, frame: Frame, node: ast.Match, subject: Value, index: int) -> str:
        if index == len(node.cases):
            return NEXT
        case = node.cases[index]
        test = self._pattern(frame, case.pattern, subject)

        def matched() -> Outcome:
            if case.guard is None:
                return Outcome(self.execute(frame, case.body), NONE)
            guard = self.evaluate(frame, case.guard)
            return self.decide(
                frame,
                guard,
                case.guard,
                lambda: Outcome(self.execute(frame, case.body), NONE),
                lambda: Outcome(self._cases(frame, node, subject, index + 1), NONE),
            )

        return self.decide(
            frame,
            test,
            case.pattern,
            matched,
            lambda: Outcome(self._cases(frame, node, subject, index + 1), NONE),
        ).status

    def _pattern(self, frame: Frame, pattern: ast.pattern, subject: Value) -> Value:
        if isinstance(pattern, ast.MatchValue):
            return self.compare(ast.Eq, subject, self.evaluate(frame, pattern.value))
        if isinstance(pattern, ast.MatchSingleton):
            return self.compare(ast.Is, subject, Const(pattern.value))
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None:
                frame.variables[pattern.name] = subject
            return TRUE
        if isinstance(pattern, ast.MatchOr):
            options = [self._pattern(frame, option, subject) for option in pattern.patterns]
            known = [option for option in options if isinstance(option, Const)]
            if len(known) == len(options):
                mark = merge_ranks(*(option.rank for option in known))
                return Const(any(option.value for option in known), rank=mark)
        for name in stored_names(pattern):
            frame.variables[name] = self.unknown("matched", frame, pattern, name)
        return self.unknown("pattern", frame, pattern)


def _copies(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the names that are bound to what stands at a dotted path, and the path."""
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        names, sources = (
            (target.elts, statement.value.elts)
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
            else ([target], [statement.value])
        )
        for name, source in zip(names, sources, strict=False):
            path = dotted(source)
            if isinstance(name, ast.Name) and path is not None:
                yield name.id, path


def _makes_once(node: ast.If) -> bool:
    """Say whether a block makes what the test says is not there yet: it ran before, or will."""
    match node.test:
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(_fills(part, node.body) for part in parts)
    return _fills(node.test, node.body)


def _fills(test: ast.expr, body: Block) -> bool:
    """Say whether a block assigns what the test says is not there."""
    match test:
        case ast.Compare(left=subject, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            pass
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() as subject):
            pass
        case _:
            return False
    path = subject.id if isinstance(subject, ast.Name) else dotted(subject)
    return path is not None and any(
        isinstance(target, ast.Name | ast.Attribute)
        and (target.id if isinstance(target, ast.Name) else dotted(target)) == path
        for statement in every_statement(body)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    )


def _loaded(target: ast.expr) -> ast.expr:
    """Return the target of an augmented assignment as an expression that is read."""
    match target:
        case ast.Name():
            return ast.copy_location(ast.Name(target.id, ast.Load()), target)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    return target
