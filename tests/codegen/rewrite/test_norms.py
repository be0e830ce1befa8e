"""Batch norm on float32 and float64: values, strides, statistics and gradients like eager's.

It uses no rule of torch.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import capture
from capture.report.config import config
from codegen.rewrite.table import aten, rule_for

CLASSES = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
TOLERANCE = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.float64: {"rtol": 1e-10, "atol": 1e-10}}


def results(function: Any, module: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    x = x.clone().requires_grad_()
    value = function(x)
    (grad,) = torch.autograd.grad(value.pow(3).sum(), x, retain_graph=True)
    value.pow(3).sum().backward()
    return [value, grad, *(p.grad for p in module.parameters()), *module.buffers()]


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("affine", "tracks"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_like_eager(rank: int, training: bool, affine: bool, tracks: bool, dtype: torch.dtype) -> None:
    module = CLASSES[rank](5, affine=affine, track_running_stats=tracks, momentum=0.3, dtype=dtype)
    for parameter in module.parameters():
        nn.init.uniform_(parameter)
    for buffer in module.buffers():
        buffer.add_(1)
    module.train(training)
    for x in (
        torch.randn(4, 5, *[3] * (rank - 2), dtype=dtype),
        torch.randn(4, *[3] * (rank - 2), 5, dtype=dtype).movedim(-1, 1),
    ):
        ours = copy.deepcopy(module)
        with config.patch(raise_on_error=True):
            found = results(capture.compile(ours, dynamic=False), ours, x)
        theirs = copy.deepcopy(module)
        for a, b in zip(found, results(theirs, theirs, x), strict=True):
            torch.testing.assert_close(a, b, **TOLERANCE[dtype])
            assert a.stride() == b.stride()


def test_gradient_of_the_gradient() -> None:
    module = nn.BatchNorm2d(3).double()
    x = torch.randn(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)

    def second(function: Any) -> torch.Tensor:
        (grad,) = torch.autograd.grad(function(x).pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(grad.pow(2).sum(), x)[0]

    torch.testing.assert_close(second(capture.compile(module)), second(module))


def test_one_element_for_each_channel() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, None, None, training=True)

    for function in (program, capture.compile(program)):
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            function(torch.ones(1, 3, 1))
    module = nn.BatchNorm1d(3).eval()
    assert torch.equal(capture.compile(module)(torch.ones(1, 3)), module(torch.ones(1, 3)))


@pytest.mark.parametrize("training", [True, False])
def test_no_rule_of_torch(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's rules take ten times as long."""
    monkeypatch.setattr(torch._decomp.decompositions, "native_batch_norm_helper", None)
    rule = rule_for(aten.native_batch_norm.default)
    assert rule is not None
    tensor, channels = torch.randn(2, 3, 4), torch.ones(3)
    value, *_ = rule(tensor, channels, channels, channels.clone(), channels.clone(), training, 0.1, 1e-5)
    expected = F.batch_norm(tensor, channels.clone(), channels.clone(), channels, channels, training)
    torch.testing.assert_close(value, expected)


def test_symbolic_sizes() -> None:
    module = nn.BatchNorm1d(3)
    compiled = capture.compile(copy.deepcopy(module), dynamic=True)
    for count in (4, 5, 9):
        x = torch.randn(count, 3, 2)
        torch.testing.assert_close(compiled(x), module(x))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,)])
@pytest.mark.parametrize("ord", [2, 2.0, 1, 3.5, float("inf")])
def test_length_of_a_vector(dtype: torch.dtype, shape: tuple[int, ...], ord: float) -> None:
    if shape == (0,) and ord == float("inf"):
        pytest.skip("of no elements there is no greatest one")
    x = torch.randn(shape, dtype=dtype) * 1e10  # the square of 1e25 is no float32
    x = x * 1e15 if x.numel() == 1 else x
    for options in ({}, {"dim": tuple(range(len(shape)))}, {"keepdim": True}, {"dtype": torch.float64}):

        def length(x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.vector_norm(x, ord, **options)

        with config.patch(raise_on_error=True):
            found = capture.compile(length, dynamic=False)(x)
        torch.testing.assert_close(found, length(x), **TOLERANCE[dtype])


@pytest.mark.parametrize(
    "norm",
    [
        lambda x: F.layer_norm(x, (4,)),
        lambda x: F.layer_norm(x, (4,), -torch.ones(4, dtype=x.dtype)),
        lambda x: F.layer_norm(x, (4,), torch.ones(4, dtype=x.dtype), -torch.zeros(4, dtype=x.dtype)),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.batch_norm(x, torch.zeros(4, dtype=x.dtype), torch.ones(4, dtype=x.dtype)),
    ],
    ids=["layer", "layer with a weight", "layer with a bias", "batch", "batch in evaluation"],
)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_zeros_have_the_signs_of_eager(norm: Any, dtype: torch.dtype, dynamic: bool) -> None:
    """Eager adds a bias of 0 where there is none."""
    x = torch.zeros(6, 4, dtype=dtype)
    x.view(-1)[::3] = -0.0

    def fn(x: torch.Tensor) -> torch.Tensor:
        return norm(x) * 2

    found, expected = capture.compile(fn, dynamic=dynamic)(x), fn(x)
    assert torch.equal(found.signbit(), expected.signbit())


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4)], ids=str)
def test_gradients_of_weights_are_no_negative_zeros(shape: tuple[int, ...]) -> None:
    weight, bias = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    for norm in (F.layer_norm, capture.compile(F.layer_norm)):
        out = norm(torch.randn(shape), (4,), weight, bias)
        for gradient in torch.autograd.grad(out, (weight, bias), -torch.zeros(shape)):
            assert not gradient.signbit().any()


def test_gradient_of_a_softmax_at_a_masked_element() -> None:
    """It is 0 or -0.0, as in eager: the gradient less its mean, times the probability 0."""
    x, y = torch.randn(5, 7), torch.randn(5, 7)
    x[:, ::2] = -torch.inf
    gradients = []
    for softmax in (torch.softmax, capture.compile(torch.softmax)):
        leaf = x.clone().requires_grad_()
        gradients += torch.autograd.grad(softmax(leaf, 1), leaf, y)
    assert torch.equal(gradients[0].signbit(), gradients[1].signbit())


def test_gradient_of_a_group_norm_without_elements() -> None:
    """That of the weight is NaN: a sum of nothing times an unknown scale."""
    x, weight = torch.randn(2, 6, 0, requires_grad=True), torch.ones(6, requires_grad=True)
    gradients = []
    with config.patch(raise_on_error=True):
        for norm in (F.group_norm, capture.compile(F.group_norm)):
            gradients.append(torch.autograd.grad(norm(x, 3, weight), (x, weight), torch.ones(2, 6, 0)))
    torch.testing.assert_close(gradients[1], gradients[0], equal_nan=True)


@pytest.mark.parametrize("dynamic", [False, True])
def test_batch_norm_of_ints_raises_as_in_eager(dynamic: bool) -> None:
    x = torch.arange(24).reshape(4, 6)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        capture.compile(lambda x: F.batch_norm(x, None, None, training=True), dynamic=dynamic)(x)
