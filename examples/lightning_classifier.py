"""Train a classifier with Lightning and keep the hardest examples in its checkpoint.

python lightning_classifier.py
"""

import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_only


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU())
        self.head = torch.nn.Linear(64, 10)
        self.register_buffer("hardest", torch.zeros(8))

    def training_step(self, batch, _):
        inputs, labels = batch
        logits = self.head(self.layers(inputs))
        losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
        self.hardest = losses.detach().topk(8).values
        return losses.mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class KeepHardest(L.Callback):
    """Puts the highest losses of all ranks into the checkpoint."""

    @rank_zero_only
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        losses = pl_module.all_gather(pl_module.hardest)
        checkpoint["hardest"] = losses.flatten().topk(8).values.cpu()
        print("kept the hardest examples of", trainer.world_size, "ranks")


def main():
    data = torch.utils.data.TensorDataset(torch.randn(1024, 32), torch.randint(10, (1024,)))
    trainer = L.Trainer(devices=2, strategy="ddp", max_epochs=3, callbacks=[KeepHardest()])
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=64))


if __name__ == "__main__":
    main()
