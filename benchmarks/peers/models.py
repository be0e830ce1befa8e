"""Six models, each with a training step that is written as people write it.

In:  `MODELS[name]()`.
Out: `Training`: the model, and a function that draws a batch and computes the loss with the model it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.programs.generative import DiffusionUNet
from benchmarks.programs.language import GPT, GPTConfig, Translator, subsequent_mask
from benchmarks.programs.science import PointNet
from benchmarks.programs.vision import ResNet, ViT


@dataclass(frozen=True)
class Training:
    model: nn.Module
    loss: Callable[[Any], torch.Tensor]


def gpt() -> Training:
    def loss(model: Any) -> torch.Tensor:
        tokens = torch.randint(65, (8, 65))
        return model(tokens[:, :-1], tokens[:, 1:].contiguous())[1]

    return Training(GPT(GPTConfig()), loss)


def of_pictures(model: nn.Module) -> Training:
    def loss(model: Any) -> torch.Tensor:
        return F.cross_entropy(model(torch.randn(16, 3, 32, 32)), torch.randint(10, (16,)))

    return Training(model, loss)


def diffusion() -> Training:
    def loss(model: Any) -> torch.Tensor:
        noise = torch.randn(8, 1, 28, 28)
        return F.mse_loss(model(torch.randn(8, 1, 28, 28) + noise, torch.randint(1000, (8,))), noise)

    return Training(DiffusionUNet(), loss)


def translation() -> Training:
    mask = subsequent_mask(19)

    def loss(model: Any) -> torch.Tensor:
        source, target = torch.randint(2, 500, (20, 16)), torch.randint(2, 500, (20, 16))
        padding = [torch.zeros(16, length, dtype=torch.bool) for length in (20, 19)]
        logits = model(source, target[:-1], mask, *padding)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), target[1:].reshape(-1))

    return Training(Translator(), loss)


def points() -> Training:
    def loss(model: Any) -> torch.Tensor:
        return F.nll_loss(model(torch.randn(16, 3, 256))[0], torch.randint(10, (16,)))

    return Training(PointNet(), loss)


MODELS: dict[str, Callable[[], Training]] = {
    "GPT, 4 layers": gpt,
    "ViT, 4 layers": lambda: of_pictures(ViT()),
    "ResNet-14": lambda: of_pictures(ResNet()),
    "diffusion U-Net": diffusion,
    "translation model": translation,
    "PointNet": points,
}


def prepared(name: str) -> Training:
    """With the same weights in every process. Without dropout: each contender draws other random numbers,
    and losses are compared.
    """
    torch.manual_seed(0)
    training = MODELS[name]()
    for module in training.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return training
