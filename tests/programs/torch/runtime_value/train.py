"""Distributed checkpoint: rank 0 looks for a free name, which every rank needs to save."""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    print(f"rank {dist.get_rank()} trained", flush=True)
    if dist.get_rank() == 0:
        name = f"save-{len(os.listdir(path))}"
        dcp.save({"model": model.state_dict()}, checkpoint_id=f"{path}/{name}")  # expect: CKP101
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
