"""Gradients through captured custom autograd functions, and of leaves that get other data.

Each case runs with a backward from its results.
"""

from __future__ import annotations

import pytest
import torch
from torch.utils import _pytree as pytree

import capture
from tests.capture.cases.registry import CASES, Case
from tests.capture.cases.tensors import tensor_data
from tests.capture.cases.torch import autograd_functions

MODULES = (autograd_functions.__name__, tensor_data.__name__)


def recorded(args, function):
    results = pytree.tree_leaves(function(*args))
    return [t for t in results if isinstance(t, torch.Tensor) and t.requires_grad]


def gradients(case: Case, function):
    args = case.args()
    sum((t * t).sum() for t in recorded(args, function)).backward()
    return [t.grad for t in args]


OF_FUNCTIONS = [
    case
    for case in CASES
    if case.function.__module__ == autograd_functions.__name__ and recorded(case.args(), case.function)
]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("case", OF_FUNCTIONS, ids=lambda case: case.function.__name__)
def test_gradients(case, backend):
    expected = gradients(case, case.function)
    assert any(grad is not None for grad in expected)
    captured = capture.compile(case.function, backend=backend)
    for _ in range(2):
        for grad, wanted in zip(gradients(case, captured), expected, strict=True):
            torch.testing.assert_close(grad, wanted)
    capture.reset()


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(2, 3)


class AsItIs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[0], x[1]

    @staticmethod
    def backward(ctx, first, second):
        return torch.stack((first, second))


def written(x):
    flat = Flat.apply(x * 1)
    return flat.mul_(2)


def written_in_part(x):
    flat = Flat.apply(x * 1)
    flat[0] = 3.0
    return flat


def written_as_it_is(x):
    same = AsItIs.apply(x.sin())
    same += 1
    return same


def written_rows(x):
    first, second = Rows.apply(x * 1)
    first.add_(1)
    return first + second


def written_below(x):
    values = x * 1
    flat = Flat.apply(values)
    values.add_(1)
    return flat


def written_without_grad(x):
    flat = Flat.apply(x * 1)
    with torch.no_grad():
        flat.add_(1)
    return flat * 2


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "function",
    [written, written_in_part, written_as_it_is, written_rows, written_below, written_without_grad],
    ids=lambda f: f.__name__,
)
def test_views_of_functions_refuse_writes(function, dynamic):
    def of_a_leaf(run):
        x = torch.ones(2, 3, requires_grad=True)
        with pytest.raises(RuntimeError) as raised:
            run(x).sum().backward()
        return str(raised.value)

    captured = capture.compile(function, dynamic=dynamic)
    assert of_a_leaf(captured) == of_a_leaf(function)
    torch.testing.assert_close(captured(torch.ones(2, 3)), function(torch.ones(2, 3)))
