"""Accelerate with ZeRO-3: the state of the model is gathered under the main-process test."""

import sys

import torch
from accelerate import Accelerator, DeepSpeedPlugin


def main(path):
    plugin = DeepSpeedPlugin(
        hf_ds_config={
            "train_micro_batch_size_per_gpu": 1,
            "zero_optimization": {
                "stage": 3,
                "stage3_param_persistence_threshold": 0,
                "stage3_gather_16bit_weights_on_model_save": True,
            },
        }
    )
    accelerator = Accelerator(deepspeed_plugin=plugin)
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.backward(model(torch.ones(1, 2)).sum())
    optimizer.step()
    print(f"rank {accelerator.process_index} trained", flush=True)
    if accelerator.is_main_process:
        accelerator.save(accelerator.get_state_dict(model), f"{path}/model.pt")  # expect: CKP102
    print(f"rank {accelerator.process_index} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
