"""Lightning: a captured module in `fit`, and a block around `fit`, compared with eager."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning
import torch
from counted import counted
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import capture

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")
QUIET = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4))

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def fit(module: lightning.LightningModule) -> list[torch.Tensor]:
    """The loss, the accuracy and the parameters after 4 epochs."""
    x = torch.randn(256, 16, generator=torch.Generator().manual_seed(0))
    data = DataLoader(TensorDataset(x, x[:, :4].argmax(1)), batch_size=32)
    trainer = lightning.Trainer(max_epochs=4, enable_model_summary=False, **QUIET)
    trainer.fit(module, data, data)
    return [trainer.callback_metrics["loss"], trainer.callback_metrics["accuracy"], *module.parameters()]


if __name__ == "__main__":
    expected = fit(Classifier())
    torch.testing.assert_close(fit(capture.compile(Classifier())), expected, atol=1e-5, rtol=1e-4)
    print("fit(capture.compile(module)):", counted(least=2))
    capture.reset()
    with capture.config.patch(when="first"), capture.enable():  # without `when`: what pays
        given = fit(Classifier())
    torch.testing.assert_close(given, expected, atol=1e-5, rtol=1e-4)
    print("block around fit:", counted(least=2))
