"""Calls of functions that were compiled before: they are inlined into the graph of the caller."""

from __future__ import annotations

import torch
import torch.nn as nn

import capture
from tests.capture.cases.registry import case


@capture.compile
def compiled(x):
    return x * 2 + 1


@capture.compile(fullgraph=True, backend="eager")
def compiled_whole(x):
    return x.neg()


@capture.disable
def disabled(x):
    return x * 3


def layer():
    torch.manual_seed(3)
    return nn.Linear(4, 4)


COMPILED = capture.compile(layer(), backend="eager")
DISABLED = capture.disable(layer())


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = capture.compile(layer(), backend="eager")
        self.rest = nn.Sequential(capture.compile(layer(), backend="eager"), nn.ReLU())

    def forward(self, x):
        return self.rest(self.first(x))


NESTED = Nested()


class Methods:
    @capture.compile
    def first(self, x):
        return x * 3

    @capture.enable()
    def second(self, x):
        return x * 4


@case(1, 3)
def function(x):
    return compiled(x) + 1


@case(1, 2)
def function_under_fullgraph(x):
    return compiled_whole(x) + 1


@case(2, 2)
def disabled_function(x):
    return disabled(x + 1) + 1


@case(1, 2)
def module(x):
    return COMPILED(x) + 1


@case(1, 2)
def forward_of_module(x):
    return COMPILED.forward(x) + 1


@case(2, 2)
def disabled_module(x):
    return DISABLED(x + 1) + 1


@case(1, 3)
def submodules(x):
    return NESTED(x)


@case(1, 3)
def methods(x):
    held = Methods()
    return held.first(x) + held.second(x)


@case(1, 2)
def made_inside(x):
    double = capture.compile(lambda v: v * 2)
    return double(x) + 1


# --- compiled by the frame itself ---------------------------------------------------------------------------


@case(graphs=1, ops=3)
def compiled_in_the_frame(x):
    @capture.compile
    def double(y):
        return y * 2

    @capture.compile(backend="eager", fullgraph=True)
    def halve(y):
        return y / 2

    return double(x) + halve(x)


@case(graphs=1, ops=4)
def compiled_in_the_frame_and_returned(x):
    fast = capture.compile(lambda y: y + 1, backend="eager")
    return fast(x) * 2, fast(torch.ones(2)).shape, callable(fast)


@case(graphs=2, ops=4)
def compiled_in_the_frame_called_behind_a_break(x):
    fast = capture.compile(lambda y: y.relu(), backend="eager")
    y = fast(x)
    capture.graph_break()
    return fast(y - 1) * 2


@case(graphs=1, ops=1)
def compiled_in_the_frame_by_a_wrong_mode(x):
    try:
        capture.compile(lambda y: y, mode="fastest")
    except capture.UsageError as error:
        return x + 1, str(error)
