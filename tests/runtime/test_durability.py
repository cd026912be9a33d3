"""In which order a save touches the disk, and what is left when it dies between two steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import run_ranks
from layers import FailingLayer, KillingLayer, RecordingLayer, use

from ckptlint_runtime import load_checkpoint, save_checkpoint
from ckptlint_runtime.files import FileLayer
from ckptlint_runtime.layout import find
from ckptlint_runtime.manifest import complete


@pytest.fixture(autouse=True)
def real_layer() -> Any:
    yield
    use(FileLayer())


@pytest.mark.parametrize("mode", ["full", "sharded"])
def test_data_is_durable_before_its_name_is_and_the_name_before_the_pointer(
    tmp_path: Path, mode: str
) -> None:
    layer = RecordingLayer()
    use(layer)
    save_checkpoint({"n": 1, "m": 2}, tmp_path / "a", mode=mode)
    calls = layer.calls
    published = calls.index(("rename", "a"))
    created = [name for operation, name in calls[:published] if operation == "create"]
    assert "manifest.json" in created
    for name in created:
        synced = calls.index(("fsync", name))
        last_write = max(i for i, call in enumerate(calls) if call == ("write", name))
        assert last_write < synced < published
    partial = next(name for operation, name in calls if operation == "mkdir")
    marker = calls.index(("create", "manifest.json"))
    data = [name for name in created if name != "manifest.json"]
    assert all(calls.index(("fsync", name)) < marker for name in data)
    folder_synced = max(i for i, call in enumerate(calls) if call == ("fsync_dir", partial))
    assert calls.index(("fsync", "manifest.json")) < folder_synced < published
    assert calls[published + 1] == ("fsync_dir", tmp_path.name)
    pointer = calls.index(("replace", "latest"))
    assert published + 1 < pointer
    assert calls[pointer + 1] == ("fsync_dir", tmp_path.name)


def test_what_an_engine_wrote_is_durable_before_its_name_is(tmp_path: Path) -> None:
    def save(_self: Any, folder: str, tag: str) -> None:
        (Path(folder) / tag).mkdir()
        (Path(folder) / tag / "shard").write_text("1")
        (Path(folder) / "index").write_text(tag)

    members = {"__module__": "deepspeed.runtime.engine", "save_checkpoint": save}
    layer = RecordingLayer()
    use(layer)
    save_checkpoint(type("DeepSpeedEngine", (), members)(), tmp_path / "a")
    calls = layer.calls
    partial = next(name for operation, name in calls if operation == "mkdir")
    order = [("fsync", "shard"), ("create", "manifest.json"), ("fsync", "manifest.json")]
    order += [("fsync_dir", "engine"), ("fsync_dir", partial), ("rename", "a")]
    places = [calls.index(call) for call in order]
    assert places == sorted(places)
    assert calls.index(("fsync", "index")) < calls.index(("create", "manifest.json"))


def test_retention_comes_after_the_commit(tmp_path: Path) -> None:
    save_checkpoint({"n": 1}, tmp_path / "a")
    layer = RecordingLayer()
    use(layer)
    save_checkpoint({"n": 2}, tmp_path / "b", keep_last=1)
    removed = [i for i, (operation, _) in enumerate(layer.calls) if operation == "remove"]
    assert removed
    assert min(removed) > layer.calls.index(("replace", "latest"))


def test_what_fails_after_the_commit_does_not_fail_the_save(tmp_path: Path) -> None:
    use(FailingLayer("replace", 5))
    save_checkpoint({"n": 1}, tmp_path / "a")
    assert load_checkpoint(tmp_path / "a").values == {"n": 1}
    assert not (tmp_path / "latest").exists()


def sample(root: Path, value: int, overwrite: bool, mode: str) -> None:
    path = root / ("a" if overwrite or value == 1 else "b")
    save_checkpoint({"n": value}, path, overwrite=overwrite, keep_last=1, mode=mode)


@pytest.mark.parametrize("mode", ["full", "sharded"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_killed_at_any_file_system_call_the_old_or_the_new_loads(
    tmp_path: Path, overwrite: bool, mode: str
) -> None:
    counting = KillingLayer()
    sample(tmp_path / "count", 1, overwrite, mode)
    use(counting)
    sample(tmp_path / "count", 2, overwrite, mode)
    use(FileLayer())
    assert counting.calls > 15
    seen = set()
    for at in range(1, counting.calls + 1):
        root = tmp_path / str(at)
        sample(root, 1, overwrite, mode)

        def die(rank: int, root: Path = root, at: int = at) -> None:
            use(KillingLayer(at))
            sample(root, 2, overwrite, mode)

        (outcome,) = run_ranks(1, die, process_group=False)
        assert outcome.status == "killed"
        values = [loaded(root / name) for name in ("a", "b")]
        found = [value for value in values if value is not None]
        assert found, f"nothing loads after a kill at call {at}"
        assert max(found) in (1, 2)
        seen.add(max(found))
        sample(root, 3, True, mode)  # and the next save clears up and works
        assert loaded(root / "a") == 3
        assert not list(root.glob(".a.*"))
    assert seen == {1, 2}


def loaded(path: Path) -> int | None:
    """The value saved under ``path``; None where no complete checkpoint stands."""
    if complete(find(path)) is None:
        return None
    return int(load_checkpoint(path).values["n"])
