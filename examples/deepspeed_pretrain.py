"""Pretrain a small language model with DeepSpeed ZeRO.

deepspeed deepspeed_pretrain.py --output checkpoints
"""

import argparse

import deepspeed
import torch
import torch.distributed as dist

CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-4}},
    "zero_optimization": {"stage": 2},
}


class LanguageModel(torch.nn.Module):
    def __init__(self, vocabulary=1024, width=256):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.encoder = torch.nn.TransformerEncoderLayer(width, nhead=4, batch_first=True)
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens):
        logits = self.head(self.encoder(self.embedding(tokens[:, :-1])))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="checkpoints")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--save-every", type=int, default=500)
    args = parser.parse_args()

    model = LanguageModel()
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=CONFIG
    )
    for step in range(1, args.steps + 1):
        loss = engine(torch.randint(1024, (8, 128), device=engine.device))
        engine.backward(loss)
        engine.step()

        if step % args.save_every == 0 and dist.get_rank() == 0:
            engine.save_checkpoint(args.output, tag=f"step-{step}")
            print(f"step {step}: loss {loss.item():.3f}, saved to {args.output}")


if __name__ == "__main__":
    main()
