"""Writes through `Tensor.data` in graphs with gradients: compiled where no gradient depends on them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import capture
from codegen.launch import assembly
from codegen.trace.functionalise import UNSEEN

pytest.importorskip("_capture")


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch.manual_seed(0)
    monkeypatch.setattr(assembly, "strict", True)
    yield
    capture.reset()


class Net(nn.Module):
    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 3))
        self.register_buffer("b", torch.rand(4, 3))
        self.body = body

    def forward(self, x: Tensor) -> Any:
        return self.body(self, x)


def average(net: Any, x: Tensor) -> Any:
    y = x * net.w
    net.b.data.mul_(0.9).add_(y.detach(), alpha=0.1)
    return y.sin()


def codebook(net: Any, x: Tensor) -> Any:
    """The nearest row of the buffer, straight through; then the rows move."""
    y = x * net.w
    index = (-torch.cdist(y, net.b)).max(1).indices
    found = F.embedding(index, net.b)
    net.b.data.copy_(0.9 * net.b + 0.1 * y.detach())
    return y + (found - y).detach(), (found.detach() - y).pow(2).mean()


def through_views(net: Any, x: Tensor) -> Any:
    y = (x * net.w).exp()
    net.b.view(-1).data[2:5].fill_(2)
    net.b.data[0] = y.detach()[1]
    return y * 2


def of_what_is_computed(net: Any, x: Tensor) -> Any:
    """Autograd saves the exponential, not the buffer."""
    y = x * net.w * net.b.exp()
    net.b.data.zero_()
    return y * y


def read_afterwards(net: Any, x: Tensor) -> Any:
    y = x * net.w
    net.b.data.add_(1)
    return y + net.b, net.b.sum()


def saved_before(net: Any, x: Tensor) -> Any:
    y = x * net.w * net.b
    net.b.data.mul_(2)
    return y


def saved_afterwards(net: Any, x: Tensor) -> Any:
    net.b.data.mul_(2)
    return x * net.w * net.b


def saved_as_a_view(net: Any, x: Tensor) -> Any:
    y = (x * net.w) @ net.b.t()
    net.b[1].data.mul_(2)
    return y


def of_a_leaf(net: Any, x: Tensor) -> Any:
    net.w.data.mul_(2)
    return x * net.w


def of_a_result(net: Any, x: Tensor) -> Any:
    y = (x * net.w).exp()
    y.data.mul_(2)
    return y


def of_a_leaf_that_nothing_saves(net: Any, x: Tensor) -> Any:
    net.w.data.mul_(2)
    return x + net.w


COMPILED = [average, codebook, through_views, of_what_is_computed, read_afterwards]
LEFT = [saved_before, saved_afterwards, saved_as_a_view, of_a_leaf, of_a_result, of_a_leaf_that_nothing_saves]


def step(net: nn.Module, function: Any, x: Tensor, second: bool) -> list[Any]:
    versions = net.b._version, net.w._version
    made = function(x)
    results = made if isinstance(made, tuple) else (made,)
    loss = sum(torch.sum(item * item) for item in results)
    found = list(torch.autograd.grad(loss, [x, net.w], create_graph=second))  # type: ignore[arg-type, list-item]
    if second:
        found += torch.autograd.grad(sum(g.pow(2).sum() for g in found), [x, net.w])  # type: ignore[arg-type, list-item]
    written = net.b._version - versions[0], net.w._version - versions[1]
    return [*(item.detach() for item in results), *found, net.b.clone(), *written]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("body", COMPILED + LEFT)
def test_as_in_eager(body: Any, second: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "capture.codegen")
    net = Net(body)
    twin = copy.deepcopy(net)
    fast = capture.compile(twin)
    for _ in range(3):
        x = torch.randn(4, 3)
        expected = step(net, net, x.clone().requires_grad_(), second)
        found = step(twin, fast, x.clone().requires_grad_(), second)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs)
    assert (UNSEEN in caplog.text) is (body in LEFT)
