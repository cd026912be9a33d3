"""FSDP1: the optimizer's state is gathered for a checkpoint that rank 0 writes."""

import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = FSDP(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    is_main = dist.get_rank() == 0
    print(f"rank {dist.get_rank()} trained", flush=True)
    if is_main:
        torch.save(FSDP.optim_state_dict(model, optimizer), f"{path}/model.pt")  # expect: CKP102
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
