"""A training script in which ckptlint finds nothing, though it tests the rank in many places.

torchrun --nproc-per-node 2 correct.py
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def prepare(path):
    """Rank 0 makes the data set; the others wait for it and then read the file."""
    if dist.get_rank() != 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(torch.randn(256, 16), path)
    if dist.get_rank() == 0:
        dist.barrier()
    return torch.load(path)


def save(model, path):
    """A replicated model is whole on every rank, so that one rank writes it."""
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), path)
    dist.barrier()


def main():
    dist.init_process_group("gloo")
    data = prepare("data.pt")
    model = DistributedDataParallel(torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    best = float("inf")
    for epoch in range(3):
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        mean = loss.detach() / dist.get_world_size()
        dist.all_reduce(mean)
        if mean.item() < best:  # the same on every rank, since it was reduced
            best = mean.item()
            save(model, "best.pt")
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {mean.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
