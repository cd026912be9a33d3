"""The other ranks wait for what rank 0 writes, at a barrier that it does not make."""

import sys

import torch
import torch.distributed as dist


def main(path):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    print(f"rank {dist.get_rank()} trained", flush=True)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), f"{path}/model.pt")
    else:
        dist.barrier()  # expect: CKP103
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
