"""Convolutions of one pixel as matrix products: results, gradients, strides, and which of them change."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import capture
from codegen.compile_fx import compile_fx
from codegen.launch import assembly
from tests.codegen.convolutions.test_channels_last import always, by_onednn, compare, same  # noqa: F401

pytest.importorskip("_capture")
pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch.manual_seed(0)
    monkeypatch.setattr(assembly, "strict", True)
    yield
    capture.reset()


def tail(*layers: nn.Module) -> nn.Module:
    """One result, in a tuple."""
    return Tuple(nn.Sequential(*layers))


class Tuple(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> Any:
        return (self.inner(x),)


def network() -> nn.Module:
    first = nn.Conv2d(3, 16, 1), nn.ReLU(), nn.Conv2d(16, 32, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU()
    last = nn.Conv2d(16, 16, 3), nn.Conv2d(16, 16, 1), nn.Conv2d(16, 5, 1)
    return tail(*first, nn.Conv2d(32, 16, 1), *last)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("training", [True, False])
def test_as_in_eager(batch: int, training: bool) -> None:
    with torch.set_grad_enabled(training):
        compare(network(), torch.randn(batch, 3, 9, 11), training=training)


def test_as_in_eager_with_channels_last_images(always: list[int]) -> None:  # noqa: F811
    compare(network(), torch.randn(4, 3, 9, 11))
    assert max(always) > 5


@pytest.mark.parametrize("shape", [(4, 3, 70), (1, 3, 5), (3, 3, 2, 5, 7), (1, 3, 2, 3, 1), (0, 3, 70)])
def test_sequences_and_volumes(shape: tuple[int, ...]) -> None:
    layer, norm = (nn.Conv1d, nn.Identity()) if len(shape) == 3 else (nn.Conv3d, nn.BatchNorm3d(16))
    compare(tail(layer(3, 16, 1), norm, nn.Tanh(), layer(16, 4, 1, bias=False)), torch.randn(shape))


@pytest.mark.parametrize("strided", [False, True])
def test_other_strides(strided: bool) -> None:
    """Of the image, and of the gradient that comes in."""
    net = nn.Sequential(nn.Conv2d(8, 16, 1), nn.ReLU(), nn.Conv2d(16, 4, 1))
    twin, found = copy.deepcopy(net), []
    tangent = torch.randn(4, 10, 10, 4).permute(0, 3, 1, 2) if strided else torch.ones(1).expand(4, 4, 10, 10)
    for function in (net, capture.compile(twin)):
        wide = torch.linspace(-1, 1, 4 * 10 * 10 * 8).view(4, 10, 10, 8).requires_grad_()
        function(wide[:, ::1].transpose(1, 3)).backward(tangent)
        found.append(wide.grad)
    same(*found)
    for ours, theirs in zip(twin.parameters(), net.parameters(), strict=True):
        same(ours.grad, theirs.grad)


def calls(layer: nn.Module, *shape: int) -> list[str]:
    with torch.no_grad():
        graph: Any = compile_fx(torch.fx.symbolic_trace(tail(nn.Tanh(), layer)), [torch.randn(shape)])
    return [name.split(".")[1] for name in graph.extern_calls]


@pytest.mark.parametrize(
    "layer, shape, changes",
    [
        (nn.Conv2d(16, 32, 1), (4, 16, 12, 12), True),
        (nn.Conv2d(16, 32, 1), (1, 16, 3, 3), True),
        (nn.Conv1d(16, 32, 1), (4, 16, 100), True),
        (nn.Conv3d(16, 32, 1), (4, 16, 4, 5, 6), True),
        (nn.Conv1d(128, 64, 1), (4, 128, 16), False),  # few pixels
        (nn.Conv1d(16, 32, 1, padding=1), (4, 16, 100), False),
        (nn.Conv1d(16, 32, 3), (4, 16, 100), False),
        (nn.Conv2d(128, 64, 1), (4, 128, 4, 4), False),  # few pixels
        (nn.Conv2d(16, 32, 1, stride=2), (4, 16, 12, 12), False),
        (nn.Conv2d(16, 32, 1, padding=1), (4, 16, 12, 12), False),
        (nn.Conv2d(16, 32, 1, groups=2), (4, 16, 12, 12), False),
        (nn.ConvTranspose2d(16, 32, 1), (4, 16, 12, 12), False),
        (nn.Conv2d(16, 32, 3), (4, 16, 12, 12), False),
    ],
    ids=str,
)
def test_which_change(layer: nn.Module, shape: tuple[int, ...], changes: bool) -> None:
    assert ("convolution" not in calls(layer, *shape)) is changes
