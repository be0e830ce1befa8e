"""The same with a model that branches on its data: the graph breaks, resume functions go on, and a second
batch size makes a recompile.

python examples/branchy.py
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
        if x.mean() > 0.1:  # decided by the data: no graph can hold both ways
            x = x + torch.relu(self.second(x))
        else:
            x = x * 2
        return self.output(x)


if __name__ == "__main__":
    main("A model with a branch", Branchy)
