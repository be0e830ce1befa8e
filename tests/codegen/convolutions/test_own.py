"""Convolutions by code of our own: which are, and results, gradients and strides as in eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import capture
from codegen.convolutions import own
from tests.codegen.convolutions.test_channels_last import checked  # noqa: F401

pytest.importorskip("_capture")
pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture.config, "raise_on_error", True)


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The nodes in whose place our operators stand."""
    nodes: list[Any] = []
    replace = own.Own.replace

    def noted(self: own.Own) -> None:
        nodes.append(self.node)
        replace(self)

    monkeypatch.setattr(own.Own, "replace", noted)
    return nodes


def compare(net: nn.Module, x: torch.Tensor) -> None:
    """Twice: the second time with gradients to add to."""
    twin, other = copy.deepcopy(net), x.detach().clone().requires_grad_()
    x = x.requires_grad_()
    fast = capture.compile(twin)
    for _ in range(2):
        expected, found = net(x), fast(other)
        assert found.stride() == expected.stride()
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        expected.square().sum().backward()
        found.square().sum().backward()
        pairs = zip((x, *net.parameters()), (other, *twin.parameters()), strict=True)
        for theirs, ours in pairs:
            assert ours.grad.stride() == theirs.grad.stride()
            torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-3, atol=1e-4 * theirs.grad.abs().max())


@pytest.mark.parametrize(
    "net, shape",
    [
        (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 3, 2)), (2, 3, 11, 9)),
        (
            nn.Sequential(nn.Conv2d(3, 6, 4, 2, 1, bias=False), nn.ConvTranspose2d(6, 4, 4, 2, 1)),
            (3, 3, 16, 16),
        ),
        (nn.ConvTranspose2d(5, 3, 3, stride=3, output_padding=2, dilation=2), (2, 5, 4, 6)),
        (nn.Sequential(nn.Conv1d(4, 7, 5, padding=2), nn.GELU(), nn.ConvTranspose1d(7, 2, 4, 2)), (2, 4, 33)),
        (nn.Conv2d(8, 24, 3, groups=2), (2, 8, 9, 9)),
        (nn.Sequential(nn.Conv2d(4, 8, 1), nn.ConvTranspose2d(8, 8, 3, 2, groups=2)), (2, 4, 6, 6)),
        (nn.Conv2d(4, 4, 3, padding="same", padding_mode="circular"), (1, 4, 8, 8)),
        (nn.Conv2d(64, 64, 3), (1, 64, 55, 55)),  # large, with few weights
    ],
    ids=str,
)
def test_as_in_eager(replaced: list[Any], net: nn.Module, shape: tuple[int, ...]) -> None:
    compare(net, torch.randn(shape))
    assert replaced


@pytest.mark.parametrize(
    "net, x",
    [
        (nn.Conv2d(4, 4, 3, groups=4), torch.randn(2, 4, 8, 8)),
        (nn.Conv2d(4, 4, 3).double(), torch.randn(2, 4, 8, 8, dtype=torch.float64)),
        (nn.Conv2d(4, 4, 3), torch.randn(2, 4, 8, 8).to(memory_format=torch.channels_last)),
        (nn.Conv3d(4, 4, 3), torch.randn(2, 4, 8, 8, 8)),
        (nn.Conv2d(4, 4, 3), torch.randn(0, 4, 8, 8)),
        (nn.Conv2d(256, 128, 3, padding=1), torch.randn(2, 256, 16, 16)),  # large, with many weights
        (nn.Conv2d(256, 256, 3, padding=1), torch.randn(2, 256, 2, 2)),  # many weights for few pixels
        (nn.Conv2d(128, 128, 3, padding=1), torch.randn(32, 128, 2, 2)),  # the same for each of many images
    ],
    ids=["one channel a group", "float64", "channels-last", "volumes", "empty", "large", "pixels", "images"],
)
def test_left_to_torch(replaced: list[Any], net: nn.Module, x: torch.Tensor) -> None:
    expected = net(x)
    torch.testing.assert_close(capture.compile(net)(x), expected)
    assert not replaced


def test_frozen_and_shared_weights(replaced: list[Any]) -> None:
    """A gradient of the image alone; one weight twice; an image in another layout."""
    conv = nn.Conv2d(4, 4, 3, padding=1)
    conv.weight.requires_grad_(False)

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = conv
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(self.conv(x * self.scale).transpose(2, 3).contiguous())

    net, x = Twice(), torch.randn(2, 4, 6, 6)
    twin = copy.deepcopy(net)
    expected, found = net(x), capture.compile(twin)(x)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    expected.sum().backward()
    found.sum().backward()
    torch.testing.assert_close(twin.scale.grad, net.scale.grad, rtol=1e-4, atol=1e-4)
    assert twin.conv.weight.grad is None and replaced


def test_gradients_of_samples(replaced: list[Any]) -> None:
    """vmap makes a group of each sample: the first layer has one channel in each."""
    net = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 8, 3), nn.Flatten(0))
    values = {name: value.detach() for name, value in net.named_parameters()}
    x = torch.randn(5, 1, 10, 10)

    def loss(values: Any, sample: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, values, (sample[None],)).square().sum()

    of_samples = torch.func.vmap(torch.func.grad(loss), (None, 0))
    expected, found = of_samples(values, x), capture.compile(of_samples)(values, x)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-4)
    assert len(replaced) == 5
