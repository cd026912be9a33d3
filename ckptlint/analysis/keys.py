"""Numbers for unknowns: equal for what was computed alike, on every rank class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ckptlint.analysis.values import (
    FALSE,
    TRUE,
    Choice,
    ClassValue,
    Const,
    Divergent,
    External,
    FunctionValue,
    Guarded,
    Instance,
    Items,
    Many,
    ModuleValue,
    Object,
    Partial,
    Rank,
    Symbol,
    Table,
    Value,
    blank,
    merge_divergent,
    merge_ranks,
)

_MAX_LEAVES = 6
_OF_ANOTHER = ("attribute", "subscript", "call", "differs")  # what a number stands for part of


class Keys:
    """Numbers unknowns by what they were computed from.

    ``divergent`` holds the conditions on which ranks may disagree, and why.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._parts: list[tuple[object, ...]] = []
        self.meanings: dict[int, Choice] = {}
        self.divergent: dict[int, Divergent] = {}

    def number(self, *parts: object) -> int:
        """Return the number for these parts; equal parts give the equal number."""
        found = self._numbers.get(parts)
        if found is None:
            found = self._numbers[parts] = len(self._parts)
            self._parts.append(parts)
        return found

    def made_of(self, key: int) -> tuple[object, ...]:
        """Return what a number was given for."""
        return self._parts[key]

    def choose(self, key: int, yes: Value, no: Value) -> Value:
        """Build a choice, or something simpler when that loses nothing that matters.

        Choices between unknowns that differ alike become an unknown; a choice of too many
        alternatives keeps the only one that is known, or becomes an unknown too: the analysis must
        not grow with them.
        """
        if isinstance(yes, Choice) and yes.key == key:
            yes = yes.yes
        if isinstance(no, Choice) and no.key == key:
            no = no.no
        if yes == no:
            return yes
        choice = Choice(key, yes, no)
        leaves = choice.leaves
        alike = len({leaf.divergent for leaf in leaves}) == 1
        if alike and all(isinstance(leaf, Symbol) and leaf.rank is None for leaf in leaves):
            each = any(isinstance(leaf, Symbol) and leaf.each for leaf in leaves)
            return Symbol(self.of(choice), each, divergent=self.disagreement(choice))
        if len(leaves) <= _MAX_LEAVES:
            return choice
        known = {leaf for leaf in leaves if not blank(leaf)}
        if len(known) == 1:
            return known.pop()
        mark = merge_ranks(*(leaf.rank for leaf in leaves))
        return Symbol(
            self.of(choice),
            rank=mark and Rank(mark.scopes, mark.certain, False),
            divergent=self.disagreement(choice),
        )

    def tested(self, key: int, mark: Divergent | None) -> Choice:
        """Return the truth of an unknown; ranks may disagree in it when it has a mark."""
        if mark is not None:  # what is made alike of others need not differ
            key = self.number("differs", key, mark)
            self.divergent[key] = mark
        return Choice(key, TRUE, FALSE)

    def disagreement(self, value: Value) -> Divergent | None:
        """Return why a value may differ between ranks, by itself or by what decides on it."""
        if not isinstance(value, Choice):
            return value.divergent
        return merge_divergent(
            self.divergent.get(value.key),
            self.disagreement(value.yes),
            self.disagreement(value.no),
        )

    def spread(self, value: Value, apply: Callable[[Value], Value]) -> Value:
        """Apply a function to every alternative of a value."""
        if isinstance(value, Choice):
            return self.choose(
                value.key, self.spread(value.yes, apply), self.spread(value.no, apply)
            )
        return apply(value)

    def condition(self, test: Choice) -> Choice:
        """Turn a test whose alternatives depend on no rank into a single condition.

        What it was made of stays known in ``meanings``, for the comparison of paths.
        """
        if (test.yes, test.no) == (TRUE, FALSE) or (test.yes, test.no) == (FALSE, TRUE):
            return test
        if any(leaf.rank is not None for leaf in test.leaves):
            return test
        found = self.tested(self.of(test), self.disagreement(test))
        self.meanings[found.key] = test
        return found

    def known(self, key: int, facts: Mapping[int, bool]) -> bool | None:
        """Return the truth of a condition where ``facts`` decide it, else None."""
        if key in facts:
            return facts[key]
        if key not in self.meanings:
            return None
        value = self.narrowed(self.meanings[key], facts)
        return bool(value.value) if isinstance(value, Const) else None

    def narrowed(self, value: Value, facts: Mapping[int, bool]) -> Value:
        """Return what a choice comes to where ``facts`` decide it."""
        while isinstance(value, Choice):
            truth = self.known(value.key, facts)
            if truth is None:
                break
            value = value.yes if truth else value.no
        return value

    def received(self, value: Value | None) -> bool:
        """Say whether a value is what a collective left alike on every rank, or part of it."""
        if not isinstance(value, Symbol | Choice):
            return False
        kind, *rest = self.made_of(value.key)
        while kind in _OF_ANOTHER and rest and isinstance(rest[0], int):
            kind, *rest = self.made_of(rest[0])
        return kind == "agreed"

    def parts(self, key: int) -> frozenset[int]:
        """Return the conditions that a compound condition is made of, at any depth."""
        found: set[int] = set()
        stack: list[Value] = [self.meanings[key]] if key in self.meanings else []
        while stack:
            value = stack.pop()
            if isinstance(value, Choice):
                stack += [value.yes, value.no]
                if value.key not in found and value.key != key:
                    found.add(value.key)
                    stack += [self.meanings[value.key]] if value.key in self.meanings else []
        return frozenset(found)

    def implied(self, key: int, truth: bool) -> dict[int, bool]:
        """Return the conditions that must hold for ``key`` to be ``truth``, itself included."""
        meaning = self.meanings.get(key)
        found = {key: truth}
        if meaning is not None:
            paths = list(_paths(meaning, truth))
            if len(paths) == 1:
                for part, value in paths[0].items():
                    found |= self.implied(part, value)
        return found

    def of(self, value: Value) -> int:
        """Return a number for any value that is the same on every rank class.

        A value that was computed from the rank gives one number whatever it is on this rank, so
        what an unknown function makes of it counts as equal everywhere: a missed alarm at worst.
        """
        if isinstance(value, Symbol):
            return value.key
        if value.rank is not None:
            return self.number("ranked", *sorted(value.rank.scopes))
        match value:
            case Const():
                return self.number("const", type(value.value).__name__, repr(value.value))
            case Choice():
                return self.number("choice", value.key, self.of(value.yes), self.of(value.no))
            case Object() | External():
                return self.number("named", value.name)
            case Instance() | ClassValue():
                definition = value.definition
                path = definition.module.source.display
                return self.number(type(value).__name__, path, definition.qualname)
            case FunctionValue():
                return self.number("function", value.function.node)
            case Guarded() | Partial():
                return self.of(value.inner)
            case Items():
                return self.number("items", *map(self.of, value.items))
            case Many():
                return self.number("many", self.of(value.element))
            case Table():
                return self.number("table", *(self.of(held) for _, held in value.entries))
            case ModuleValue():
                return self.number("module", value.module.source.display)
        return self.number(type(value).__name__)


def _paths(value: Value, truth: bool) -> Iterator[dict[int, bool]]:
    """Yield the conditions under which a test comes out as ``truth``."""
    if isinstance(value, Choice):
        for arm, taken in ((value.yes, True), (value.no, False)):
            for path in _paths(arm, truth):
                yield {value.key: taken, **path}
    elif isinstance(value, Const) and bool(value.value) is truth:
        yield {}
