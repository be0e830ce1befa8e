"""Inference with frozen parameters (`options={"freeze": True}`), compared with capture without it and eager.

Usage: python -m benchmarks.frozen [name...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from rich.table import Table
from torch import nn

import capture
from benchmarks.measure import compare, console, header


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, channels: int, width: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, width, 1, bias=False)
        self.spatial = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.expand = nn.Conv2d(width, out, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(n) for n in (width, width, out)])
        self.shortcut = None
        if channels != out or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norms[0](self.reduce(x)))
        y = F.relu(self.norms[1](self.spatial(y)))
        return F.relu(self.norms[2](self.expand(y)) + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nn.Module):
    """ResNet-50 with one or two blocks for each stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        stages = (
            (64, 64, 256, 1),
            (256, 64, 256, 1),
            (256, 128, 512, 2),
            (512, 256, 1024, 2),
            (1024, 512, 2048, 2),
            (2048, 512, 2048, 1),
        )
        self.blocks = nn.Sequential(*(Bottleneck(*stage) for stage in stages))
        self.head = nn.Linear(2048, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Layer(nn.Module):
    """A layer of BERT-base."""

    def __init__(self, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)

        mixed = F.scaled_dot_product_attention(split(self.query(x)), split(self.key(x)), split(self.value(x)))
        x = self.norms[0](x + self.out(mixed.transpose(1, 2).flatten(2)))
        return self.norms[1](x + self.down(F.gelu(self.up(x))))


def randomised(model: nn.Module) -> nn.Module:
    """The model with statistics that are not 0 and 1."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)  # type: ignore[arg-type]
            nn.init.uniform_(module.running_var, 0.5, 1.5)  # type: ignore[arg-type]
    return model.eval()


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "resnet": (ResNet, lambda: torch.randn(1, 3, 224, 224)),
    "resnet channels_last": (
        lambda: ResNet().to(memory_format=torch.channels_last),
        lambda: torch.randn(1, 3, 224, 224).to(memory_format=torch.channels_last),
    ),
    "bert 128": (lambda: nn.Sequential(Layer(), Layer()), lambda: torch.randn(1, 128, 768)),
    "bert 16": (lambda: nn.Sequential(Layer(), Layer()), lambda: torch.randn(1, 16, 768)),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)),
        lambda: torch.randn(32, 256),
    ),
}


def contenders(name: str) -> dict[str, Callable[[], Any]]:
    make, inputs = MODELS[name]
    model, x = randomised(make()), inputs()
    plain, frozen = capture.compile(model), capture.compile(model, options={"freeze": True})
    torch.testing.assert_close(frozen(x), model(x), rtol=1e-3, atol=1e-3)
    return {"eager": lambda: model(x), "capture": lambda: plain(x), "frozen": lambda: frozen(x)}


def main() -> None:
    header()
    table = Table(
        "model",
        "eager",
        "capture",
        "frozen",
        "to eager",
        "to capture",
        title="inference",
        title_justify="left",
    )
    for name in sys.argv[1:] or MODELS:
        with torch.no_grad():
            times = compare(contenders(name), seconds=2.0)
        eager, plain, frozen = (times[who].seconds for who in ("eager", "capture", "frozen"))
        table.add_row(name, *map(str, times.values()), f"{frozen / eager:.2f}", f"{frozen / plain:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
