"""Circular padding against eager: values, strides, gradients, and the cases that torch computes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3, 8), (1, 2)),
    ((2, 3, 8), (0, 8)),
    ((2, 3, 4, 5), (1, 1, 1, 1)),
    ((2, 3, 4, 5), (5, 0, 0, 4)),
    ((2, 1, 4, 5), (1, 2, 3, 4)),
    ((1, 3, 1, 1), (1, 1, 1, 0)),
    ((2, 3, 4, 5), (0, 0, 2, 0)),
    ((2, 3, 4, 5), (0, 0, 0, 0)),
    ((2, 3, 4, 5), (-1, 2, 1, 1)),
    ((2, 3, 4, 5, 6), (1, 1, 2, 0, 0, 3)),
    ((3, 8), (1, 2)),
    ((0, 3, 8), (1, 2)),
]


def padded(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    return F.pad(x, sizes, mode="circular")


@pytest.mark.parametrize(("shape", "sizes"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.bfloat16])
@pytest.mark.parametrize("channels_last", [False, True])
def test_values(
    shape: tuple[int, ...], sizes: tuple[int, ...], dtype: torch.dtype, channels_last: bool
) -> None:
    capture.reset()
    x = (torch.arange(torch.Size(shape).numel()) % 7).reshape(shape).to(dtype)
    if channels_last and x.dim() == 4:
        x = x.to(memory_format=torch.channels_last)
    ours, theirs = capture.compile(padded)(x, sizes), padded(x, sizes)
    assert torch.equal(ours, theirs) and ours.stride() == theirs.stride()
    if not any(sizes):
        ours.fill_(1)  # a separate tensor, as in eager
        assert torch.equal(theirs, padded(x, sizes))


@pytest.mark.parametrize(("shape", "sizes"), SHAPES[:-2])
def test_gradients(shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    capture.reset()
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    seed = torch.randn_like(padded(x, sizes))
    capture.compile(padded)(ours, sizes).backward(seed)
    padded(theirs, sizes).backward(seed)
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("sizes", [(9, 0), (1,), (1, 1, 1, 1, 1, 1)])
def test_errors_are_eagers(sizes: tuple[int, ...]) -> None:
    x: Any = torch.ones(2, 3, 8)
    with pytest.raises(RuntimeError) as expected:
        padded(x, sizes)
    with pytest.raises(RuntimeError) as got:
        capture.compile(padded)(x, sizes)
    assert str(got.value) == str(expected.value)


def test_other_modes_are_torchs() -> None:
    def function(x: Tensor) -> Any:
        return (
            F.pad(x, (1, 2)),
            F.pad(x, (1, 2), value=3.0),
            F.pad(x, (1, 1), mode="reflect"),
            F.pad(x, pad=(2, 1), mode="replicate"),
        )

    x = torch.randn(2, 3, 8)
    for got, expected in zip(capture.compile(function, fullgraph=True)(x), function(x), strict=True):
        assert torch.equal(got, expected)


def test_a_convolution() -> None:
    layer = torch.nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular")
    x = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(capture.compile(layer)(x), layer(x))
