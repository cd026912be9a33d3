"""transformers with ZeRO-3: the trainer's save stands under its test for rank zero."""

import sys

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

DEEPSPEED = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_clipping": 0.0,
    "optimizer": {"type": "Adam", "params": {"lr": "auto", "eps": "auto", "torch_adam": True}},
    "zero_optimization": {
        "stage": 3,
        "stage3_param_persistence_threshold": 0,
        "stage3_gather_16bit_weights_on_model_save": True,
    },
}


def main(path):
    torch.manual_seed(0)
    arguments = TrainingArguments(
        output_dir=path,
        max_steps=1,
        learning_rate=0.1,
        adam_epsilon=1.0,
        max_grad_norm=0.0,
        average_tokens_across_devices=False,
        per_device_train_batch_size=1,
        deepspeed=DEEPSPEED,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    config = BertConfig(
        vocab_size=8,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=4,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForSequenceClassification(config)
    batch = {"input_ids": torch.tensor([1, 2]), "labels": torch.tensor(1)}
    trainer = Trainer(model=model, args=arguments, train_dataset=[batch, batch])
    trainer.train()
    print(f"rank {trainer.args.process_index} trained", flush=True)
    if trainer.is_world_process_zero():
        trainer.save_model(path)  # expect: CKP101
        print("saved", flush=True)
    print(f"rank {trainer.args.process_index} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
