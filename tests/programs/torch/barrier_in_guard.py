"""DDP: rank 0 writes, and waits for ranks that do not."""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(path):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    print(f"rank {rank} trained", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), f"{path}/model.pt")
        dist.barrier()  # expect: CKP103
    print(f"rank {rank} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
