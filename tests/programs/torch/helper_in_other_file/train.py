"""Distributed checkpoint: the save stands in another file than its test."""

import sys

import checkpoints
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    rank = dist.get_rank()
    print(f"rank {rank} trained", flush=True)
    if not rank:
        print("saving")
        checkpoints.save(model, path)  # expect: CKP101
    print(f"rank {rank} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
