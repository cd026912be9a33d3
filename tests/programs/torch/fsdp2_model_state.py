"""FSDP2: the full state is asked for under the rank test, with the options in front of it."""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard


def save(model, path, rank):
    if rank == 0:
        os.makedirs(f"{path}/full", exist_ok=True)
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_model_state_dict(model, options=options)  # expect: CKP102 likely
        torch.save(state, f"{path}/full/model.pt")


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    print(f"rank {dist.get_rank()} trained", flush=True)
    save(model, path, dist.get_rank())
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
