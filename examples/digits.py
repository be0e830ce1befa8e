"""Trains a classifier of handwritten digits inside of `capture.enable()` and compares it with eager.

    python examples/digits.py [--epochs 5] [--hook settrace] [--backend eager]

Nothing but the time should change. The data are the 1,797 images of 8x8 pixels that scikit-learn ships. The
training loop is an ordinary one; it runs twice from the same seed, once as it is and once captured.
"""

from __future__ import annotations

import torch
from torch import nn
from training import main


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.hidden = nn.Linear(8 * 16, 64)
        self.dropout = nn.Dropout(0.1)
        self.output = nn.Linear(64, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = nn.functional.gelu(self.norm(self.convolution(images)))
        x = nn.functional.max_pool2d(x, 2).flatten(1)
        return self.output(self.dropout(torch.tanh(self.hidden(x))))


if __name__ == "__main__":
    main("Digits", Classifier)
