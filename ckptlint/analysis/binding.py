"""Binding values to targets on one rank class."""

from __future__ import annotations

import ast
from abc import abstractmethod

from ckptlint.analysis.containers import entry
from ckptlint.analysis.decisions import Decider
from ckptlint.analysis.frame import Frame
from ckptlint.analysis.values import (
    Choice,
    Const,
    Items,
    Rank,
    Symbol,
    Value,
    marked,
    merge_ranks,
)
from ckptlint.project import (
    dotted,
)


class Binder(Decider):
    """Assigns to names, attributes and displays."""

    @abstractmethod
    def evaluate(self, frame: Frame, node: ast.expr | None) -> Value:
        """Evaluate an expression; collectives in it go into the frame's trace in order."""

    def assign(self, frame: Frame, target: ast.expr, value: Value) -> None:
        """Bind a target. What is bound under a rank test depends on the rank."""
        mark = merge_ranks(*(test.rank for test in frame.guards))
        if mark is not None and not self._held_by_all(frame, target, value):
            known = isinstance(value, Const)  # else it is known only that the ranks differ in it
            value = marked(value, Rank(mark.scopes, mark.certain and known, mark.exact))
        if isinstance(target, ast.Name):
            self._forget(frame, target.id)
            frame.variables[target.id] = value
        elif isinstance(target, ast.Attribute):
            path = dotted(target)
            if path is not None:
                self._forget(frame, path)
                frame.variables[path] = value
            else:
                self.evaluate(frame, target.value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(frame, target, value)
        elif isinstance(target, ast.Starred):
            self.assign(frame, target.value, self.unknown("rest", frame, target))
        else:
            self.evaluate(frame, target)

    def _held_by_all(self, frame: Frame, target: ast.expr, value: Value) -> bool:
        """Say whether the ranks that do not assign hold the value too: it was there before, or
        they have sent it to this one."""
        path = target.id if isinstance(target, ast.Name) else dotted(target)
        if path is not None and frame.variables.get(path) == value:
            return True
        return self.keys.received(value)

    def _unpack(self, frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
        if isinstance(value, Choice) and not any(isinstance(e, ast.Starred) for e in target.elts):
            for index, each in enumerate(target.elts):
                part = entry(self.keys, value, Const(index))
                if part is not None:
                    self.assign(frame, each, part)
                else:
                    self._unpack_one(frame, each, value, index)
            return
        known = value.items if isinstance(value, Items) else ()
        stars = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
        head = stars[0] if stars else len(target.elts)
        tail = len(target.elts) - head - 1 if stars else 0
        fits = len(known) == len(target.elts) if not stars else len(known) >= head + tail
        for index, element in enumerate(target.elts):
            if known and fits and isinstance(element, ast.Starred):
                rest = Items(known[head : len(known) - tail])
                self.assign(frame, element.value, rest)
                continue
            if known and fits:
                offset = 0 if index < head else len(known) - len(target.elts)
                self.assign(frame, element, known[index + offset])
                continue
            self._unpack_one(frame, element, value, index)

    def _unpack_one(self, frame: Frame, target: ast.expr, value: Value, index: int) -> None:
        part = Symbol(
            self.keys.number("subscript", self.keys.of(value), str(index)),
            each=isinstance(value, Symbol) and value.each,
            origin="call",
            rank=value.rank,
            divergent=self.keys.disagreement(value),
        )
        self.assign(frame, target, self.conventional(frame, target, part))

    @abstractmethod
    def conventional(self, frame: Frame, target: ast.expr, value: Value) -> Value:
        """Give an unknown the value that the name of its target conventionally holds."""

    @staticmethod
    def _forget(frame: Frame, path: str) -> None:
        prefix = f"{path}."
        for name in [name for name in frame.variables if name.startswith(prefix)]:
            del frame.variables[name]
