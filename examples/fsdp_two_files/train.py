"""Train a sharded model; saving is in the file beside this one.

torchrun --nproc-per-node 2 train.py
"""

import torch
import torch.distributed as dist
from saving import write_weights
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(steps=1000):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    model = FSDP(torch.nn.Linear(512, 512).cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    is_main = dist.get_rank() == 0
    for step in range(steps):
        loss = model(torch.randn(16, 512, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0 and is_main:
            write_weights(model, f"weights-{step}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
