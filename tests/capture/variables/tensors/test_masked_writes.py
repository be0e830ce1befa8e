"""`x[mask] = values`: how many elements are written is known when the graph runs. Errors are as in eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture

MASK = torch.tensor([True, False, True, True, False, False, True, True])


def rows(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """As a replay buffer's targets: zero where the episode has ended."""
    targets = torch.zeros(8)
    with torch.no_grad():
        targets[mask] = values * 2
    return targets + x


def second_dim(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    table = x.repeat(3, 1)
    table[:, mask] = values
    return table * 2


def leading_dim(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    table = x[:, None].repeat(1, 3)
    table[mask] = values[:, None]
    return table * 2


def through_a_view(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    table = x[:, None].repeat(1, 3)
    table[:, 1][mask] = values
    return table + 1


def added(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return x.clone().index_put_((mask,), values, accumulate=True) * 2


WRITES = (rows, second_dim, leading_dim, through_a_view, added)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_all_masks_of_as_many_values_have_one_graph(write: Callable[..., torch.Tensor]) -> None:
    explained = capture.explain(write)(torch.ones(8), MASK, torch.arange(5.0))
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)
    compiled = capture.compile(write)
    for mask in (MASK, MASK.flip(0), MASK.roll(1)):
        args = torch.randn(8), mask, torch.randn(5)
        assert torch.equal(compiled(*args), write(*args))
    for mask in (~MASK, torch.ones(8).bool(), torch.zeros(8).bool()):
        args = torch.randn(8), mask, torch.randn(int(mask.sum()))
        assert torch.equal(compiled(*args), write(*args))
    one_for_all = torch.randn(8), MASK, torch.randn(1)
    assert torch.equal(compiled(*one_for_all), write(*one_for_all))


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (RuntimeError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize(
    "mask, values", [(MASK, 3), (MASK, 0), (~MASK, 5), (MASK[:7], 5), (torch.ones(8, 2).bool(), 5)]
)
def test_values_that_do_not_fit_raise_what_eager_raises(
    write: Callable[..., torch.Tensor], mask: torch.Tensor, values: int
) -> None:
    compiled = capture.compile(write)
    compiled(torch.ones(8), MASK, torch.arange(5.0))
    args = torch.randn(8), mask, torch.randn(values)
    found, expected = outcome(compiled, *args), outcome(write, *args)
    assert torch.equal(found, expected) if isinstance(expected, torch.Tensor) else found == expected


def test_what_was_done_before_the_error_is_done() -> None:
    def write(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor, log: list[str]) -> torch.Tensor:
        x.add_(1)
        log.append("before")
        y = torch.zeros(8)
        y[mask] = values
        log.append("after")
        x.mul_(2)
        return y

    compiled = capture.compile(write)
    for values in (5, 3, 5):
        found = torch.ones(8), list[str]()
        expected = torch.ones(8), list[str]()
        results = [
            outcome(function, x, MASK, torch.arange(float(values)), log)
            for function, (x, log) in ((compiled, found), (write, expected))
        ]
        assert torch.equal(found[0], expected[0]) and found[1] == expected[1]
        assert str(results[0]) == str(results[1])


def test_gradients_of_the_values_and_of_what_is_written_to() -> None:
    def loss(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        y = x * 3
        y[mask] = values.exp()
        return (y * y).sum()

    compiled = capture.compile(loss)
    for mask, count in ((MASK, 5), (~MASK, 3), (MASK, 1)):
        start = torch.randn(8), torch.randn(count)
        found, expected = ([one.clone().requires_grad_() for one in start] for _ in range(2))
        compiled(found[0], mask, found[1]).backward()
        loss(expected[0], mask, expected[1]).backward()
        for one, other in zip(found, expected):
            torch.testing.assert_close(one.grad, other.grad)
