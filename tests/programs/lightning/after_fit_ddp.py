"""Lightning, DDP: the trainer's save stands under its own test."""

import os
import sys

import lightning as L
import torch
from lightning.pytorch.strategies import DDPStrategy


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def training_step(self, batch, index):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main(path):
    L.seed_everything(0)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ["WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo"),
        max_steps=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Net(), torch.utils.data.DataLoader(torch.ones(4, 2)))
    print(f"rank {trainer.global_rank} trained", flush=True)
    if trainer.is_global_zero:
        trainer.save_checkpoint(f"{path}/last.ckpt")  # expect: CKP101
        print("saved", flush=True)
    print(f"rank {trainer.global_rank} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
