"""A save that goes well, and what every rank then holds."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from harness import attempt, launched, run_ranks, wait_for

from ckptlint_runtime import (
    CheckpointError,
    MissingRanksError,
    RankFailedError,
    RanksDisagreeError,
    agree,
    latest_checkpoint,
    load_checkpoint,
    run_on_rank_zero,
    save_checkpoint,
    set_default_timeouts,
)
from ckptlint_runtime.errors import name_ranks
from ckptlint_runtime.files import read_record
from ckptlint_runtime.manifest import Manifest, write_manifest


def model(value: float) -> torch.nn.Module:
    module = torch.nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(value)
    return module


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    source = model(7.0)
    optimizer = torch.optim.Adam(source.parameters())
    source(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    path = save_checkpoint(
        {"model": source, "optimizer": optimizer, "epoch": 4}, tmp_path / "a", step=9
    )
    target = model(0.0)
    fresh = torch.optim.Adam(target.parameters())
    loaded = load_checkpoint(path, {"model": target, "optimizer": fresh, "epoch": None})
    assert torch.equal(target.weight, source.weight)
    assert fresh.state_dict()["state"][0]["step"] == 1
    assert (loaded.values, loaded.step, loaded.world_size) == ({"epoch": 4}, 9, 1)


def test_without_a_state_the_whole_tree_is_returned(tmp_path: Path) -> None:
    save_checkpoint({"model": model(1.0), "epoch": 4}, tmp_path / "a")
    values = load_checkpoint(tmp_path / "a").values
    assert values["epoch"] == 4
    assert torch.equal(values["model"]["bias"], torch.ones(2))


def test_a_callable_and_a_single_object_are_states(tmp_path: Path) -> None:
    save_checkpoint(lambda: {"x": 1}, tmp_path / "a")
    save_checkpoint(model(2.0), tmp_path / "b")
    assert load_checkpoint(tmp_path / "a").values == {"x": 1}
    target = model(0.0)
    load_checkpoint(tmp_path / "b", target)
    assert torch.equal(target.bias, torch.full((2,), 2.0))


@pytest.mark.parametrize("world", [1, 2])
def test_all_ranks_leave_with_the_path_of_a_committed_checkpoint(
    tmp_path: Path, world: int
) -> None:
    def program(rank: int) -> Any:
        path = save_checkpoint({"model": model(3.0), "n": 5}, tmp_path / "step_1", step=1)
        assert (path / "manifest.json").is_file()
        return [str(path), load_checkpoint(path).values["n"], str(latest_checkpoint(tmp_path))]

    outcomes = run_ranks(world, program)
    expected = str(tmp_path / "step_1")
    assert [outcome.value for outcome in outcomes] == [[expected, 5, expected]] * world
    assert (tmp_path / "latest").read_text() == "step_1\n"


def test_an_existing_checkpoint_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a")
    with pytest.raises(RankFailedError, match="overwrite=True"):
        save_checkpoint({"n": 2}, tmp_path / "a")
    assert load_checkpoint(tmp_path / "a").values == {"n": 1}
    save_checkpoint({"n": 3}, tmp_path / "a", overwrite=True)
    assert load_checkpoint(tmp_path / "a").values == {"n": 3}


def test_retention_keeps_the_newest_and_touches_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for step in range(5):
        save_checkpoint({"n": step}, tmp_path / f"step_{step}", keep_last=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "latest",
        "notes",
        "step_3",
        "step_4",
    ]


def test_retention_counts_complete_checkpoints_only(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_checkpoint({"n": name}, tmp_path / name)
    (tmp_path / "b" / "state.pt").write_bytes(b"torn")
    save_checkpoint({"n": "c"}, tmp_path / "c", keep_last=2)
    assert load_checkpoint(tmp_path / "a").values == {"n": "a"}
    assert (tmp_path / "b" / "state.pt").read_bytes() == b"torn"


def test_retention_never_deletes_what_was_just_saved_over_an_older_name(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        save_checkpoint({"n": name}, tmp_path / name)
    save_checkpoint({"n": "again"}, tmp_path / "a", overwrite=True, keep_last=1)
    assert load_checkpoint(latest_checkpoint(tmp_path) or "").values == {"n": "again"}
    assert not (tmp_path / "b").exists()


def test_latest_skips_torn_and_unfinished_folders(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path / "nowhere") is None
    save_checkpoint({"n": 1}, tmp_path / "a")
    save_checkpoint({"n": 2}, tmp_path / "b")
    with open(tmp_path / "b" / "state.pt", "ab") as file:
        file.truncate(10)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "state.pt").write_bytes(b"half")
    assert latest_checkpoint(tmp_path) == tmp_path / "a"


def test_a_checkpoint_set_aside_by_a_killed_replacement_is_found(tmp_path: Path) -> None:
    aside = tmp_path / ".a.0123.replaced"
    save_checkpoint({"n": 1}, tmp_path / "a").rename(aside)
    assert latest_checkpoint(tmp_path) == tmp_path / "a"
    loaded = load_checkpoint(tmp_path / "a")
    assert (loaded.values, loaded.folder) == ({"n": 1}, aside)
    save_checkpoint({"n": 2}, tmp_path / "b", keep_last=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "latest"]


@pytest.mark.parametrize(
    ("verify", "notices"), [("checksum", {"flip", "cut"}), ("size", {"cut"}), ("none", set())]
)
def test_how_much_is_verified_is_the_callers_choice(
    tmp_path: Path, verify: str, notices: set[str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "data").write_bytes(bytes(100))
    record = read_record(tmp_path / "a" / "data")
    # An engine's files: nothing but the verification reads them.
    manifest = Manifest("engine:x", None, 1, "0", 0, "", files={"data": record})
    write_manifest(tmp_path / "a", manifest)
    for harm, content in {"": bytes(100), "flip": bytes(99) + b"1", "cut": bytes(99)}.items():
        (tmp_path / "a" / "data").write_bytes(content)
        found = attempt(lambda: load_checkpoint(tmp_path / "a", verify=verify))
        assert found["status"] == ("raised" if harm in notices else "returned"), harm


def test_another_word_for_verify_is_refused(tmp_path: Path) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a")
    with pytest.raises(RankFailedError, match="verify is one of checksum, size, none"):
        load_checkpoint(tmp_path / "a", verify="sha256")


def test_objects_of_any_class_load_only_where_the_caller_trusts_them(tmp_path: Path) -> None:
    day = datetime.date(2020, 2, 29)
    save_checkpoint({"day": day}, tmp_path / "a")
    with pytest.raises(RankFailedError, match="weights_only"):
        load_checkpoint(tmp_path / "a")
    assert load_checkpoint(tmp_path / "a", weights_only=False).values == {"day": day}


@pytest.mark.parametrize("harm", ["flip", "cut", "gone"])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, harm: str) -> None:
    save_checkpoint({"model": model(1.0)}, tmp_path / "a")
    victim = tmp_path / "a" / "state.pt"
    data = bytearray(victim.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 1
        victim.write_bytes(data)
    elif harm == "cut":
        victim.write_bytes(data[:-1])
    else:
        victim.unlink()
    with pytest.raises(RankFailedError, match=r"state\.pt"):
        load_checkpoint(tmp_path / "a")


def test_a_damaged_marker_is_refused(tmp_path: Path) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a", step=10)
    marker = tmp_path / "a" / "manifest.json"
    marker.write_text(marker.read_text().replace('"step": 10', '"step": 11'))
    with pytest.raises(RankFailedError, match="damaged"):
        load_checkpoint(tmp_path / "a")


def test_a_part_that_was_not_saved_is_named(tmp_path: Path) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a")
    with pytest.raises(RankFailedError, match="no part named ema"):
        load_checkpoint(tmp_path / "a", {"ema": None})


def test_another_world_size_is_refused_where_the_caller_says_so(tmp_path: Path) -> None:
    run_ranks(2, lambda rank: str(save_checkpoint({"n": 1}, tmp_path / "a")))
    assert load_checkpoint(tmp_path / "a").world_size == 2
    with pytest.raises(RankFailedError, match="saved by 2 ranks and this job has 1"):
        load_checkpoint(tmp_path / "a", same_world_size=True)


@pytest.mark.parametrize("name", [".hidden", "latest"])
def test_names_of_the_runtime_itself_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankFailedError, match="cannot name a checkpoint"):
        save_checkpoint({"n": 1}, tmp_path / name)


@pytest.mark.parametrize("step", [7, torch.tensor(7)], ids=["int", "tensor"])
def test_a_step_is_a_whole_number_of_any_kind(tmp_path: Path, step: Any) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a", step=step)
    assert load_checkpoint(tmp_path / "a").step == 7
    with pytest.raises(TypeError, match=r"step is a whole number or None, not 1\.5"):
        save_checkpoint({"n": 1}, tmp_path / "b", step=1.5)  # type: ignore[arg-type]


def test_rank_zero_runs_it_once_and_all_get_the_result(tmp_path: Path) -> None:
    def once() -> dict[str, int]:
        with open(tmp_path / "calls", "a") as file:
            file.write("x")
        return {"answer": 42}

    outcomes = run_ranks(3, lambda rank: run_on_rank_zero(once))
    assert [outcome.value for outcome in outcomes] == [{"answer": 42}] * 3
    assert (tmp_path / "calls").read_text() == "x"


def test_an_error_on_rank_zero_is_raised_on_all() -> None:
    def fail() -> None:
        raise KeyError("no such run")

    outcomes = run_ranks(2, lambda rank: run_on_rank_zero(fail))
    assert [(o.error, o.ranks) for o in outcomes] == [("RankFailedError", (0,))] * 2
    assert [outcome.cause for outcome in outcomes] == ["KeyError", ""]
    assert all("no such run" in outcome.message for outcome in outcomes)


def test_a_result_that_is_not_plain_is_refused_on_all_ranks() -> None:
    outcomes = run_ranks(2, lambda rank: run_on_rank_zero(object))
    assert all("crosses ranks as JSON" in outcome.message for outcome in outcomes)


def test_agreement_lists_who_brought_what() -> None:
    def program(rank: int) -> Any:
        assert agree([1, 2], "shape") == [1, 2]
        return attempt(lambda: agree(rank // 2, "epoch"))

    for outcome in run_ranks(3, program):
        assert outcome.value["error"] == "RanksDisagreeError"
        assert (outcome.value["name"], outcome.value["value"]) == ("epoch", {"0": [0, 1], "1": [2]})


def test_a_value_that_is_not_plain_is_refused_on_all_ranks() -> None:
    def program(rank: int) -> Any:
        first = attempt(lambda: agree(torch.ones(1) if rank else 1, "x"))
        return [first["error"], first["ranks"], first["cause"], agree(2, "x")]

    zero, one = run_ranks(2, program)
    assert zero.value == ["RankFailedError", [1], "", 2]
    assert one.value == ["RankFailedError", [1], "TypeError", 2]


@pytest.mark.parametrize("call", ["load", "latest", "agree", "run"])
def test_a_rank_that_is_absent_from_any_call_is_named(tmp_path: Path, call: str) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a")
    calls = {
        "load": lambda: load_checkpoint(tmp_path / "a", timeout=1.5),
        "latest": lambda: latest_checkpoint(tmp_path, timeout=1.5),
        "agree": lambda: agree(1, "x"),
        "run": lambda: run_on_rank_zero(dict),
    }

    def program(rank: int) -> Any:
        set_default_timeouts(timeout=1.5)
        return None if rank == 1 else attempt(calls[call])

    zero, _, two = run_ranks(3, program)
    for outcome in (zero, two):
        assert (outcome.value["error"], outcome.value["ranks"]) == ("MissingRanksError", [1])
        assert "within 1.5 s" in outcome.value["message"]


def test_all_ranks_that_raised_are_listed(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        def state() -> dict[str, int]:
            if rank != 1:
                raise ValueError(f"on {rank}")
            return {"n": 1}

        return attempt(lambda: save_checkpoint(state, tmp_path / "a"))

    for outcome in run_ranks(3, program):
        assert (outcome.value["error"], outcome.value["ranks"]) == ("RankFailedError", [0, 2])
        assert outcome.value["cause"] == ("" if outcome.rank == 1 else "ValueError")
        assert "ValueError: on 0" in outcome.value["message"]
        assert "ValueError: on 2" in outcome.value["message"]


def test_an_error_without_text_reaches_the_others_too(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise KeyError("text")

    def program(rank: int) -> Any:
        def state() -> dict[str, int]:
            if rank == 1:
                raise Mute
            return {"n": 1}

        return attempt(lambda: save_checkpoint(state, tmp_path / "a"))

    for outcome in run_ranks(2, program):
        assert (outcome.value["error"], outcome.value["ranks"]) == ("RankFailedError", [1])
        assert "Mute: (it has no text" in outcome.value["message"]


def test_a_rank_whose_working_directory_is_gone_saves_all_the_same(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        if rank == 1:
            (tmp_path / "gone").mkdir()
            os.chdir(tmp_path / "gone")
            (tmp_path / "gone").rmdir()
        return str(save_checkpoint({"n": 1}, tmp_path / "a"))

    assert [outcome.value for outcome in run_ranks(2, program)] == [str(tmp_path / "a")] * 2


@pytest.mark.skipif(torch.__version__ < "2.3", reason="torch 2.2 gives its fake group no name")
def test_ranks_started_with_different_world_sizes_are_told_apart(tmp_path: Path) -> None:
    """torch's fake backend, because no other lets such a job start."""
    fake_pg = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    port = int(launched(2)[0]["MASTER_PORT"])

    def program(rank: int) -> Any:
        assert fake_pg is not None
        store = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
        dist.init_process_group("fake", store=store, rank=rank, world_size=2 + rank)
        return attempt(lambda: save_checkpoint({}, tmp_path / "a"))

    for outcome in run_ranks(2, program, process_group=False):
        found = outcome.value
        assert (found["error"], found["name"]) == ("RanksDisagreeError", "world size")
        assert found["value"] == {"2": [0], "3": [1]}


