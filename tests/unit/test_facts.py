"""The facts files, and what is said of a table that is written wrongly."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ckptlint.facts import (
    RECORDS,
    Alias,
    Call,
    Class,
    Disagreement,
    Evidence,
    Exit,
    FactsError,
    FactSet,
    Guard,
    Hook,
    Predicate,
    Pure,
    Returns,
    load_file,
    parse,
    tomllib,
)
from ckptlint.knowledge import Knowledge

FILES = sorted(Path(__file__).parents[2].joinpath("rules/ckptlint_rules/facts").glob("*.toml"))
ALL = sum((load_file(path) for path in FILES), FactSet())
NEWEST = Knowledge(ALL)

REFERENCE = Path(__file__).parents[2].joinpath("docs/facts.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", REFERENCE, re.S | re.M)

COLLECTIVE = ("all", "group")
COLLECTIVE_EFFECTS = {"save", "gather", "barrier", "collective", "forward", "setup", "load"}
FILE_EFFECTS = {"write", "create", "rename", "delete", "read", "load"}


def named(path: Path) -> str:
    return path.stem


def prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def spoken_of(record: Any) -> tuple[str, ...]:
    if isinstance(record, Evidence):
        return record.names
    if isinstance(record, Hook):
        return (f"{record.owner}.{record.name}",)
    return () if isinstance(record, Alias) else (record.name,)


# -- the files ---------------------------------------------------------------------------------


def test_there_are_facts() -> None:
    assert {"torch", "dcp", "fsdp", "deepspeed", "python", "conventions"} <= set(map(named, FILES))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_file_describes_one_framework(path: Path) -> None:
    (framework,) = load_file(path).frameworks
    versions = [Version(release) for release in framework.releases]
    assert versions == sorted(set(versions))


def test_frameworks_have_names_of_their_own() -> None:
    assert max(Counter(framework.name for framework in ALL.frameworks).values()) == 1


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_record_names_its_source(path: Path) -> None:
    facts = load_file(path)
    for kind in (Call, Predicate, Guard, Hook, Disagreement):
        unnamed = [record.name for record in facts.of(kind) if not record.source.strip()]
        assert not unnamed


@pytest.mark.parametrize(
    "kind", [Call, Returns, Class, Predicate, Guard, Hook, Disagreement, Pure, Exit]
)
def test_no_two_records_say_something_of_one_name(kind: type[Any]) -> None:
    def key(record: Any) -> tuple[object, ...]:
        bare = getattr(record, "kind", "")  # "RANK" is a variable and, elsewhere, a convention
        name = record.name if bare in ("env", "name") else NEWEST.canonical(record.name)
        return (
            bare if bare in ("env", "name") else "",
            getattr(record, "owner", ""),
            name,
            getattr(record, "versions", ""),
            str(getattr(record, "when", {})),
        )

    twice = {key: count for key, count in Counter(map(key, ALL.of(kind))).items() if count > 1}
    assert not twice


def test_a_spelling_leads_to_one_name_only() -> None:
    spellings = Counter(other for alias in ALL.of(Alias) for other in alias.also)
    assert [name for name, count in spellings.items() if count > 1] == []


def test_aliases_do_not_go_in_circles() -> None:
    for alias in ALL.of(Alias):
        for other in alias.also:
            assert NEWEST.canonical(other) == NEWEST.canonical(alias.name), (alias.name, other)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_aliases_point_at_names_that_have_a_record(path: Path) -> None:
    known = {
        name for record in ALL.records for full in spoken_of(record) for name in prefixes(full)
    }
    assert [alias.name for alias in load_file(path).of(Alias) if alias.name not in known] == []


def test_bases_attributes_and_results_are_known_classes() -> None:
    wanted = {base for record in ALL.of(Class) for base in record.bases}
    wanted |= {kind for record in ALL.of(Class) for kind in record.attributes.values()}
    wanted |= {kind for record in ALL.of(Returns) for kind in record.types if kind}
    assert {name for name in wanted if NEWEST.canonical(name) not in NEWEST.classes} == set()


def test_versions_are_specifiers_of_a_framework_with_releases() -> None:
    releases = {framework.name: framework.releases for framework in ALL.frameworks}
    for record in ALL.records:
        versions = getattr(record, "versions", "")
        if versions:
            assert list(SpecifierSet(versions)), record.name
            assert releases[record.framework], record.name


def test_a_project_can_show_every_backend_that_a_call_names() -> None:
    named_by_calls = {backend for record in ALL.of(Call) for backend in record.backends}
    assert named_by_calls <= {record.backend for record in ALL.of(Evidence)}


@pytest.mark.parametrize("path", FILES, ids=named)
def test_effects_fit_who_must_call(path: Path) -> None:
    for call in load_file(path).of(Call):
        effects = COLLECTIVE_EFFECTS if call.who in COLLECTIVE else FILE_EFFECTS
        assert call.effect in effects, (call.name, call.who)
        assert (call.alone == "ok") is (call.who not in COLLECTIVE), (call.name, call.alone)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_conditions_of_a_call_go_together(path: Path) -> None:
    for call in load_file(path).of(Call):
        assert call.backends or call.otherwise == "ok", call.name
        assert call.group or call.group_position < 0, call.name


# -- what they answer --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("torch.distributed.distributed_c10d.barrier", "torch.distributed.barrier"),
        ("deepspeed.comm.barrier", "torch.distributed.barrier"),
        ("nanotron.distributed.all_reduce", "torch.distributed.all_reduce"),
        ("torch.distributed.nn.functional.all_gather", "torch.distributed.nn.all_gather"),
        (
            "torch.distributed.checkpoint.state_dict_saver.save",
            "torch.distributed.checkpoint.save",
        ),
        (
            "torch.distributed._shard.checkpoint.save_state_dict",
            "torch.distributed.checkpoint.save_state_dict",
        ),
        (
            "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel.state_dict",
            "torch.distributed.fsdp.FullyShardedDataParallel.state_dict",
        ),
        (
            "deepspeed.runtime.engine.DeepSpeedEngine.save_checkpoint",
            "deepspeed.DeepSpeedEngine.save_checkpoint",
        ),
        (
            "torch.distributed._tensor.distribute_tensor",
            "torch.distributed.tensor.distribute_tensor",
        ),
        (
            "megatron.mpu.initialize_model_parallel",
            "megatron.core.parallel_state.initialize_model_parallel",
        ),
        (
            "megatron.checkpointing.save_checkpoint",
            "megatron.training.checkpointing.save_checkpoint",
        ),
    ],
)
def test_other_spellings_lead_to_the_record(spelling: str, name: str) -> None:
    assert NEWEST.canonical(spelling) == name
    assert NEWEST.calls[name]


@pytest.mark.parametrize("method", ["save_checkpoint", "load_checkpoint", "step"])
def test_a_pipeline_engine_has_the_facts_of_its_base(method: str) -> None:
    found = NEWEST.member("deepspeed.PipelineEngine", method)
    assert found == f"deepspeed.DeepSpeedEngine.{method}"


@pytest.mark.parametrize("name", ["send", "recv", "isend", "irecv", "batch_isend_irecv"])
def test_sending_to_one_rank_is_no_collective(name: str) -> None:
    assert f"torch.distributed.{name}" not in NEWEST.calls


@pytest.mark.parametrize(
    "name", ["should_save", "master", "primary", "leader", "root", "main", "gpu"]
)
def test_a_name_of_many_meanings_is_no_convention(name: str) -> None:
    assert name not in NEWEST.conventions


@pytest.mark.parametrize(
    ("framework", "release", "name", "alone"),
    [
        ("torch", "2.0.1", "torch.distributed.new_group", "hang"),
        ("torch", "2.1.2", "torch.distributed.new_group", "late"),
        ("torch_xla", "2.0.0", "torch_xla.core.xla_model.save", "hang"),
        ("torch_xla", "2.1.0", "torch_xla.core.xla_model.save", "ok"),
        ("deepspeed", "0.3.0", "deepspeed.DeepSpeedEngine.save_checkpoint", "partial"),
        ("deepspeed", "0.19.6", "deepspeed.DeepSpeedEngine.save_checkpoint", "hang"),
        ("megatron", "0.17.0", "megatron.core.dist_checkpointing.load_plain_tensors", "hang"),
        ("megatron", "0.18.0", "megatron.core.dist_checkpointing.load_plain_tensors", "ok"),
    ],
)
def test_the_release_decides_what_a_lone_call_does(
    framework: str, release: str, name: str, alone: str
) -> None:
    (call,) = Knowledge(ALL, {framework: release}).calls[name]
    assert call.alone == alone


def test_a_call_with_options_is_told_before_the_call_without() -> None:
    for name, records in NEWEST.calls.items():
        plain = [not record.when for record in records]
        assert plain == sorted(plain), name
        sizes = [len(record.when) for record in records]
        assert sizes == sorted(sizes, reverse=True), name


# -- the reference -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_of_the_reference_can_be_used(text: str) -> None:
    table = tomllib.loads(text)
    assert parse(table.get("tool", {}).get("ckptlint", table), "facts.md").records


def test_the_reference_names_every_table_and_key() -> None:
    for table, kind in RECORDS.items():
        assert f"[[{table}]]" in REFERENCE
        keys = {field.name for field in fields(kind)} - {"framework"}
        assert [key for key in sorted(keys) if f"`{key}`" not in REFERENCE] == []


# -- what is said of a wrong table ---------------------------------------------------------------

CALL = {"name": "a.save", "who": "all", "effect": "save", "source": "a 1.0 a.py"}


def refusal(table: dict[str, Any]) -> str:
    with pytest.raises(FactsError) as caught:
        parse(table, "my.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"cal": [CALL]}, ["my.toml", "[[cal]]", "call", "predicate"]),
        ({"call": CALL}, ["my.toml", "[call]", "[[call]]"]),
        ({"call": [{**CALL, "wo": "all"}]}, ["[[call]] number 1", "a.save", "'wo'", "who"]),
        ({"call": [CALL, {**CALL, "who": "some"}]}, ["number 2", "who", "'some'", "'group'"]),
        ({"call": [{**CALL, "backends": "zero3"}]}, ["a.save", "backends", "list"]),
        ({"call": [{**CALL, "backends": [3]}]}, ["a.save", "backends", "list of str"]),
        ({"call": [{**CALL, "group_position": "1"}]}, ["group_position", "int", "str"]),
        ({"call": [{**CALL, "group_position": True}]}, ["group_position", "int", "bool"]),
        ({"call": [{**CALL, "when": ["x"]}]}, ["a.save", "when", "table"]),
        ({"call": [{"name": "a.save", "who": "all"}]}, ["a.save", "missing", "effect", "source"]),
        ({"call": [{"who": "all"}]}, ["[[call]] number 1", "without a name"]),
        ({"framework": {"name": "a"}}, ["[framework]", "missing", "imports"]),
    ],
)
def test_an_error_names_the_place_and_the_cure(table: dict[str, Any], said: list[str]) -> None:
    text = refusal(table)
    assert text.startswith("my.toml: ")
    assert [part for part in said if part not in text] == []


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[[call]\n")
    with pytest.raises(FactsError, match=r"broken\.toml: "):
        load_file(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match=r"absent\.toml: "):
        load_file(tmp_path / "absent.toml")


def test_a_list_of_names_makes_a_record_of_each() -> None:
    rest = {key: value for key, value in CALL.items() if key != "name"}
    facts = parse({"call": [{**rest, "names": ["a.save", "a.dump"]}]}, "my.toml")
    assert [record.name for record in facts.of(Call)] == ["a.save", "a.dump"]


def test_records_know_the_framework_of_their_file() -> None:
    head = {"name": "a", "imports": ["a"]}
    (record,) = parse({"framework": head, "call": [CALL]}, "my.toml").records
    assert record.framework == "a"
