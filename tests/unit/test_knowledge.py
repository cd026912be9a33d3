"""Canonical names, inheritance and versions of the facts."""

from __future__ import annotations

from ckptlint.facts import FactSet, parse
from ckptlint.knowledge import Knowledge

TABLE = {
    "framework": {
        "name": "Frame",
        "imports": ["frame"],
        "distributions": ["frame"],
        "releases": ["1.0", "2.0"],
        "source": "made up",
    },
    "alias": [
        {"name": "frame", "also": ["old_frame"]},
        {"name": "frame.Engine", "also": ["frame.core.engine.Engine"]},
    ],
    "class": [
        {"name": "frame.Engine", "usual_names": ["engine"]},
        {"name": "frame.PipeEngine", "bases": ["frame.Engine"]},
        {"name": "frame.Trainer", "attributes": {"engine": "frame.PipeEngine"}},
    ],
    "call": [
        {
            "name": "frame.Engine.save",
            "who": "all",
            "effect": "save",
            "source": "made up",
            "versions": ">=2",
        },
        {
            "name": "frame.Engine.save",
            "who": "any",
            "effect": "write",
            "source": "made up",
            "versions": "<2",
        },
    ],
}
FACTS: FactSet = parse(TABLE, "test")


def test_every_spelling_leads_to_one_name() -> None:
    knowledge = Knowledge(FACTS)
    assert knowledge.canonical("old_frame.core.engine.Engine") == "frame.Engine"
    assert knowledge.canonical("old_frame.Engine.save") == "frame.Engine.save"
    assert knowledge.canonical("older_frame.Engine") == "older_frame.Engine"


def test_members_are_inherited() -> None:
    knowledge = Knowledge(FACTS)
    assert knowledge.member("frame.PipeEngine", "save") == "frame.Engine.save"
    assert knowledge.member("frame.Trainer", "save") is None
    assert knowledge.attribute("frame.Trainer", "engine") == "frame.PipeEngine"


def test_the_newest_release_holds_when_nothing_is_pinned() -> None:
    (record,) = Knowledge(FACTS).calls["frame.Engine.save"]
    assert record.who == "all"


def test_a_pinned_release_chooses_the_record() -> None:
    (record,) = Knowledge(FACTS, {"Frame": "1.0"}).calls["frame.Engine.save"]
    assert record.who == "any"


def test_a_usual_name_counts_only_where_its_framework_is_imported() -> None:
    knowledge = Knowledge(FACTS)
    assert knowledge.usual("engine", frozenset({"frame"})) is not None
    assert knowledge.usual("engine", frozenset({"pygame"})) is None
