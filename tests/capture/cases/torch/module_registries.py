"""Modules that captured code makes or changes: registered parts are found, removed parts are not."""

from __future__ import annotations

import torch
from torch import nn

from tests.capture.cases.registry import case


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.act = nn.ReLU()
        self.register_buffer("scale", torch.ones(4))


def block():
    torch.manual_seed(0)
    return Block(), torch.ones(3, 4)


@case(graphs=1, ops=2, args=block)
def buffer_registered(m, x):
    m.register_buffer("offset", x + 1)
    return x + m.offset, [name for name, _ in m.named_buffers()]


@case(graphs=1, ops=1, args=block)
def module_added(m, x):
    before = hasattr(m, "more")
    m.add_module("more", nn.Tanh())
    return m.more(x), [name for name, _ in m.named_children()], before, hasattr(m, "more")


@case(graphs=1, ops=1, args=block)
def module_deleted(m, x):
    del m.act
    try:
        return m.act(x)
    except AttributeError as error:
        return x + 1, str(error), hasattr(m, "act")


@case(graphs=1, ops=1, args=block)
def taken_out_of_the_registry(m, x):
    del m._modules["act"]
    return x + hasattr(m, "act"), len(list(m.children()))


@case(graphs=1, ops=3, args=block)
def put_into_the_registry(m, x):
    m._modules["act"] = nn.Tanh()
    m._buffers["scale"] = x * 2
    return m.act(x) + m.scale


@case(graphs=1, ops=1, args=block)
def an_attribute_in_place_of_a_module(m, x):
    del m.act
    m.act = 3
    return x + m.act, "act" in m.__dict__


class Lazily(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = None

    def forward(self, x):
        if self.inner is None:
            self.inner = nn.Linear(4, 4)
        return self.inner(x)


def lazily():
    torch.manual_seed(0)
    return Lazily(), torch.ones(3, 4)


@case(graphs=1, ops=1)
def module_with_parameters_made(x):
    """Python makes its parameters; its call is captured."""
    return nn.Linear(4, 3)(x)


@case(graphs=1, ops=1, args=lazily)
def module_made_at_the_first_call(m, x):
    return m(x)


@case(graphs=1, ops=3)
def norm_made(x):
    return nn.BatchNorm1d(4)(x) + 1
