"""Graphs that switch grad mode inside, called in either mode: what requires grad, gradients, and the mode afterwards."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import fx

from codegen.compile_fx import compile_fx

SWITCHES = (None, True, False)


def switching(first: bool | None, second: bool | None, views: bool) -> fx.GraphModule:
    graph = fx.Graph()
    x = graph.placeholder("x")
    outputs = [graph.call_function(torch.mul, (x, 2))]
    for mode, factor in ((first, 3), (second, 4)):
        if mode is not None:
            graph.call_function(torch._C._set_grad_enabled, (mode,))
        outputs.append(graph.call_function(torch.mul, (x, factor)))
        outputs.append(graph.call_function(torch.add, (outputs[0], factor)))
    if views:
        outputs += [graph.call_method("t", (x,)), graph.call_method("detach", (x,))]
    graph.output(tuple(outputs))
    return fx.GraphModule(torch.nn.Module(), graph)


def gradient(outputs, x):
    differentiable = [(output * output).sum() for output in outputs if output.grad_fn is not None]
    return torch.autograd.grad(sum(differentiable), x, allow_unused=True)[0] if differentiable else None


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize(("around", "first", "second"), itertools.product((True, False), SWITCHES, SWITCHES))
def test_same_as_eager(around, first, second, views):
    module = switching(first, second, views)
    x = torch.ones(2, 2, requires_grad=True)
    with torch.set_grad_enabled(around):
        expected = module(x)
    with torch.set_grad_enabled(around):
        compiled = compile_fx(module, [x])
        assert torch.is_grad_enabled() == around
        found = compiled(x)
    assert [out.requires_grad for out in found] == [out.requires_grad for out in expected]
    torch.testing.assert_close(list(found), list(expected))
    torch.testing.assert_close(gradient(found, x), gradient(expected, x))
