"""FSDP2: save shards in the background while training goes on.

torchrun --nproc-per-node 2 fsdp2.py --root /tmp/fsdp2
"""

import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from ckptlint_runtime import async_save_checkpoint, latest_checkpoint, load_checkpoint


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="checkpoints")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--keep-last", type=int, default=2)
    options = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters())
    state = {"model": model, "optimizer": optimizer}

    first = 0
    newest = latest_checkpoint(options.root)
    if newest is not None:
        first = (load_checkpoint(newest, state).step or 0) + 1
        print(f"rank {dist.get_rank()}: resumed from step {first - 1}")

    pending = None
    for step in range(first, options.steps):
        # Seeded by step and rank: a run that was killed and resumed ends with the same weights.
        batch = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        model(torch.randn(16, 8, generator=batch)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        # Returns once the shards are copied. The next call waits for this one, and raises on
        # every rank if it failed.
        pending = async_save_checkpoint(
            state,
            f"{options.root}/step_{step}",
            step=step,
            mode="sharded",
            keep_last=options.keep_last,
        )
    if pending is not None:
        print(f"rank {dist.get_rank()}: {pending.result()} is saved")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