def test_a_call_of_another_kind_is_a_disagreement(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        return save_checkpoint({}, tmp_path / "a") if rank else agree(1, "x")

    outcomes = run_ranks(2, program)
    assert {(o.error, o.name) for o in outcomes} == {("RanksDisagreeError", "operation")}


def test_after_a_skipped_call_the_counts_differ_once_and_then_all_is_well(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        first = None
        if rank == 0:
            first = attempt(lambda: save_checkpoint({}, tmp_path / "one", timeout=0.2))
            (tmp_path / "given up").touch()
        else:
            wait_for(tmp_path / "given up")
        second = attempt(lambda: save_checkpoint({}, tmp_path / "two"))
        third = attempt(lambda: save_checkpoint({}, tmp_path / "three"))
        return [first, second["name"], second["value"], third["status"]]

    zero, one = run_ranks(2, program)
    assert (zero.value[0]["error"], zero.value[0]["ranks"]) == ("MissingRanksError", [1])
    assert zero.value[1:] == one.value[1:] == ["call", {"1": [1], "2": [0]}, "returned"]


def test_two_different_saves_that_meet_are_told_apart_at_once(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        return attempt(lambda: save_checkpoint({}, tmp_path / str(rank)))

    for outcome in run_ranks(2, program):
        assert (outcome.value["error"], outcome.value["name"]) == ("RanksDisagreeError", "path")


def test_a_rank_that_comes_too_late_is_told_so_at_once(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        if rank == 1:
            wait_for(tmp_path / "given up")
        found = attempt(lambda: save_checkpoint({}, tmp_path / "one", timeout=0.5))
        (tmp_path / "given up").touch()
        return found

    for outcome in run_ranks(2, program):
        assert (outcome.value["error"], outcome.value["ranks"]) == ("MissingRanksError", [1])


@pytest.mark.parametrize("mode", ["full", "sharded"])
def test_a_subgroup_saves_by_itself_and_outsiders_are_refused(tmp_path: Path, mode: str) -> None:
    def program(rank: int) -> Any:
        group = dist.new_group([1, 2])
        path = tmp_path / "a"
        return attempt(lambda: save_checkpoint({"n": rank}, path, mode=mode, group=group))

    outcomes = run_ranks(3, program)
    assert [outcome.value["status"] for outcome in outcomes] == ["raised", "returned", "returned"]
    assert "not a member" in outcomes[0].value["message"]
    assert load_checkpoint(tmp_path / "a").values == {"n": 1}


def test_errors_have_one_base_and_name_global_ranks() -> None:
    for kind in (MissingRanksError, RankFailedError, RanksDisagreeError):
        assert issubclass(kind, CheckpointError)
    assert name_ranks([3]) == "rank 3"
    assert name_ranks([5, 0, 1, 2, 9, 8]) == "ranks 0-2, 5, 8-9"


@pytest.mark.skipif(torch.__version__ < "2.3", reason="torch 2.2 itself imports numpy for DCP")
def test_values_cross_without_numpy(tmp_path: Path) -> None:
    code = (
        "import sys, warnings; sys.modules['numpy'] = None; warnings.simplefilter('ignore')\n"
        f"sys.path.insert(0, {str(Path(save_checkpoint.__code__.co_filename).parents[1])!r})\n"
        "import torch, ckptlint_runtime as c\n"
        f"p = c.save_checkpoint({{'t': torch.ones(2)}}, {str(tmp_path / 'a')!r})\n"
        "print(c.load_checkpoint(p).values['t'].tolist(), c.run_on_rank_zero(lambda: 1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180)
    assert done.stdout.strip() == "[1.0, 1.0] 1", done.stderr
