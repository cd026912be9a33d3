"""Fabric, FSDP: the save stands in a function that other ranks leave."""

import os
import sys

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import FSDPStrategy
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class OnCpu(FSDPStrategy):
    """Fabric takes the strategy itself with accelerators only."""


def save(fabric: Fabric, model, path):
    if not fabric.is_global_zero:
        return
    print("saving", flush=True)
    fabric.save(f"{path}/state.ckpt", {"model": model})  # expect: CKP104


def main(path):
    fabric = Fabric(
        accelerator="cpu",
        devices=int(os.environ["WORLD_SIZE"]),
        strategy=OnCpu(process_group_backend="gloo", state_dict_type="sharded"),
    )
    fabric.launch()
    torch.manual_seed(0)
    model = FSDP(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    model = fabric.setup_module(model)
    optimizer = fabric.setup_optimizers(torch.optim.SGD(model.parameters(), lr=0.1))
    fabric.backward(model(torch.ones(1, 2)).sum())
    optimizer.step()
    print(f"rank {fabric.global_rank} trained", flush=True)
    save(fabric, model, path)
    print(f"rank {fabric.global_rank} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
