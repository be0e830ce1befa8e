"""Frames that do the same in each grad mode have one entry for both; all others have one for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture import counters

WEIGHT = torch.arange(3.0).requires_grad_()


def branches(x):
    return x.sin() if torch.is_grad_enabled() else x.cos()


def indirect(x):
    return torch.autograd.grad_mode.no_grad().__class__.__name__ + str(torch.is_grad_enabled()), x + 1


def under_no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y + 1


def with_a_leaf_inside(x):
    leaf = (x + 1).detach().requires_grad_()
    return (leaf * leaf).detach()


def looks_at_a_gradient(x):
    return x + 1 if (WEIGHT * 1).requires_grad else x - 1


def written(x):
    x.add_(1)
    return x * 2


def appended(x):
    found = []
    found.append(x * 2)
    return found


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x * (2 if torch.is_grad_enabled() else 1)

    @staticmethod
    def backward(ctx, grad):
        return grad


#: (function, whether one entry does)
FUNCTIONS: list[tuple[Callable[..., Any], bool]] = [
    (lambda x: x.sin() + 1, True),
    (lambda x: (x.sum(), x.sort()[1], 3), True),
    (appended, True),
    (lambda x: torch.zeros(3) + x.shape[0], True),
    (lambda x: (x, x + 1), True),
    (branches, False),
    (indirect, False),
    (under_no_grad, False),
    (with_a_leaf_inside, False),
    (looks_at_a_gradient, False),
    (written, False),
    (lambda x: x.view(3, 1), False),
    (lambda x: (x + 1)[1:], False),
    (lambda x: (x + 1).detach(), True),
    (lambda x: x * WEIGHT, False),
    (lambda x: torch.zeros(3, requires_grad=True), False),
    (lambda x: (x + 1).requires_grad_(), False),
    (lambda x: Square.apply(x), False),
    (lambda x: torch.func.grad(lambda y: (y * y).sum())(x), True),
]


def numbers(tensor: torch.Tensor) -> Any:
    return tensor.detach().double().round(decimals=4).tolist()


def facts(value: Any) -> Any:
    """What the program sees of a result, also of a later write in grad mode."""
    if isinstance(value, (tuple, list)):
        return [facts(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    seen = value.requires_grad, value.is_leaf, value._is_view(), value._version, numbers(value)
    if not value.is_floating_point():
        return seen
    with torch.enable_grad():
        try:
            value.mul_(torch.ones(1, requires_grad=True))
        except RuntimeError as error:
            return seen, str(error)
        return seen, value.requires_grad, numbers(value)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_both_modes(number, first, backend):
    capture.reset()
    function, is_shared = FUNCTIONS[number]
    fast = capture.compile(function, backend=backend)
    for mode in (first, not first, first, not first):
        with torch.set_grad_enabled(mode):
            ours, theirs = fast(torch.arange(3.0)), function(torch.arange(3.0))
        assert facts(ours) == facts(theirs)
    assert is_shared is not any(counters["recompiles"].values())


@pytest.mark.parametrize("first", [True, False])
def test_an_argument_with_a_gradient_is_told_apart(first):
    fast = capture.compile(lambda x: x.sin())
    plain, leaf = torch.ones(3), torch.ones(3, requires_grad=True)
    for mode in (first, not first):
        for x in (plain, leaf, plain, leaf):
            with torch.set_grad_enabled(mode):
                assert fast(x).requires_grad == (x.requires_grad and mode)


def test_inference_mode_is_told_apart():
    fast = capture.compile(lambda x: x + 1)
    x = torch.ones(3)
    for block in (torch.enable_grad, torch.no_grad, torch.inference_mode, torch.enable_grad):
        with block():
            assert fast(x).is_inference() == (x + 1).is_inference()
    assert sum(counters["recompiles"].values()) == 1


def test_inference_tensors_that_require_grad_are_left_to_python():
    """Outside of the mode, none can be made."""
    with torch.inference_mode():
        leaf = torch.ones(3).requires_grad_()
    fast = capture.compile(lambda x: x * 2)
    with capture.config.patch(raise_on_error=True):
        assert torch.equal(fast(leaf), leaf * 2)
        with torch.inference_mode():
            assert torch.equal(fast(leaf), leaf * 2)


def test_another_backend_has_a_graph_for_each_mode():
    modes = []

    def backend(module, inputs):
        modes.append(torch.is_grad_enabled())
        return module

    fast = capture.compile(lambda x: x + 1, backend=backend)
    for mode in (True, False, True):
        with torch.set_grad_enabled(mode):
            fast(torch.ones(3))
    assert modes == [True, False]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("first", [True, False])
def test_python_runs_a_frame_whose_graph_fails_in_the_mode_of_the_call(first, backend):
    modes = []

    def f(x, i):
        y = x.sin()[i.long()] * 2
        return y.clone()

    def caller(x, i):
        try:
            return fast(x, i)
        finally:
            modes.append(torch.is_grad_enabled())

    fast = capture.compile(f, backend=backend)
    x = torch.arange(3.0)
    for mode in (first, not first):
        with torch.set_grad_enabled(mode):
            for place in (1, 7, 2):
                i = torch.tensor([place])
                if place == 7:
                    with pytest.raises(IndexError):
                        caller(x, i)
                else:
                    torch.testing.assert_close(caller(x, i), f(x, i))
            assert modes == [mode] * 3
            modes.clear()
