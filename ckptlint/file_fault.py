"""A contention for a file in the words of a finding: which ranks do what to which file."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ckptlint.analysis.contention import Contention
from ckptlint.analysis.ranks import RankClass
from ckptlint.analysis.sequences import Access, Operation, Scope
from ckptlint.analysis.steps import Level
from ckptlint.analysis.survey import Contended
from ckptlint.analysis.values import Site
from ckptlint.facts import Call
from ckptlint.fault import BACKENDS, span_of, spelled, who
from ckptlint.finding import Confidence, Finding, Related
from ckptlint.rule import Rule

_MAX_CALLS = 5
_DOES = {
    "write": "writes the same file",
    "create": "creates the same folder or link",
    "rename": "renames the same file",
    "delete": "deletes the same file",
}
_RANKS = {
    "node": "the rank within the node",
    "group": "the rank within a group",
    **dict.fromkeys(("global", "member", "last", "second"), "the rank"),
}


@dataclass(frozen=True)
class FileFault:
    """One contention, whether the nodes are known to share a file system, and what the project
    shows of its backends."""

    contended: Contended
    shared: bool | None = None
    backends: frozenset[str] = frozenset()

    @property
    def contention(self) -> Contention:
        return self.contended.contention

    @property
    def kind(self) -> str:
        """What is wrong: see :class:`~ckptlint.analysis.contention.Contention`."""
        return self.contention.kind

    @property
    def item(self) -> Access | Operation:
        """The call that the finding is about."""
        return self.contention.visit.item

    @property
    def call(self) -> Call:
        """What the facts say of it."""
        return self.item.call

    @property
    def present(self) -> Sequence[RankClass]:
        """The ranks whose collectives a fix leaves as they are: none where it adds one."""
        return () if self.kind in ("order", "path") else self.contention.present

    @property
    def place(self) -> Site:
        """Where the finding is shown: the call, or the last call to it in the file looked at."""
        return self.contended.place

    @property
    def operation(self) -> str:
        """The call as the source spells it."""
        return spelled(self.item.site)

    @property
    def chain(self) -> str:
        """Say through which calls it is reached, or nothing."""
        names = [scope.function.qualname for scope in self._inner]
        return f" through {' → '.join(f'{name}()' for name in names)}" if names else ""

    @property
    def _inner(self) -> Sequence[Scope]:
        chain = self.contention.visit.chain
        start = next((i for i, s in enumerate(chain) if s.site.key == self.place.key), len(chain))
        return chain[start:]

    @property
    def does(self) -> str:
        """Say what it does to the file."""
        return _DOES[self.call.effect]

    @property
    def origins(self) -> str:
        """Name what makes the path differ."""
        return " and ".join(
            dict.fromkeys(_RANKS.get(origin, origin) for origin in sorted(self.contention.origins))
        )

    @property
    def reason(self) -> str:
        """Say what is incomplete in what is written or used."""
        return self.contention.reason

    @property
    def under(self) -> frozenset[str]:
        """The backends under which it is incomplete; none when it always is."""
        return frozenset(self.contention.backends)

    @property
    def under_words(self) -> str:
        """Name these backends."""
        return " or ".join(BACKENDS.get(name, name) for name in self.contention.backends)

    @property
    def local(self) -> bool:
        """Whether the call is known, and not only by its name, to involve this rank alone."""
        return isinstance(self.item, Access) and self.item.certain

    @property
    def confidence(self) -> Confidence:
        """Possible where only the surroundings know of ranks, or some caller is not known."""
        return Confidence.LIKELY if self.contended.likely else Confidence.POSSIBLE

    @property
    def other_operation(self) -> str:
        """The access that comes too early or too late, as the source spells it."""
        other = self.contention.other
        return spelled(other.item.site) if other is not None else ""

    @property
    def other_place(self) -> Site | None:
        """Where the other access is, seen from the function in which this one is shown."""
        other = self.contention.other
        if other is None:
            return None
        depth = len(self.contention.visit.chain) - len(self._inner)
        return other.chain[depth].site if len(other.chain) > depth else other.item.site

    @property
    def other_levels(self) -> Sequence[Level]:
        """The rank tests that lead to the other access."""
        return self.contention.other.levels if self.contention.other is not None else ()

    @property
    def removed(self) -> bool:
        """Whether what others use is taken away, rather than used before it is there."""
        other = self.contention.other
        return other is not None and bool(other.levels) and not self.contention.visit.levels

    def related(self) -> tuple[Related, ...]:
        """The places that explain the finding."""
        places = [
            Related(span_of(scope.site), f"calls {scope.function.qualname}()")
            for scope in self._inner[1:]
        ]
        if self.place.key != self.item.site.key:
            places.append(Related(span_of(self.item.site), f"{self.operation} is called here"))
        for call in self.contended.calls[:_MAX_CALLS]:
            places.append(Related(span_of(call), "every rank calls it here"))
        for level in self.contention.visit.levels[:2]:
            truth = "true" if level.test.taken else "false"
            text = f"{truth} on {who(self.contention.present)} only"
            places.append(Related(span_of(level.test.site), text))
        if self.contention.other is not None:
            other = self.contention.other
            for scope in other.chain[-1:]:
                places.append(Related(span_of(scope.site), f"calls {scope.function.qualname}()"))
            text = f"{spelled(other.item.site)} {_uses(other.item.call)} it"
            places.append(Related(span_of(other.item.site), text))
        meeting = self.contention.meeting
        if meeting is not None:
            places.append(Related(span_of(meeting.item.site), "every rank gets here"))
        if not places:
            runs = self.contention.visit.chain
            site = runs[-1].function if runs else None
            node = Site(site.module, site.node) if site is not None else self.place
            places.append(Related(span_of(node), "every rank runs this"))
        return tuple(dict.fromkeys(places))

    def finding(
        self, rule: Rule, message: str, help_: str, confidence: Confidence | None = None
    ) -> Finding:
        """Make the finding of a rule."""
        levels = (confidence or self.confidence, rule.confidence)
        span = span_of(self.place)
        return Finding(
            rule.code,
            rule.name,
            rule.severity,
            min(levels, key=lambda c: c.level),
            message,
            help_,
            span,
            self.contended.function,
            tuple(r for r in self.related() if r.span != span),
        )


def _uses(call: Call) -> str:
    return {"write": "writes", "read": "reads", "create": "creates"}.get(
        call.effect, f"{call.effect}s"
    )


def path_text(site: Site, call: Call) -> str:
    """Return the path argument as the source spells it, or nothing."""
    node = site.node
    if not isinstance(node, ast.Call):
        return ""
    if call.path == "self" and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value)
    for keyword in node.keywords:
        if keyword.arg == call.path:
            return ast.unparse(keyword.value)
    if 0 <= call.path_position < len(node.args):
        return ast.unparse(node.args[call.path_position])
    return ""
