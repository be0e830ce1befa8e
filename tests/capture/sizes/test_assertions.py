"""Assertions in graphs that can't run twice: they write to inputs, or draw numbers. PYTEST_DONT_REWRITE"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters

GOOD, BAD = torch.tensor([1.0, 2.0, 0.5]), torch.tensor([1.0, -2.0, 0.5])


def asserts_between_writes(x: torch.Tensor, rate: torch.Tensor) -> Any:
    x.add_(1)
    assert (rate > 0).all(), "negative"
    x.mul_(2)
    return x + rate


def writes_to_the_condition(x: torch.Tensor, rate: torch.Tensor) -> Any:
    positive = (rate > 0).all()
    assert positive
    positive.fill_(False)
    return x * 2, positive


def adds_a_sample(x: torch.Tensor, rate: torch.Tensor) -> Any:
    x += torch.distributions.Exponential(rate, validate_args=True).sample()
    return x * 2


def draws_twice(x: torch.Tensor, rate: torch.Tensor) -> Any:
    noise = torch.rand(3)
    return noise + torch.distributions.Exponential(rate, validate_args=True).rsample() * x


def draws_with_gradients(x: torch.Tensor, rate: torch.Tensor) -> Any:
    weight = (x * rate.abs()).requires_grad_()
    return draws_twice(weight, rate).detach()


def outcome(function: Callable[..., Any], rate: torch.Tensor) -> Any:
    """The result or the error, what was written, and the number that the generator gives next."""
    torch.manual_seed(0)
    x = torch.ones(3)
    try:
        result = str(function(x, rate))
    except (AssertionError, ValueError) as error:
        result = type(error).__name__ + str(error)[:20]
    return result, x.tolist(), torch.rand(1).item()


#: the function, and the graph breaks in native code
FUNCTIONS: dict[Callable[..., Any], int] = {
    asserts_between_writes: 0,
    writes_to_the_condition: 0,
    adds_a_sample: 0,
    draws_twice: 0,
    draws_with_gradients: 0,
}


@pytest.mark.parametrize("backend", ["llvm", "eager"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_assertions_where_graphs_do_not_run_twice(function: Callable[..., Any], backend: str) -> None:
    capture.reset()
    with config.patch(when="first", raise_on_error=True):
        compiled = capture.compile(function, backend=backend)
        assert outcome(compiled, GOOD) == outcome(function, GOOD)
        breaks = sum(counters["graph_breaks"].values())
        for rate in (GOOD, BAD, GOOD, BAD):
            assert outcome(compiled, rate) == outcome(function, rate)
    if backend == "llvm":
        assert breaks == FUNCTIONS[function]


def test_indices_are_checked_after_draws_of_another_backend() -> None:
    def function(x: torch.Tensor, i: torch.Tensor) -> Any:
        return torch.rand(3) + x[i]

    def next_number(called: Callable[..., Any]) -> float:
        torch.manual_seed(0)
        with pytest.raises(IndexError):
            called(torch.ones(3), torch.tensor([0, 1, 3]))
        return torch.rand(1).item()

    with config.patch(when="first", raise_on_error=True):
        compiled = capture.compile(function, backend="eager")
        compiled(torch.ones(3), torch.tensor([0, 1, 2]))
        assert next_number(compiled) == next_number(function)
