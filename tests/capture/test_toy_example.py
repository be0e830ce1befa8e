"""The example from the origin of the design: a branch on data makes three graphs, and no more."""

from __future__ import annotations

import torch

import capture


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def test_three_graphs_serve_both_ways() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def counting(module: torch.fx.GraphModule, inputs: list[torch.Tensor]):
        graphs.append(module)
        return module.forward

    captured = capture.compile(toy_example, backend=counting)
    for sign in (1, -1, 1, -1):
        a, b = torch.randn(10), sign * torch.rand(10)
        assert torch.equal(captured(a, b), toy_example(a, b))
    assert len(graphs) == 3
