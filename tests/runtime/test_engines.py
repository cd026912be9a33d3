"""The collective saves of real engines, under the guard. Each needs its library installed."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from harness import attempt, run_ranks, wait_for

from ckptlint_runtime import async_save_checkpoint, load_checkpoint, save_checkpoint
from ckptlint_runtime.engines import engine_of
from ckptlint_runtime.manifest import complete

TIMEOUTS = {"timeout": 30.0, "work_timeout": 30.0}
#: Seconds for ranks that import a framework and train with it, on a machine that is busy.
LIMIT = 90.0


def library(name: str, package: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: ModuleType = pytest.importorskip(
            name, reason=f"{package} is not installed: its engine is not tested here"
        )
    return module


def net(fill: float) -> torch.nn.Module:
    module = torch.nn.Linear(4, 4)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(fill)
    return module


def launched(rank: int, world: int = 2) -> None:
    """The variables that torchrun sets and the frameworks read."""
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(world),
        LOCAL_WORLD_SIZE=str(world),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT="0",
        ACCELERATE_USE_CPU="true",
        DS_ACCELERATOR="cpu",
    )


def test_engines_are_told_by_the_names_of_their_classes() -> None:
    base = type("DeepSpeedEngine", (), {"__module__": "deepspeed.runtime.engine"})
    found = engine_of(type("PipelineEngine", (base,), {"__module__": "deepspeed.pipe"})())
    assert found is not None
    assert found.mode == "engine:deepspeed"
    assert engine_of(type("DeepSpeedEngine", (), {"__module__": "ours"})()) is None
    assert engine_of({"model": net(0.0)}) is None


def engine_writing(name: str) -> Any:
    """Stands for an engine where only the guard around it matters."""

    def save_checkpoint(self: Any, folder: str, tag: str) -> bool:
        if name:
            (Path(folder) / name).write_text(tag)
        return True

    members = {"__module__": "deepspeed.runtime.engine", "save_checkpoint": save_checkpoint}
    return type("DeepSpeedEngine", (), members)()


def test_an_engine_that_writes_nothing_is_no_checkpoint(tmp_path: Path) -> None:
    found = attempt(lambda: save_checkpoint(engine_writing(""), tmp_path / "a"))
    assert "wrote nothing" in found["message"]
    assert not list(tmp_path.iterdir())


def test_an_engine_inside_a_mapping_or_in_the_background_is_refused(tmp_path: Path) -> None:
    engine = engine_writing("x")
    inside = attempt(lambda: save_checkpoint({"model": engine}, tmp_path / "a"))
    assert "give the engine itself" in inside["message"]
    background = attempt(lambda: async_save_checkpoint(engine, tmp_path / "a"))
    assert "cannot be copied" in background["message"]


def test_ranks_that_give_different_kinds_of_state_are_told_apart(tmp_path: Path) -> None:
    def program(rank: int) -> Any:
        state = engine_writing("x") if rank else {"n": 1}
        return attempt(lambda: save_checkpoint(state, tmp_path / "a"))

    for outcome in run_ranks(2, program):
        assert "different kinds of state" in outcome.value["message"]


def deepspeed_engine(fill: float, stage: int) -> Any:
    import deepspeed

    # An accelerated path of its collectives, which it would compile here for a minute.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    module = net(fill)
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "optimizer": {"type": "Adam", "params": {"lr": 0.1, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
    }
    engine, *_ = deepspeed.initialize(model=module, config=config, dist_init_required=False)
    return engine


def deepspeed_values(engine: Any) -> list[float]:
    import deepspeed

    with deepspeed.zero.GatheredParameters(list(engine.module.parameters())):
        return [float(parameter.sum()) for parameter in engine.module.parameters()]


@pytest.mark.slow
@pytest.mark.parametrize("stage", [1, 3])
def test_deepspeed(tmp_path: Path, stage: int) -> None:
    os.environ["DS_ACCELERATOR"] = "cpu"
    library("deepspeed", "DeepSpeed")

    def save(rank: int) -> Any:
        launched(rank)
        engine = deepspeed_engine(2.0, stage)
        engine.backward(engine(torch.ones(1, 4)).sum())
        engine.step()
        only_zero = None
        if rank == 0:  # the fault that DeepSpeed answers with a hang
            only_zero = attempt(
                lambda: save_checkpoint(engine, tmp_path / "zero", timeout=0.5, work_timeout=0.5)
            )
            (tmp_path / "given up").touch()
        else:
            wait_for(tmp_path / "given up")
        # The counts of calls differ once now.
        attempt(lambda: save_checkpoint(engine, tmp_path / "level", **TIMEOUTS))
        path = save_checkpoint(engine, tmp_path / "a", step=1, **TIMEOUTS)
        return [deepspeed_values(engine), str(path), only_zero and only_zero["ranks"]]

    def load(rank: int) -> Any:
        launched(rank)
        engine = deepspeed_engine(0.0, stage)
        load_checkpoint(tmp_path / "a", engine, **TIMEOUTS)
        return deepspeed_values(engine)

    zero, one = run_ranks(2, save, limit=LIMIT)
    assert zero.status == one.status == "returned", (zero.message, one.message)
    assert zero.value[2] == [1]
    assert not (tmp_path / "zero").exists()
    manifest = complete(tmp_path / "a")
    assert manifest is not None
    assert manifest.mode == "engine:deepspeed"
    assert any("optim_states" in name for name in manifest.files)
    assert [outcome.value for outcome in run_ranks(2, load, limit=LIMIT)] == [zero.value[0]] * 2
    alone = attempt(lambda: load_checkpoint(tmp_path / "a", {"model": net(0.0)}))
    assert "saved by 2 ranks and this job has 1" in alone["message"]


def test_accelerate(tmp_path: Path) -> None:
    library("accelerate", "Accelerate")

    def prepared(rank: int, fill: float) -> Any:
        from accelerate import Accelerator

        launched(rank)
        accelerator = Accelerator(cpu=True)
        module = net(fill)
        optimizer = torch.optim.Adam(module.parameters())
        return (accelerator, *accelerator.prepare(module, optimizer))

    def save(rank: int) -> Any:
        accelerator, module, optimizer = prepared(rank, 3.0)
        module(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        save_checkpoint(accelerator, tmp_path / "a", **TIMEOUTS)
        accelerator.project_configuration.automatic_checkpoint_naming = True
        refused = attempt(lambda: save_checkpoint(accelerator, tmp_path / "b", **TIMEOUTS))
        return [float(sum(p.sum() for p in module.parameters())), refused["message"]]

    def load(rank: int) -> Any:
        accelerator, module, _ = prepared(rank, 0.0)
        load_checkpoint(tmp_path / "a", accelerator, **TIMEOUTS)
        return float(sum(p.sum() for p in module.parameters()))

    saved = run_ranks(2, save, limit=LIMIT)
    assert saved[0].status == "returned", saved[0].message
    assert "names its checkpoints itself" in saved[1].value[1]
    assert not (tmp_path / "b").exists()
    assert [outcome.value for outcome in run_ranks(2, load, limit=LIMIT)] == [saved[0].value[0]] * 2


def test_fabric(tmp_path: Path) -> None:
    library("lightning", "Lightning")

    def launch(rank: int) -> Any:
        from lightning.fabric import Fabric
        from lightning.fabric.plugins.environments import TorchElasticEnvironment
        from lightning.fabric.strategies import DDPStrategy

        launched(rank)
        strategy = DDPStrategy(cluster_environment=TorchElasticEnvironment())
        fabric = Fabric(accelerator="cpu", devices=2, strategy=strategy)
        fabric.launch()
        return fabric

    def save(rank: int) -> Any:
        fabric = launch(rank)
        module = fabric.setup_module(net(5.0))
        bare = attempt(lambda: save_checkpoint(fabric, tmp_path / "b", **TIMEOUTS))
        save_checkpoint((fabric, {"model": module, "n": 1}), tmp_path / "a", **TIMEOUTS)
        return bare["message"]

    def load(rank: int) -> Any:
        fabric = launch(rank)
        module = fabric.setup_module(net(0.0))
        load_checkpoint(tmp_path / "a", (fabric, {"model": module}), **TIMEOUTS)
        return float(sum(p.sum() for p in module.parameters()))

    for outcome in run_ranks(2, save, limit=LIMIT):
        assert "holds no state of its own" in (outcome.value or outcome.message)
    assert [outcome.value for outcome in run_ranks(2, load, limit=LIMIT)] == [100.0, 100.0]


def test_lightning_trainer(tmp_path: Path) -> None:
    library("lightning", "Lightning")

    def fit(rank: int, checkpoint: str | None = None) -> Any:
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.net = net(1.0 if checkpoint is None else 0.0)
                self.seen: list[float] = []

            def on_train_start(self) -> None:
                self.seen.append(float(sum(p.sum() for p in self.net.parameters())))

            def training_step(self, batch: Any, _index: int) -> Any:
                return self.net(batch).sum()

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), lr=0.1)

        launched(rank)
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=2,
            strategy="ddp",
            max_epochs=1 if checkpoint is None else 2,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        module = Module()
        data = torch.utils.data.DataLoader(torch.ones(2, 4), batch_size=2)
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=False)
        total = float(sum(p.sum() for p in module.net.parameters()))
        return trainer, total, module.seen

    def save(rank: int) -> Any:
        trainer, total, _ = fit(rank)
        save_checkpoint(trainer, tmp_path / "a", **TIMEOUTS)
        refused = attempt(lambda: load_checkpoint(tmp_path / "a", trainer, **TIMEOUTS))
        return [total, refused["message"]]

    def load(rank: int) -> Any:
        launched(rank)
        loaded = load_checkpoint(tmp_path / "a", **TIMEOUTS)
        return fit(rank, str(loaded.folder / "engine.ckpt"))[2]

    saved = run_ranks(2, save, limit=LIMIT)
    assert saved[0].status == "returned", saved[0].message
    assert "trainer.fit" in saved[1].value[1]
    assert [outcome.value for outcome in run_ranks(2, load, limit=LIMIT)] == [
        [saved[0].value[0]]
    ] * 2


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_fails_before_an_inner_collective_frees_the_others(
    tmp_path: Path, victim: int
) -> None:
    """The other rank is stuck in a barrier, which only the end of the failed one releases."""

    def program(rank: int) -> Any:
        def save_checkpoint_of_engine(self: Any, folder: str, tag: str) -> None:
            if rank == victim:
                raise ValueError("no such shard")
            torch.distributed.barrier()

        members = {
            "__module__": "deepspeed.runtime.engine",
            "save_checkpoint": save_checkpoint_of_engine,
        }
        engine = type("DeepSpeedEngine", (), members)()
        return attempt(lambda: save_checkpoint(engine, tmp_path / "a", work_timeout=3.0))

    for outcome in run_ranks(2, program):
        assert (outcome.value["error"], outcome.value["ranks"]) == ("RankFailedError", [victim])
        assert "no such shard" in outcome.value["message"]
