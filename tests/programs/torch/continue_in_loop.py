"""Distributed checkpoint: the other ranks go on to the next step before it is saved."""

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
    for step in range(1):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        print(f"rank {dist.get_rank()} trained", flush=True)
        if dist.get_rank() != 0:
            continue
        print(f"saving step {step}")
        dcp.save({"model": model.state_dict()}, checkpoint_id=f"{path}/sharded")  # expect: CKP104
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
