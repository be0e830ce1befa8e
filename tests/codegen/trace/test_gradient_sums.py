"""Autograd adds the gradients of a tensor that is read twice in place: the first one decides the strides."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import capture

CHANNELS = 4
IMAGE = torch.randn(2, CHANNELS, 5, 5).contiguous(memory_format=torch.channels_last)


def convolved(weight):
    """The gradient of the weight has channels-last strides: 1 for the dim of size 1."""
    return F.conv2d(IMAGE, weight, None, 1, 1, 1, CHANNELS)


class Crossed(torch.autograd.Function):
    """Adds gradients itself, out of place."""

    @staticmethod
    def forward(ctx, left, right):
        return left * 2, right * 3

    @staticmethod
    def backward(ctx, left, right):
        return left + right, right


def crossed(weight):
    left, right = Crossed.apply(weight, weight)
    return convolved(left) * convolved(right)


def given_to_both(weight):
    return convolved(weight + weight)


def added_behind(weight):
    twin = weight * 1
    return convolved(twin + weight) + convolved(weight)


def asked_inside(weight):
    loss = (convolved(weight) * convolved(weight)).sum()
    return torch.autograd.grad(loss, weight, create_graph=True)[0]


PROGRAMS = {
    "twice": lambda weight: convolved(weight) + convolved(weight),
    "three times": lambda weight: convolved(weight) + convolved(weight) + convolved(weight),
    "two results": lambda weight: (convolved(weight), convolved(weight)),
    "behind an addition": lambda weight: convolved(weight + 0.0) + convolved(weight + 0.0),
    "views": lambda weight: convolved(weight.view_as(weight)) + convolved(weight.view_as(weight)),
    "a view first": lambda weight: convolved(weight) + convolved(weight.squeeze(1).unsqueeze(1)),
    "a view behind": lambda weight: convolved(weight.squeeze(1).unsqueeze(1)) + convolved(weight),
    "given to both": given_to_both,
    "added behind": added_behind,
    "a gate": lambda weight: convolved(weight * weight.sigmoid()),
    "a function's own sum": crossed,
    "gradients in the graph": asked_inside,
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_sums_of_gradients_have_eagers_strides(program, dynamic: bool) -> None:
    weight = torch.randn(CHANNELS, 1, 3, 3, requires_grad=True)
    found = []
    for run in (program, capture.compile(program, dynamic=dynamic)):
        results = run(weight)
        results = results if isinstance(results, tuple) else (results,)
        found.append(torch.autograd.grad([r.square().sum() for r in results], weight)[0])
    torch.testing.assert_close(found[1], found[0])
    assert found[1].stride() == found[0].stride()


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_accumulated_in_a_parameter_has_eagers_strides(dynamic: bool) -> None:
    """As in a network that shares a depthwise convolution between its blocks."""
    layer = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS)

    def blocks(image):
        return layer(layer(image) + image)

    strides = []
    for run in (blocks, capture.compile(blocks, dynamic=dynamic)):
        layer.zero_grad()
        run(IMAGE).square().sum().backward()
        strides.append([parameter.grad.stride() for parameter in layer.parameters()])
    assert strides[0] == strides[1]
    assert strides[0][0] == (9, 1, 3, 1)


LAYOUTS = {
    "rows": lambda tensor: tensor.contiguous(),
    "channels last": lambda tensor: tensor.movedim(1, -1).contiguous().movedim(-1, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("of_weight", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("groups", [1, 2, CHANNELS])
@pytest.mark.parametrize("name", [f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)])
def test_gradients_of_convolutions_have_eagers_strides(name: str, groups: int, of_weight, layout) -> None:
    rank, operator = int(name[-2]), getattr(F, name)
    sizes = (CHANNELS, 4 // groups) if "transpose" in name else (4, CHANNELS // groups)
    image = layout(torch.randn(2, CHANNELS, *[5] * rank)).requires_grad_()
    weight = of_weight(torch.randn(*sizes, *[3] * rank)).requires_grad_()
    leaves = [image, weight, torch.randn(4, requires_grad=True)]

    def run(image, weight, bias):
        return operator(image, weight, bias, padding=2, dilation=2, groups=groups)

    found = []
    for each in (run, capture.compile(run, dynamic=False)):
        result = each(*leaves)
        tangent = layout(torch.ones_like(result, memory_format=torch.contiguous_format))
        found.append([result.stride(), *(g.stride() for g in torch.autograd.grad(result, leaves, tangent))])
    assert found[0] == found[1]
