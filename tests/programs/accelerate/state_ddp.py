"""Accelerate, DDP: the save under the main-process test lacks a rank's random state."""

import sys

import torch
from accelerate import Accelerator


def main(path):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.backward(model(torch.ones(1, 2)).sum())
    optimizer.step()
    print(f"rank {accelerator.process_index} trained", flush=True)
    if accelerator.is_main_process:
        accelerator.save_state(path)  # expect: CKP101 warning
        print("saved", flush=True)
    print(f"rank {accelerator.process_index} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
