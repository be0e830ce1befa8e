"""`x.detach_()` of results, inputs, views, and tensors with views: values, metadata and errors of eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture


def metadata(x):
    y = x * 2
    y.add_(1).detach_()
    return y.requires_grad, y.grad_fn is None, y.is_leaf, y._is_view(), y._base is None, y._version, y


def used_before(x):
    y = x * 2
    z = y + 1
    y.detach_().add_(1)
    return (z.sum() + y.sum()).detach(), y._version


def a_view(x):
    return (x * 2).view(-1).detach_()


def a_part(x):
    first, _ = (x * 2).split(1)
    return first.detach_()


def with_a_view(x):
    y = x * 2
    row = y[0]
    y.detach_()
    row.add_(1)
    return y, row.requires_grad


def viewed_later(x):
    y = (x * 2).detach_()
    row = y[0]
    row.mul_(3)
    return y, row._base is y, row._is_view()


def an_input(x):
    x.detach_()
    return x.requires_grad, x * 2


PROGRAMS = (metadata, used_before, a_view, a_part, with_a_view, viewed_later, an_input)
INPUTS: dict[str, Callable[[], torch.Tensor]] = {
    "plain": lambda: torch.ones(2, 3),
    "leaf": lambda: torch.ones(2, 3, requires_grad=True),
    "result": lambda: torch.ones(2, 3, requires_grad=True) * 1,
}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_eager(program: Callable[..., Any], name: str, backend: str) -> None:
    fast = capture.compile(program, backend=backend)
    expected = outcome(program, INPUTS[name]())
    assert [outcome(fast, INPUTS[name]()) for _ in range(2)] == [expected, expected]


def outcome(function: Callable[..., Any], x: torch.Tensor) -> str:
    try:
        found = function(x)
    except RuntimeError as error:
        return f"{type(error)} {error}"
    return repr(found) + repr(x.requires_grad)
