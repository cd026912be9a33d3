"""``mode="sharded"``: torch's own format, written and read without collectives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.distributed.fsdp
from harness import run_ranks
from torch.distributed.checkpoint.state_dict import get_model_state_dict

from ckptlint_runtime import (
    RankFailedError,
    async_save_checkpoint,
    load_checkpoint,
    save_checkpoint,
)

needs_fsdp2 = pytest.mark.skipif(
    not hasattr(torch.distributed.fsdp, "fully_shard"), reason="this torch has no FSDP2"
)

PARTS = {"t": torch.arange(6.0), "n": 3, "nested": {"list": [torch.ones(2), 4], "text": "x"}}


def net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))


def fsdp2_net() -> torch.nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    module = net()
    fully_shard(module, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return module


def train(module: torch.nn.Module) -> torch.optim.Optimizer:
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    module(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    return optimizer


def whole(module: torch.nn.Module) -> dict[str, list[Any]]:
    full = {
        name: tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
        for name, tensor in get_model_state_dict(module).items()
    }
    return {name: tensor.tolist() for name, tensor in full.items()}


@pytest.mark.parametrize("world", [1, 2])
def test_plain_values_and_nested_tensors_come_back(tmp_path: Path, world: int) -> None:
    run_ranks(world, lambda rank: str(save_checkpoint(PARTS, tmp_path / "a", mode="sharded")))
    values = load_checkpoint(tmp_path / "a").values
    assert torch.equal(values["t"], PARTS["t"])
    assert values["n"] == 3
    assert values["nested"]["text"] == "x"
    assert torch.equal(values["nested"]["list"][0], torch.ones(2))
    assert values["nested"]["list"][1] == 4


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"inner": {}, "x": 1},
        {0: {"step": torch.ones(1)}, 10: {"step": torch.ones(1)}, 2: {}},
        {"numbers": {1: 2, 0.5: 3, False: {}, None: 4}},
        [{}, torch.ones(1), {"a": [{}, []]}],
        [{}],
        [(1, {2: 3}), [4, ()]],
    ],
    ids=str,
)
def test_containers_of_any_shape_come_back(tmp_path: Path, tree: Any) -> None:
    save_checkpoint({"tree": tree}, tmp_path / "a", mode="sharded")
    assert repr(load_checkpoint(tmp_path / "a").values["tree"]) == repr(tree)


def test_a_key_that_would_not_come_back_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankFailedError, match=r"with the key \(1, 2\), only .* mode='full' can"):
        save_checkpoint({"a": {"b": {(1, 2): 3}}}, tmp_path / "a", mode="sharded")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("trained", [False, True])
def test_an_optimizer_comes_back_as_it_was(
    tmp_path: Path, kind: Any, wrapped: bool, trained: bool
) -> None:
    def fresh(lr: float) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        module = net()
        if wrapped:
            module = torch.nn.parallel.DistributedDataParallel(module)
        return module, kind(module.parameters(), lr=lr)

    def program(rank: int) -> Any:
        module, optimizer = fresh(0.1)
        if trained:
            module(torch.ones(2, 4)).sum().backward()
            optimizer.step()
        path = tmp_path / "a"
        save_checkpoint({"model": module, "optimizer": optimizer}, path, mode="sharded")
        module, target = fresh(0.3)
        load_checkpoint(path, {"model": module, "optimizer": target})
        saved, found = optimizer.state_dict(), target.state_dict()
        if wrapped:  # torch's own way to collect an optimizer makes its state, of zeros
            saved["state"] = saved["state"] or found["state"]
        return [repr(saved), repr(found)]

    for outcome in run_ranks(2, program):
        assert outcome.status == "returned", outcome.message
        assert outcome.value[0] == outcome.value[1]


def test_each_rank_reads_what_it_asks_for_and_no_more(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        own = {f"own{rank}": torch.full((2,), float(rank))}
        save_checkpoint({"n": 1, **own}, tmp_path / "a", mode="sharded")
        return load_checkpoint(tmp_path / "a", {f"own{rank}": None}).values[f"own{rank}"].tolist()

    assert [outcome.value for outcome in run_ranks(2, program)] == [[0.0, 0.0], [1.0, 1.0]]
    (of_rank_one,) = (tmp_path / "a").glob("__1_*")
    of_rank_one.write_bytes(b"")
    values = load_checkpoint(tmp_path / "a", {"own0": None, "n": None}, verify="none").values
    assert (values["own0"].tolist(), values["n"]) == ([0.0, 0.0], 1)


def test_replicated_tensors_are_written_once(tmp_path: Path) -> None:
    state = {"t": torch.zeros(100_000)}
    run_ranks(2, lambda rank: str(save_checkpoint(state, tmp_path / "a", mode="sharded")))
    written = sum(path.stat().st_size for path in (tmp_path / "a").glob("*.distcp"))
    assert written < 1.1 * 400_000


def test_torch_itself_loads_the_folder(tmp_path: Path) -> None:
    run_ranks(2, lambda rank: str(save_checkpoint(PARTS, tmp_path / "a", mode="sharded")))

    def load(rank: int) -> Any:
        target = {"t": torch.zeros(6)}
        dcp.load(target, storage_reader=dcp.FileSystemReader(tmp_path / "a"))
        return target["t"].tolist()

    # torch 2.2 cannot load its own format without a process group.
    outcome = run_ranks(1, load, process_group=torch.__version__ < "2.3")[0]
    assert outcome.value == PARTS["t"].tolist(), outcome.message


@needs_fsdp2
@pytest.mark.parametrize("mode", ["full", "sharded"])
@pytest.mark.parametrize("background", [False, True])
def test_fsdp2_and_its_optimizer_come_back(tmp_path: Path, mode: str, background: bool) -> None:
    def save(rank: int) -> Any:
        module = fsdp2_net()
        optimizer = train(module)
        state = {"model": module, "optimizer": optimizer, "step": 1}
        if background:
            async_save_checkpoint(state, tmp_path / "a", mode=mode).result()
        else:
            save_checkpoint(state, tmp_path / "a", mode=mode)
        return whole(module)

    def load(rank: int) -> Any:
        module = fsdp2_net()
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.3)
        loaded = load_checkpoint(
            tmp_path / "a", {"model": module, "optimizer": optimizer, "step": 0}
        )
        group = optimizer.param_groups[0]
        moment = optimizer.state[group["params"][0]]["exp_avg"]
        assert float(moment.full_tensor().abs().sum()) > 0
        assert group["lr"] == 0.1
        assert group["betas"] == (0.9, 0.999)  # a tuple, as it was saved
        assert loaded.values == {"step": 1}
        return whole(module)

    saved = run_ranks(2, save)
    found = run_ranks(2, load)
    assert saved[0].status == found[0].status == "returned"
    assert [outcome.value for outcome in found] == [saved[0].value] * 2


@needs_fsdp2
def test_sharded_state_loads_on_another_number_of_ranks(tmp_path: Path) -> None:
    def save(rank: int) -> Any:
        module = fsdp2_net()
        train(module)
        save_checkpoint({"model": module}, tmp_path / "a", mode="sharded")
        return whole(module)

    def load(rank: int) -> Any:
        module = fsdp2_net()
        load_checkpoint(tmp_path / "a", {"model": module})
        return whole(module)

    saved = run_ranks(2, save)[0].value
    assert [outcome.value for outcome in run_ranks(3, load)] == [saved] * 3


def test_ddp_is_saved_under_the_names_of_the_module_inside(tmp_path: Path) -> None:
    def save(rank: int) -> Any:
        module = torch.nn.parallel.DistributedDataParallel(net())
        optimizer = train(module)
        save_checkpoint({"model": module, "optimizer": optimizer}, tmp_path / "a")
        load_checkpoint(tmp_path / "a", {"model": module, "optimizer": optimizer})
        return whole(module)

    saved = run_ranks(2, save)
    target = net()
    load_checkpoint(tmp_path / "a", {"model": target})
    assert whole(target) == saved[0].value


old_torch_fills_plain_modules_only = pytest.mark.skipif(
    torch.__version__ < "2.3", reason="torch 2.2 does not load a whole tensor into a spread one"
)


@pytest.mark.parametrize(
    "mode", [pytest.param("full", marks=old_torch_fills_plain_modules_only), "sharded"]
)
def test_tensor_parallel_modules_come_back_and_load_into_plain_ones(
    tmp_path: Path, mode: str
) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    def parallel() -> torch.nn.Module:
        styles = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        return parallelize_module(net(), init_device_mesh("cpu", (2,)), styles)

    def program(rank: int) -> Any:
        module = parallel()
        optimizer = train(module)
        state = {"model": module, "optimizer": optimizer}
        save_checkpoint(state, tmp_path / "a", mode=mode)
        saved, fresh = whole(module), parallel()
        load_checkpoint(tmp_path / "a", {"model": fresh})
        assert whole(fresh) == saved
        return saved

    saved = run_ranks(2, program)[0]
    target = net()
    load_checkpoint(tmp_path / "a", {"model": target})
    assert whole(target) == saved.value, saved.message


@pytest.mark.parametrize("mode", ["full", "sharded"])
def test_a_plain_value_that_differs_is_the_first_ranks(tmp_path: Path, mode: str) -> None:
    def program(rank: int) -> Any:
        state = {"n": rank, f"own{rank}": rank}
        if rank == 0:  # so that the other has less to write, and would be given the rest
            state["busy"] = torch.zeros(1000)
        return str(save_checkpoint(state, tmp_path / "a", mode=mode))

    assert [outcome.status for outcome in run_ranks(2, program)] == ["returned", "returned"]
    values = dict(load_checkpoint(tmp_path / "a").values)
    del values["busy"]
    assert values == {"n": 0, "own0": 0} | ({"own1": 1} if mode == "sharded" else {})


@pytest.mark.skipif(
    torch.__version__ < "2.4", reason="torch 2.2 keeps the names that a compiled module has"
)
def test_a_compiled_module_is_saved_under_the_names_of_the_module_inside(tmp_path: Path) -> None:
    module = torch.compile(net(), backend="eager")
    assert "_orig_mod.0.weight" in module.state_dict()
    save_checkpoint({"model": module}, tmp_path / "a")
    assert "0.weight" in load_checkpoint(tmp_path / "a").values["model"]
    load_checkpoint(tmp_path / "a", {"model": torch.compile(net(), backend="eager")})


def test_fsdp1_is_gathered(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="torch's FSDP1 gathers with object collectives")

    def save(rank: int) -> Any:
        from torch.distributed.fsdp import FullyShardedDataParallel

        module = FullyShardedDataParallel(
            net(), device_id=torch.device("cpu"), use_orig_params=True
        )
        optimizer = train(module)
        state = {"model": module, "optimizer": optimizer}
        if torch.__version__ < "2.3":
            del state["optimizer"]  # torch 2.2 itself asks for a GPU to collect it
        for mode in ("full", "sharded"):
            save_checkpoint(state, tmp_path / mode, mode=mode)
            load_checkpoint(tmp_path / mode, state)
        return None

    outcomes = run_ranks(2, save)
    assert [outcome.message for outcome in outcomes] == ["", ""]
    target = net()
    load_checkpoint(tmp_path / "full", {"model": target})
    assert not torch.equal(target[0].weight, net()[0].weight)
