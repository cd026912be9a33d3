"""Train with DistributedDataParallel and export the model from rank 0.

torchrun --nproc-per-node 2 barrier_after_return.py
"""

import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def export(model, folder, scores):
    """Write the weights and the scores, then let everyone go on."""
    if dist.get_rank() != 0:
        return
    os.makedirs(folder, exist_ok=True)
    torch.save(model.module.state_dict(), os.path.join(folder, "model.pt"))
    with open(os.path.join(folder, "scores.json"), "w") as file:
        json.dump(scores, file)
    dist.barrier()


def main(folder="export"):
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scores = []
    for epoch in range(3):
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scores.append({"epoch": epoch, "loss": loss.item()})
        export(model, folder, scores)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
