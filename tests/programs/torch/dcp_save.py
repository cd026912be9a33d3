"""Distributed checkpoint: model and optimizer are saved under a test with two parts."""

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
    for step in range(2):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"rank {dist.get_rank()} trained", flush=True)
        if step % 2 == 1 and dist.get_rank() == 0:
            state = {"model": model.state_dict()}
            dcp.save(state, checkpoint_id=f"{path}/sharded")  # expect: CKP101
            print(f"saved step {step}")
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
