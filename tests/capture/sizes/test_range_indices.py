"""A range as an index does not fix the number that it ends at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.counters import counters


def rows(x: torch.Tensor, t: torch.Tensor) -> Any:
    return (x.exp()[range(t.shape[0])] * 2).sum(), x[range(t.shape[0]), t]


def written(x: torch.Tensor, t: torch.Tensor) -> Any:
    y = x * 2
    y[range(len(t)), t] = 1.0
    y[range(t.shape[0])] += 2
    return y


def in_turn(x: torch.Tensor, t: torch.Tensor) -> Any:
    n = t.shape[0]
    return x[:, range(3)], x[None, range(n)], x[range(1, n)]


def outcome(function: Callable[..., Any], n: int) -> Any:
    torch.manual_seed(n)
    x = torch.randn(40, 4, requires_grad=True)
    result = function(x, torch.randint(0, 4, (n,)))
    found = result if isinstance(result, tuple) else (result,)
    return [*found, *torch.autograd.grad(sum(each.square().sum() for each in found), x)]


@pytest.mark.parametrize(("function", "captures"), [(rows, 2), (written, 2), (in_turn, 6)])
def test_lengths(function: Callable[..., Any], captures: int) -> None:
    capture.reset()
    fast = capture.compile(function)
    for n in (5, 7, 9, 4, 11, 20):
        for one, other in zip(outcome(fast, n), outcome(function, n), strict=True):
            torch.testing.assert_close(one, other)
    assert counters["frames"]["captured"] <= captures


def test_numbers_of_any_sign() -> None:
    def first(x: torch.Tensor, n: int) -> torch.Tensor:
        return x[range(n)] * 2

    capture.reset()
    fast, x = capture.compile(first), torch.randn(10, 2)
    for n in (3, 5, 0, -2, 1, 7, -4):
        torch.testing.assert_close(fast(x, n), first(x, n))
    with pytest.raises(IndexError):
        fast(x, 11)
