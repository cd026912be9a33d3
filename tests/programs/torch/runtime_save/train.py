"""FSDP1: rank 0 gathers and saves alone; the runtime saves on all ranks."""

import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = FSDP(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    print(f"rank {dist.get_rank()} trained", flush=True)
    if dist.get_rank() == 0:
        torch.save(
            {"model": model.state_dict(), "epoch": 1},  # expect: CKP102
            f"{path}/checkpoint",
        )
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
