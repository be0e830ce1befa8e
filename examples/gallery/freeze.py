"""Freezing: parameters are constants, batch norms go into convolutions, weights are packed."""

from __future__ import annotations

import torch
from torch import nn

import capture


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 10),
    ).eval()  # fmt: skip
    x = torch.randn(2, 3, 16, 16)
    frozen = capture.compile(model, options={"freeze": True})
    with torch.no_grad():
        torch.testing.assert_close(frozen(x), model(x), rtol=1e-4, atol=1e-5)
        model[7].bias.add_(1)  # autograd sees this write: the model is captured anew
        torch.testing.assert_close(frozen(x), model(x), rtol=1e-4, atol=1e-5)
    print(f"{capture.counters['frames']['captured']} captures: before and after the change of a weight")


if __name__ == "__main__":
    main()
