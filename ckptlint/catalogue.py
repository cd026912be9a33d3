"""The rules by code, and which of them a list of selectors names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ckptlint.rule import Rule

NOT_ANALYSED = "CKP900"
UNUSED_SUPPRESSION = "CKP901"
_ALL = "ALL"


def rules() -> Mapping[str, Rule]:
    """Return the card of every rule, in the order of the codes."""
    from ckptlint_rules import RULES

    return {code: RULES[code].rule for code in sorted(RULES)}


class UnknownCodeError(Exception):
    """A selector matches no rule; ``nearest`` is the code that was probably meant, or ""."""

    def __init__(self, selector: str, nearest: str) -> None:
        hint = f"; did you mean {nearest}?" if nearest else "; `ckptlint rules` lists the codes"
        super().__init__(f"unknown rule code {selector!r}{hint}")
        self.selector = selector
        self.nearest = nearest


@dataclass(frozen=True)
class Layer:
    """The selectors of one place (a configuration file, the command line).

    ``select`` is None where the place does not speak of it; what an earlier layer selected stays.
    """

    select: tuple[str, ...] | None = None
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def choose(layers: Iterable[Layer], known: Mapping[str, Rule]) -> frozenset[str]:
    """Return the codes that are on after all layers, the earliest first.

    Within a layer the longer selector wins and ``ignore`` wins a tie, so that
    ``select = ["CKP1"]``, ``ignore = ["CKP101"]`` means what it says. That a file could not be
    analysed is told whatever is selected; only ignoring its code by name silences it. Raises
    UnknownCodeError.
    """
    chosen = {code for code, rule in known.items() if rule.default}
    for layer in layers:
        selectors = [*(layer.select or ()), *layer.extend, *layer.ignore]
        for selector in selectors:
            expand(selector, known)
        if layer.select is not None:
            chosen = {NOT_ANALYSED} & known.keys()
        for code in known:
            wanted = _reach(code, [*(layer.select or ()), *layer.extend])
            unwanted = _reach(code, layer.ignore)
            if code == NOT_ANALYSED and unwanted < len(code):
                continue
            if wanted > unwanted:
                chosen.add(code)
            elif unwanted >= 0:
                chosen.discard(code)
    return frozenset(chosen)


def _reach(code: str, selectors: Collection[str]) -> int:
    """Return how closely the best of the selectors names ``code``; -1 when none does."""
    matches = [0 if s == _ALL else len(s) for s in selectors if s == _ALL or code.startswith(s)]
    return max(matches, default=-1)


def expand(selector: str, known: Mapping[str, Rule]) -> frozenset[str]:
    """Return the codes that a selector (a code, the beginning of one, or ALL) names.

    Raises UnknownCodeError.
    """
    if selector == _ALL:
        return frozenset(known)
    found = frozenset(code for code in known if selector and code.startswith(selector))
    if not found:
        raise UnknownCodeError(selector, nearest(selector.upper(), known))
    return found


def find(word: str, known: Mapping[str, Rule]) -> Rule:
    """Return the rule with this code or name, in any case. Raises UnknownCodeError."""
    for rule in known.values():
        if word.lower() in (rule.code.lower(), rule.name):
            return rule
    names = [*known, *(rule.name for rule in known.values())]
    close = nearest(word.upper(), known) or nearest(word.lower(), names)
    raise UnknownCodeError(word, close)


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the word that was probably meant, or ""."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(words), n=1, cutoff=0.6)), "")
