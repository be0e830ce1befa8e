"""Lightning: `fit` with a captured module. Its training and validation steps run as native code."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import capture

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")  # about the number of its workers


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4))

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        inputs, labels = batch
        return nn.functional.cross_entropy(self.net(inputs), labels)

    def validation_step(self, batch: Any, index: int) -> None:
        inputs, labels = batch
        # self.log breaks the graph, for torch.compile too; the step goes on captured behind it
        self.log("accuracy", (self.net(inputs).argmax(1) == labels).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def main() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(256, 16)
    data = DataLoader(TensorDataset(inputs, inputs[:, :4].argmax(1)), batch_size=32)
    trainer = lightning.Trainer(
        max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(capture.compile(Classifier()), data, data)
    accuracy = trainer.callback_metrics["accuracy"].item()
    assert accuracy > 0.7
    graphs = capture.counters["graphs"]["compiled"]
    assert graphs >= 2  # a training step, a validation step
    print(f"accuracy {accuracy:.2f}, {graphs} graphs")


if __name__ == "__main__":
    main()
