"""Graphs that switch grad mode, called in either mode: requires_grad, gradients, and the mode afterwards."""

from __future__ import annotations

import itertools
import operator

import pytest
import torch
from torch import fx

from codegen.compile_fx import compile_fx
from codegen.launch.compiled import EagerGraph

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
@pytest.mark.parametrize(
    ("around", "first", "second"), list(itertools.product((True, False), SWITCHES, SWITCHES))
)
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


def remembering() -> fx.GraphModule:
    graph = fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    hidden = graph.call_method("tanh", (graph.call_function(torch.matmul, (x, w)),))
    graph.call_function(torch._C._set_grad_enabled, (False,))
    kept = graph.call_method("detach", (graph.call_function(operator.getitem, (hidden, slice(-2, None))),))
    graph.call_function(torch._C._set_grad_enabled, (True,))
    graph.output((graph.call_method("square", (hidden,)), hidden, kept))
    return fx.GraphModule(torch.nn.Module(), graph)


def test_a_detached_view_made_without_grad():
    """A program keeps such a view for the next call (memories, hidden states): the mode in which it was
    sliced makes no difference.
    """
    module = remembering()
    x, w = torch.randn(4, 3), torch.randn(3, 3, requires_grad=True)
    compiled = compile_fx(module, [x, w])
    assert not isinstance(compiled, EagerGraph)
    for found, expected in ((compiled(x, w), module(x, w)) for _ in range(2)):
        torch.testing.assert_close(list(found), list(expected))
        assert [out.requires_grad for out in found] == [out.requires_grad for out in expected]
        torch.testing.assert_close(*(torch.autograd.grad(outs[0].sum(), w)[0] for outs in (found, expected)))
        with torch.no_grad():
            found[2].add_(1)
        torch.testing.assert_close(found[1][-2:], found[2])
