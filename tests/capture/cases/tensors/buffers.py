"""`torch.nn.Buffer`, which is a plain tensor with a mark."""

from __future__ import annotations

import torch
from torch import nn

from tests.capture.cases.registry import case

BUFFER = nn.Buffer(torch.ones(4), persistent=False)


class TakesBuffer(nn.Module):
    def forward(self, x):
        self.held = BUFFER
        return x + self.held


class MakesBuffer(nn.Module):
    def forward(self, x):
        self.held = nn.Buffer(torch.ones(4))
        return x + self.held


def with_module(make):
    return lambda: (make(), torch.ones(3, 4))


def registered(model):
    return sorted(model._buffers), "held" in model.__dict__, sorted(model.state_dict())


@case(1, 1, with_module(TakesBuffer))
def a_buffer_becomes_one_of_the_module(model, x):
    return model(x), registered(model)


@case(1, 4, with_module(MakesBuffer))
def a_buffer_is_made_in_forward(model, x):
    return model(x), registered(model), isinstance(model.held, nn.Buffer)


@case(1, 1)
def what_is_a_buffer(x):
    kinds = (int, (nn.Buffer, str))
    return x + 1, isinstance(BUFFER, nn.Buffer), isinstance(x, nn.Buffer), isinstance(BUFFER, kinds)


@case(1, 3)
def a_new_buffer(x):
    made = nn.Buffer(x * 2)
    return made + 1, isinstance(made, nn.Buffer), made.persistent, type(made) is torch.Tensor


@case(1, 2)
def a_buffer_on_an_argument(x):
    made = nn.Buffer(x)
    made.add_(1)
    return made, x
