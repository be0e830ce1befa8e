"""A classifier that branches on its data: graph breaks, resume functions and a recompile.

The graph breaks at the branch, and resume functions go on after it. A second batch size makes a recompile.

Usage: python examples/branchy.py
"""

from __future__ import annotations

import torch
from torch import nn
from training import main


class Branchy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)
        self.output = nn.Linear(64, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(images.flatten(1)))
        if x.mean() > 0.1:  # the data decide: no graph can hold both branches
            x = x + torch.relu(self.second(x))
        else:
            x = x * 2
        return self.output(x)


if __name__ == "__main__":
    main("A model with a branch", Branchy)
