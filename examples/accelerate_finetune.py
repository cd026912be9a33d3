"""Fine-tune with Accelerate; which engine runs is chosen by `accelerate launch`.

accelerate launch --use_fsdp accelerate_finetune.py
"""

import logging
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

logger = logging.getLogger(__name__)


def main(output_dir="finetuned", epochs=3, checkpointing_steps=100):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    set_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.utils.data.TensorDataset(torch.randn(4096, 64), torch.randint(8, (4096,)))
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    global_step = 0
    for _ in range(epochs):
        for inputs, labels in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(inputs), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()

            if accelerator.sync_gradients:
                global_step += 1
                if global_step % checkpointing_steps == 0:
                    if accelerator.is_main_process:
                        save_path = os.path.join(output_dir, f"checkpoint-{global_step}")
                        accelerator.save_state(save_path)
                        logger.info(f"Saved state to {save_path}")

    if accelerator.is_main_process:
        state = accelerator.get_state_dict(model)
        torch.save(state, os.path.join(output_dir, "model.bin"))
    accelerator.end_training()


if __name__ == "__main__":
    main()
