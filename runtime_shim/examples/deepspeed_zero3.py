"""DeepSpeed ZeRO-3: the engine's own save, which every rank must call, under the guard.

DS_ACCELERATOR=cpu torchrun --nproc-per-node 2 deepspeed_zero3.py --root /tmp/deepspeed
"""

import argparse

import deepspeed
import torch
import torch.distributed as dist

from ckptlint_runtime import latest_checkpoint, load_checkpoint, save_checkpoint

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
    "zero_optimization": {"stage": 3},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="checkpoints")
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()

    dist.init_process_group("gloo")
    # An accelerated path of its collectives on the CPU, which it would compile on first use.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    engine, *_ = deepspeed.initialize(
        model=torch.nn.Linear(8, 4), config=CONFIG, dist_init_required=False
    )

    first = 0
    newest = latest_checkpoint(options.root)
    if newest is not None:
        first = (load_checkpoint(newest, engine).step or 0) + 1

    for step in range(first, options.steps):
        engine.backward(engine(torch.randn(4, 8)).square().mean())
        engine.step()
        save_checkpoint(engine, f"{options.root}/step_{step}", step=step, keep_last=2)
        print(f"rank {dist.get_rank()}: step {step} is saved")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
