"""Distributed checkpoint in the background, started by rank 0 alone."""

import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    print(f"rank {dist.get_rank()} trained", flush=True)
    future = None
    if dist.get_rank() == 0:
        future = dcp.async_save(  # expect: CKP101
            {"model": model.state_dict()}, checkpoint_id=f"{path}/sharded"
        )
    if future is not None:
        future.result()  # waits here
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
