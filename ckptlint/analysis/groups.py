"""Groups: whether a collective is for the whole job or for a part of it."""

from __future__ import annotations

from typing import Any, Literal

from ckptlint.analysis.frame import Arguments
from ckptlint.analysis.values import Const, External, Object, Value
from ckptlint.facts import Call
from ckptlint.knowledge import Knowledge

_WORLD_GROUPS = ("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD")
# What an object has among its settings that communicates in a group it was made for.
GROUPED: tuple[tuple[str, Any], ...] = (("made for a group", True),)


def group_of(
    known: Knowledge, record: Call, arguments: Arguments, owner: Value | None = None
) -> Literal["world", "sub"]:
    """Say in which group a call communicates: that of its object, or the one it is given."""
    if record.own_group or of_group(owner):
        return "sub"
    value = arguments.get(record.group, record.group_position) if record.group else None
    return "world" if value is None or is_world(known, value) else "sub"


def of_group(made: Value | None) -> bool:
    """Say whether an object communicates in a group that it was made for."""
    return isinstance(made, Object) and GROUPED[0] in made.settings


def made_for_group(known: Knowledge, name: str, arguments: Arguments) -> bool:
    """Say whether an object of a class is made for a group, or with another one that was."""
    given = (*arguments.positional, *(value for _, value in arguments.keywords))
    wanted = known.classes[name].group
    group = arguments.get(wanted, -1) if wanted else None
    return any(map(of_group, given)) or (group is not None and not is_world(known, group))


def is_world(known: Knowledge, value: Value) -> bool:
    """Say whether a value that stands for a group is the whole job."""
    if isinstance(value, Const):
        return value.value is None
    if isinstance(value, External):
        return known.canonical(value.name) in _WORLD_GROUPS
    return isinstance(value, Object) and value.name == "torch.distributed.group.WORLD"
