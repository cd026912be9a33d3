"""The shape of a tree, where the flat names of a sharded checkpoint do not tell it.

torch.distributed.checkpoint stores leaves under names joined from the keys above them, as text. So
an empty mapping leaves no trace, and the key 0 comes back as "0"; an optimizer's state has both.

A shape is JSON: None for a leaf, ``{"list": shapes}``, or ``{"map": [[key, shape], ...]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any

_KEYS = (str, int, float, type(None))


def shape_of(tree: Any) -> Json:
    """The shape of ``tree``. Raises TypeError for a key that JSON cannot hold."""
    if isinstance(tree, Mapping):
        for key in tree:
            if not isinstance(key, _KEYS):
                raise TypeError(
                    f"a sharded checkpoint cannot hold a mapping with the key {key!r}, only with "
                    "strings and numbers; mode='full' can"
                )
        return {"map": [[key, shape_of(value)] for key, value in tree.items()]}
    if isinstance(tree, list):
        return {"list": [shape_of(value) for value in tree]}
    return None


def is_odd(shape: Json) -> bool:
    """Whether the flat names do not tell this shape."""
    if shape is None:
        return False
    if "list" in shape:
        return any(map(is_odd, shape["list"]))
    pairs = shape["map"]
    return not pairs or any(not isinstance(key, str) or is_odd(below) for key, below in pairs)


def reshaped(shape: Json, found: Any) -> Any:
    """What was read under flat names, in its former shape."""
    if shape is None:
        return found
    if "list" in shape:
        values = found if isinstance(found, list) else []
        missing = [None] * (len(shape["list"]) - len(values))
        pairs = zip(shape["list"], [*values, *missing], strict=True)
        return [reshaped(below, value) for below, value in pairs]
    mapping = found if isinstance(found, Mapping) else {}
    return {
        key: reshaped(below, mapping.get(key, mapping.get(str(key)))) for key, below in shape["map"]
    }
