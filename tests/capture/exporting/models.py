"""Small models, with arguments: each is exported for several machines."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F


def mlp() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    net = nn.Sequential(
        nn.Linear(20, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)
    )
    return net.eval(), (torch.randn(7, 20),)


class SmallCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 16, 3, stride=2, groups=2)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        return F.log_softmax(self.head(F.silu(self.second(x)).mean((2, 3))), -1)


def cnn() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    net = SmallCnn()
    with torch.no_grad():
        net.norm.running_mean.uniform_(-1, 1)
        net.norm.running_var.uniform_(0.5, 2)
    return net.eval(), (torch.randn(2, 3, 16, 16),)


def encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), (torch.randn(2, 6, 32),)


class CachedBlock(nn.Module):
    """GPT-2's block for one new token. The cache of keys and values comes in, and goes out longer by one."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(
        self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.attend(self.norm1(x)).split(width, dim=2)
        )
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        scores = q @ keys.transpose(2, 3) / math.sqrt(width // self.heads)
        seen = (scores.softmax(-1) @ values).transpose(1, 2).reshape(batch, length, width)
        x = x + self.project(seen)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh")), keys, values


def cached_block() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return CachedBlock().eval(), (torch.randn(1, 1, 32), torch.randn(1, 4, 5, 8), torch.randn(1, 4, 5, 8))


MODELS = {"mlp": mlp, "cnn": cnn, "encoder": encoder, "cached_block": cached_block}
