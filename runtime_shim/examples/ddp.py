"""DDP: save after each epoch, go on where the last run stopped.

torchrun --nproc-per-node 2 ddp.py --root /tmp/ddp
"""

import argparse

import torch
import torch.distributed as dist

from ckptlint_runtime import latest_checkpoint, load_checkpoint, save_checkpoint


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="checkpoints")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--keep-last", type=int, default=2)
    options = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    state = {"model": model, "optimizer": optimizer, "epoch": 0}

    first = 0
    newest = latest_checkpoint(options.root)  # the same on every rank
    if newest is not None:
        first = load_checkpoint(newest, state).values["epoch"] + 1
        print(f"rank {dist.get_rank()}: resumed from step {first - 1}")

    for epoch in range(first, options.epochs):
        # Seeded by epoch and rank: a run that was killed and resumed ends with the same weights.
        batch = torch.Generator().manual_seed(1000 * epoch + dist.get_rank())
        model(torch.randn(16, 8, generator=batch)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        # No rank test: every rank calls it, one writes.
        state["epoch"] = epoch
        path = f"{options.root}/epoch_{epoch}"
        save_checkpoint(state, path, step=epoch, keep_last=options.keep_last)
        print(f"rank {dist.get_rank()}: epoch {epoch} is saved")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
