"""A plan as a reader wants it: neighbours under one test, and no more tests than are needed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ckptlint.fixing.needs import Needs
from ckptlint.fixing.plan import Guarded, Item, Kept, Plan, Pulled
from ckptlint.fixing.scopes import Uses, touch


@dataclass
class Tidying(Needs):
    """Puts the items of a plan together."""

    def tidied(self, items: Sequence[Item]) -> Plan:
        """Join neighbours under one guard and drop ``pass``.

        Where one statement without effects parts two guarded groups, it comes first; a collective
        comes before a group that only computes.
        """
        joined: list[Item] = []
        for item in items:
            if isinstance(item, Guarded):
                kept = tuple(s for s in item.statements if not isinstance(s, ast.Pass))
                if not kept:
                    continue
                item = Guarded(kept)
                if joined and isinstance(joined[-1], Guarded):
                    joined[-1] = Guarded(joined[-1].statements + kept)
                    continue
                if len(joined) > 1 and self._may_come_first(joined[-1], joined[-2]):
                    between, before = joined.pop(), joined.pop()
                    assert isinstance(before, Guarded)
                    joined += [between, Guarded(before.statements + kept)]
                    continue
            joined.append(item)
        return tuple(joined)

    def _may_come_first(self, item: Item, group: Item) -> bool:
        """Say whether an item may come before the guarded group that it stands behind."""
        if not isinstance(group, Guarded) or not isinstance(item, Kept | Pulled):
            return False
        if not (isinstance(item, Kept) and item.free) and not all(map(self.free, group.statements)):
            return False
        uses = Uses.of(*group.statements)
        own = Uses.of(item.call if isinstance(item, Pulled) else item.statement)
        written = uses.stores | self.changes(uses)
        return not (touch(own.stores, uses.loads | written) or touch(own.loads, written))
