"""Layers of torch.nn: parametrized, lazy, embeddings, convolutions, attention, recurrent ones."""

from __future__ import annotations

import torch
from torch import nn

from tests.capture.cases.registry import case
from tests.capture.cases.torch.modules import with_net


class Parametrized(nn.Module):
    def forward(self, w):
        return w * 2


def parametrized():
    net = nn.Linear(4, 4)
    nn.utils.parametrize.register_parametrization(net, "weight", Parametrized())
    return net


@case(1, 2, with_net(parametrized))
def parametrization(x, net):
    return net(x)


@case(None, None, with_net(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))))
def weight_norm(x, net):
    return net(x)


@case(None, None, with_net(lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)).eval()))
def spectral_norm(x, net):
    return net(x)


@case(None, None, with_net(lambda: nn.LazyLinear(5)))
def lazy_linear(x, net):
    return net(x)


class LazyPart(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(4)

    def forward(self, x):
        return torch.relu(self.fc(x)) + 1


@case(None, None, with_net(LazyPart))
def lazy_submodule(x, net):
    return net(x)


class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.norm = nn.LayerNorm(4)
        self.drop = nn.Dropout(0.0)

    def forward(self, ids):
        return self.drop(self.norm(self.emb(ids)))


@case(1, 3, lambda: (torch.arange(6).reshape(2, 3), Embeds()))
def embedding_module(ids, net):
    return net(ids)


@case(
    1,
    4,
    with_net(
        lambda: nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2)
        ).eval(),
        1,
        1,
        4,
        4,
    ),
)
def convolution_stack(x, net):
    return net(x)


@case(1, None, with_net(lambda: nn.MultiheadAttention(4, 2, batch_first=True).eval(), 2, 3, 4))
def multihead_attention(x, net):
    return net(x, x, x, need_weights=False)[0]


@case(None, None, with_net(lambda: nn.LSTM(4, 3, batch_first=True), 2, 3, 4))
def lstm(x, net):
    out, (h, c) = net(x)
    return out, h, c


@case(None, None, with_net(lambda: nn.GRUCell(4, 3)))
def gru_cell(x, net):
    h = net(x)
    return net(x, h)
