"""`torch.nn.Parameter(...)` inside of captured code."""

from __future__ import annotations

import torch
import torch.nn as nn

import capture
from tests.capture.cases.registry import case


class Doubling(nn.Module):
    def forward(self, x):
        self.weight = nn.Parameter(x)
        return self.weight * 2


def module_and_input():
    torch.manual_seed(0)
    return Doubling(), torch.randn(3, 4)


def needs_grad():
    return (torch.arange(3.0, requires_grad=True),)


@case(graphs=1, ops=1)
def of_an_argument(x):
    w = nn.Parameter(x)
    return w, w.sin(), x, type(w), isinstance(w, nn.Parameter), w.requires_grad, w.is_leaf


@case(graphs=1, ops=2)
def without_gradients(x):
    w = nn.Parameter(x, requires_grad=False)
    return [w], w * 2 + 1, w.requires_grad


@case(graphs=1, ops=1, args=needs_grad)
def of_an_argument_with_gradients(x):
    w = nn.Parameter(data=x)
    return w, w * 2


@case(graphs=1, ops=2)
def shares_memory(x):
    w = nn.Parameter(x, False)
    y = w * 2
    x.add_(1)
    return w, x, y


@case(graphs=2, ops=2)
def of_an_argument_written_to(x):
    x.add_(1)
    return nn.Parameter(x) * 2, x


@case(graphs=2, ops=2)
def of_a_result(x):
    w = nn.Parameter(x + 1)
    return w, w * 2


@case(graphs=2, ops=3)
def across_a_break(x):
    w = nn.Parameter(x)
    y = w * 2
    capture.graph_break()
    return w, y + w * 3


@case(graphs=1, ops=2, args=module_and_input)
def registered_with_a_module(module, x):
    y = module(x)
    return y, list(module.state_dict())


@case(graphs=1, ops=1, args=lambda: (torch.arange(3),))
def of_integers(x):
    try:
        return nn.Parameter(x)
    except RuntimeError as error:
        return x + 1, str(error)[:20]


@case(graphs=1)
def with_a_backward(x):
    w = nn.Parameter(x)
    (w * w).sum().backward()
    return w.grad, w
