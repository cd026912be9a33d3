"""Lightning: a callback that saves the Trainer through the guard, on every rank.

torchrun --nproc-per-node 2 lightning_trainer.py --root /tmp/lightning
"""

import argparse
from typing import Any

import lightning
import torch

from ckptlint_runtime import latest_checkpoint, load_checkpoint, save_checkpoint


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)

    def training_step(self, batch: Any, _index: int) -> Any:
        return self.layer(batch).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters())


class GuardedCheckpoint(lightning.Callback):
    """Saves after each epoch. Not ``@rank_zero_only``: Trainer.save_checkpoint is collective."""

    def __init__(self, root: str) -> None:
        self.root = root

    def on_train_epoch_end(self, trainer: Any, _module: Any) -> None:
        step = trainer.current_epoch
        save_checkpoint(trainer, f"{self.root}/epoch_{step}", step=step, keep_last=2)
        print(f"rank {trainer.global_rank}: epoch {step} is saved")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="checkpoints")
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()

    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=options.epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[GuardedCheckpoint(options.root)],
    )
    # Before fit() there is no process group yet: each rank looks, and verifies, for itself.
    newest = latest_checkpoint(options.root)
    resume = (
        None
        if newest is None
        else str(load_checkpoint(newest, same_world_size=False).folder / "engine.ckpt")
    )
    data = torch.utils.data.DataLoader(torch.randn(32, 8), batch_size=8)
    trainer.fit(Net(), data, ckpt_path=resume, weights_only=False)


if __name__ == "__main__":
    main()
