"""Skorch: `compile=True` with our backend, and nets whose modules stay of their classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from counted import counted
from skorch import NeuralNetClassifier
from torch import nn

import capture


class Net(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, width), nn.GELU(), nn.Linear(width, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class CapturedClassifier(NeuralNetClassifier):
    """`compile=True` captures the modules themselves: they stay of their classes, which skorch asks for."""

    def torch_compile(self, module: Any, name: str) -> Any:
        return capture.compile(module) if self.compile else module


def fit(kind: type[NeuralNetClassifier], **arguments: Any) -> NeuralNetClassifier:
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(256, 16)).astype(np.float32)
    net = kind(Net, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.5, verbose=0, **arguments)
    return net.fit(x, x[:, :4].argmax(1))


def main() -> None:
    expected = fit(NeuralNetClassifier)

    def compare(name: str, net: NeuralNetClassifier, graphs: str) -> None:
        for column in ("train_loss", "valid_loss"):
            np.testing.assert_allclose(net.history[:, column], expected.history[:, column], rtol=1e-5)
        print(f"{name}: {graphs}, {net.history[-1, 'train_loss']:.4f}")
        capture.reset()

    net = fit(NeuralNetClassifier, compile=True, compile__backend="capture")
    theirs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert theirs >= 1
    compare("compile=True", net, f"{theirs} graphs of torch.compile")
    compare("captured modules", fit(CapturedClassifier, compile=True), counted())
    with capture.config.patch(when="first"), capture.enable():
        net = fit(NeuralNetClassifier)
    compare("block", net, counted())


if __name__ == "__main__":
    main()
