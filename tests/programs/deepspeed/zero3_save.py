"""ZeRO-3: a flag holds the rank's test, and the tag is made under it."""

import sys

import deepspeed
import torch
import torch.distributed as dist

CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "optimizer": {"type": "Adam", "params": {"lr": 0.1, "torch_adam": True}},
    "zero_optimization": {"stage": 3},
}


def main(path):
    deepspeed.init_distributed("gloo")
    torch.manual_seed(0)
    engine, _, _, _ = deepspeed.initialize(model=torch.nn.Linear(2, 2), config=CONFIG)
    is_main = dist.get_rank() == 0
    for step in range(2):
        engine.backward(engine(torch.ones(1, 2)).sum())
        engine.step()
        print(f"rank {dist.get_rank()} trained", flush=True)
        if is_main and step == 1:
            tag = f"step-{step}"
            print("saving", tag)
            engine.save_checkpoint(path, tag=tag)  # expect: CKP101
    print(f"rank {dist.get_rank()} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
