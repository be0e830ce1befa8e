"""Graphs under autocast: compiled natively, with the dtypes of eager's autocast and close values."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

import capture
from codegen.compile_fx import compile_fx
from codegen.trace import autocast


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.norm = nn.LayerNorm(32)
        self.conv = nn.Conv1d(4, 4, 3, padding=1)

    def forward(self, x):
        h = self.norm(F.gelu(self.up(x)))
        mixed = torch.softmax(h @ h.transpose(-1, -2), -1) @ h
        return self.conv(self.down(mixed)) + x


class Region(Block):
    def forward(self, x):
        with torch.autocast("cpu"):
            inside = super().forward(x)
            with torch.autocast("cpu", enabled=False):
                exact = x @ x.transpose(-1, -2)
        return inside, exact


def outcome(model, x, around, backward_inside=False):
    with torch.autocast("cpu", enabled=around):
        results = model(x)
        results = results if isinstance(results, tuple) else (results,)
        loss = sum(result.float().square().mean() for result in results)
        if backward_inside:
            loss.backward()
        assert torch.is_autocast_enabled("cpu") == around
    if not backward_inside:
        loss.backward()
    return [*results, *(p.grad for p in model.parameters())]


def close(found, expected):
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == two.dtype
        torch.testing.assert_close(one, two, rtol=3e-2, atol=3e-2 * float(two.abs().max()))


@pytest.mark.parametrize("backward_inside", [False, True])
@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("kind", [Block, Region])
def test_training(kind, around, backward_inside):
    torch.manual_seed(0)
    model, x = kind(), torch.randn(2, 4, 16)
    twin = copy.deepcopy(model)
    capture.reset()
    close(
        outcome(capture.compile(twin), x, around, backward_inside),
        outcome(model, x, around, backward_inside),
    )


@pytest.mark.parametrize("kind", [Block, Region])
def test_inference(kind):
    model, x = kind(), torch.randn(2, 4, 16)
    compiled = capture.compile(model)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode(), torch.autocast("cpu"):
            found, expected = compiled(x), model(x)
        close(found, expected) if kind is Region else close([found], [expected])


def by_autocast(x, w):
    product = x @ w
    return product, torch.softmax(product, -1), F.mse_loss(product, x)


def test_dtypes_and_native_code():
    x = torch.randn(8, 8)
    with torch.autocast("cpu"):
        compiled = compile_fx(torch.fx.symbolic_trace(by_autocast), [x, x])
        results = compiled(x, x)
        expected = by_autocast(x, x)
    assert isinstance(compiled, autocast.WithoutAutocast) and compiled.kernels
    assert [r.dtype for r in results] == [torch.bfloat16, torch.bfloat16, torch.float32]
    close(results, expected)


def test_called_with_and_without():
    """The state of autocast is guarded: each state has a graph."""
    x = torch.randn(8, 8)
    compiled = capture.compile(by_autocast)
    for on in (True, False, True):
        with torch.autocast("cpu", enabled=on):
            close(compiled(x, x), by_autocast(x, x))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_errors_are_raised_under_autocast(requires_grad):
    def rows(x, i):
        return (x @ x)[i]

    compiled = capture.compile(rows)
    x = torch.randn(4, 4, requires_grad=requires_grad)
    with torch.autocast("cpu"):
        assert compiled(x, torch.tensor([1])).dtype is torch.bfloat16
        with pytest.raises(IndexError):
            compiled(x, torch.tensor([9]))
        assert torch.is_autocast_enabled("cpu")


def test_derivative_of_a_gradient():
    def cubed(x, w):
        return ((x @ w) ** 3).sum()

    def second(function, x, w):
        with torch.autocast("cpu"):
            value = function(x, w)
        (first,) = torch.autograd.grad(value, w, create_graph=True)
        return [first.detach(), *torch.autograd.grad(first.square().sum(), w)]

    x, w = torch.randn(6, 6), torch.randn(6, 6, requires_grad=True)
    close(second(capture.compile(cubed), x, w), second(cubed, x, w))


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.linalg.pinv(x),
        lambda x: torch.linalg.pinv(x[:3] + x[:3].mT, hermitian=True),
        lambda x: F.bilinear(x, x, torch.ones(2, 3, 3)),
    ],
)
def test_operators_whose_kernels_are_under_autocast_too(function, enabled):
    def program(x):
        with torch.autocast("cpu", enabled=enabled):
            return function(x)

    x = torch.linspace(0.1, 1.9, 12).reshape(4, 3)
    expected, found = program(x), capture.compile(program)(x)
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_inference_mode_under_autocast(requires_grad):
    def tripled(x):
        with torch.inference_mode():
            return x @ x

    x = torch.ones(2, 2, requires_grad=requires_grad)
    with torch.autocast("cpu"):
        found = capture.compile(tripled)(x)
    assert found.is_inference() and found.dtype is torch.bfloat16
