"""`object.__setattr__` and `object.__delattr__` of a module: its registries stay as they are."""

from __future__ import annotations

import torch
from torch import nn

import capture


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))

    def hold(self, part, x):
        object.__setattr__(self, "part", part)
        object.__setattr__(self, "weight", part.weight)
        return x + 1

    def shadow(self, value, x):
        object.__setattr__(self, "scale", value)
        return x + 1

    def uncover(self, x):
        object.__delattr__(self, "scale")
        return x * self.scale


def test_held_parts_are_not_registered():
    holder, part = Holder(), nn.Linear(2, 2)
    capture.compile(holder.hold)(part, torch.ones(2))
    assert holder.part is part and holder.weight is part.weight
    assert list(holder._modules) == [] and list(holder._parameters) == ["scale"]


def test_a_registered_name_may_have_a_value_of_the_object():
    for value in (3, None):
        holder = Holder()
        capture.compile(holder.shadow)(value, torch.ones(2))
        assert holder.__dict__["scale"] is value and holder._parameters["scale"] is not None
        result = capture.compile(holder.uncover)(torch.ones(2))
        assert "scale" not in holder.__dict__ and torch.equal(result, torch.ones(2))
