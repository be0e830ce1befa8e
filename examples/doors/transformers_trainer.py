"""Transformers' Trainer with a captured model: the same losses and parameters as eager."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from counted import counted
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

import capture


def make_model() -> BertForSequenceClassification:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    return BertForSequenceClassification(BertConfig(vocab_size=100, num_labels=3, **sizes))


def train(model: Any) -> list[float]:
    """The losses of 12 steps."""
    texts = torch.randint(0, 100, (64, 16), generator=torch.Generator().manual_seed(1))
    data = [{"input_ids": text, "labels": int(text[0]) % 3} for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, max_steps=12, logging_steps=1, per_device_train_batch_size=8, learning_rate=1e-3,
            seed=0, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        trainer = Trainer(model, settings, train_dataset=data)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def main() -> None:
    model = make_model()
    expected = torch.tensor(train(model))

    def compare(name: str, captured: Any, losses: list[float]) -> None:
        torch.testing.assert_close(torch.tensor(losses), expected)
        torch.testing.assert_close([*captured.parameters()], [*model.parameters()], atol=1e-4, rtol=1e-3)
        print(f"{name}: {counted()}, last loss {losses[-1]:.4f}")
        capture.reset()

    one, two = make_model(), make_model()
    compare("compiled model", one, train(capture.compile(one)))
    with capture.config.patch(when="first"), capture.enable():
        losses = train(two)
    compare("block", two, losses)


if __name__ == "__main__":
    main()
