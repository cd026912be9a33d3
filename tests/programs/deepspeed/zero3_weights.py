"""ZeRO-3: the weights alone are saved under a test of the rank."""

import os
import sys

import deepspeed
import torch
import torch.distributed as dist

CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "optimizer": {"type": "Adam", "params": {"lr": 0.1, "torch_adam": True}},
    "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True},
}


def main(path):
    deepspeed.init_distributed("gloo")
    torch.manual_seed(0)
    engine, _, _, _ = deepspeed.initialize(model=torch.nn.Linear(2, 2), config=CONFIG)
    engine.backward(engine(torch.ones(1, 2)).sum())
    engine.step()
    print(f"rank {dist.get_rank()} trained", flush=True)
    if int(os.environ["RANK"]) == 0:
        engine.save_16bit_model(path, "model.bin")  # expect: CKP101
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
