"""Accelerate: ``save_state`` is collective; the guard around it makes a misuse an error.

torchrun --nproc-per-node 2 accelerate_state.py --root /tmp/accelerate
"""

import argparse

import torch
from accelerate import Accelerator

from ckptlint_runtime import latest_checkpoint, load_checkpoint, save_checkpoint


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="checkpoints")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()

    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer = accelerator.prepare(model, optimizer)

    first = 0
    newest = latest_checkpoint(options.root)
    if newest is not None:
        first = (load_checkpoint(newest, accelerator).step or 0) + 1

    for step in range(first, options.steps):
        accelerator.backward(model(torch.randn(16, 8)).square().mean())
        optimizer.step()
        optimizer.zero_grad()
        save_checkpoint(accelerator, f"{options.root}/step_{step}", step=step, keep_last=2)
        print(f"rank {accelerator.process_index}: step {step} is saved")
    accelerator.end_training()


if __name__ == "__main__":
    main()
