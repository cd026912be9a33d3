"""Fabric, DDP: the save stands under a test, and a barrier of its own behind it."""

import os
import sys

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy


def main(path):
    fabric = Fabric(
        accelerator="cpu",
        devices=int(os.environ["WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo"),
    )
    fabric.launch()
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    fabric.backward(model(torch.ones(1, 2)).sum())
    optimizer.step()
    print(f"rank {fabric.global_rank} trained", flush=True)
    if fabric.is_global_zero:
        fabric.save(f"{path}/state.ckpt", {"model": model})  # expect: CKP101
        print("saved", flush=True)
    print(f"rank {fabric.global_rank} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
