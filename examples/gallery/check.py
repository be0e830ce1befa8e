"""Is it right? `check` compares each stage of a capture with eager and with a run in float64."""

from __future__ import annotations

import torch
from torch import nn

import capture


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(), nn.Flatten(), nn.Linear(288, 5))
    result = capture.check(model)(torch.randn(4, 3, 8, 8))
    print(result)
    assert result.ok


if __name__ == "__main__":
    main()
