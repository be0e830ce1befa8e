"""Operations that fail, or can't run on symbols, beside numbers that change: eager against captured, and how
often a function is captured.

Only the numbers that the operation takes become constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.report.counters import counters
from capture.sizes.policy import VALUES_OF_SETTINGS, Seen, SizePolicy
from guards.sources import LocalSource
from tests.capture.test_cases import outcome

CALLS = 14
pytestmark = pytest.mark.usefixtures("fresh")
X = torch.arange(16.0).reshape(4, 4)


def check(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    captured = capture.compile(function)
    for args in calls:
        expected, got = outcome(function, args), outcome(captured, args)
        assert got[1:] == expected[1:], (args, got, expected)
        torch.testing.assert_close(got[0], expected[0])


def product(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * 2 + n
    return y @ torch.ones(3, 3)


def product_beside_a_float(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * 2 + n * 0.5
    return y @ torch.ones(3, 3)


def caught(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * 2 + n
    try:
        return F.linear(y, torch.ones(3, 3))
    except RuntimeError as error:
        return y + len(str(error))


def view(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * 2 + n
    return y.view(3, 5)


def convolution(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * 2 + n
    return F.conv1d(y, torch.ones(3, 3, 3))


def in_callee(x: torch.Tensor, n: int) -> torch.Tensor:
    return product(x + 1, n) * 2


@pytest.mark.parametrize(
    "function",
    [product, product_beside_a_float, caught, view, convolution, in_callee],
    ids=lambda f: f.__name__,
)
def test_a_counter_beside_an_operation_that_fails(function: Callable[..., Any]) -> None:
    """The first capture takes the counter for a constant, the second one for a symbol. There is no other."""
    check(function, [(X, n) for n in range(CALLS)])
    assert counters["recompiles"][function.__name__] == 1


def test_a_counter_that_the_function_changes_itself() -> None:
    class Steps:
        def __init__(self) -> None:
            self.count = 0

        def step(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            y = x * 2
            return y @ torch.ones(3, 3)

    eager, other = Steps(), Steps()
    captured = capture.compile(other.step)
    for _ in range(CALLS):
        assert outcome(captured, (X,))[1:] == outcome(eager.step, (X,))[1:]
        assert other.count == eager.count
    assert not counters["recompiles"]


def test_sizes_that_change_beside_an_operation_that_fails() -> None:
    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        return (x * n) @ torch.ones(3, 3)

    check(program, [(torch.ones(2 + n % 2, 4), n) for n in range(CALLS)])
    assert counters["recompiles"][program.__qualname__] <= 4


def test_an_operation_that_fails_for_its_number() -> None:
    """After a few values the graph breaks in front of it."""

    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        y = x * 2
        return y.view(n + 3, 5)

    check(program, [(X, n) for n in range(CALLS)])
    assert counters["recompiles"][program.__qualname__] == VALUES_OF_SETTINGS


def test_an_operation_that_fails_for_some_numbers() -> None:
    def program(x: torch.Tensor, n: int, count: int) -> torch.Tensor:
        y = x * 2 + count
        return y.view(n, -1) + 1

    check(program, [(X, n, count) for count, n in enumerate((4, 2, 5, 8, 3, 16, 4, 5, 7, 2, 1, 5, 3))])


def test_only_what_the_operation_takes_becomes_a_constant() -> None:
    """Arrays of NumPy have no sizes that change. The number beside them stays a symbol."""

    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        return torch.from_numpy((x * 2).numpy() + 1) * n

    check(program, [(torch.ones(2 + n % 3), n) for n in range(CALLS)])
    assert counters["recompiles"][program.__qualname__] <= 4
    assert not counters["graph_breaks"]


def test_gradients_depend_on_symbols_between_their_operands() -> None:
    def program(w: torch.Tensor, x: torch.Tensor, n: int) -> torch.Tensor:
        loss = ((w * x).sum() * n).exp().mean()
        (gradient,) = torch.autograd.grad(loss, w)
        return gradient + 1

    w = torch.full((1,), 0.1, requires_grad=True)
    check(program, [(w, torch.ones(2 + n % 4) / 8, n) for n in range(CALLS)])


def test_steps_of_a_policy() -> None:
    """Place by place; in the end there is no symbol at all."""
    seen = Seen(ints={"a": {1, 2}, "b": {1, 2}})
    policy = SizePolicy(None, seen)

    def is_symbol(name: str) -> bool:
        return policy.is_dynamic_int(1, LocalSource(name), lambda source: False)

    assert is_symbol("a") and is_symbol("b")
    policy = policy.as_numbers(frozenset({"a"}))
    assert not is_symbol("a") and is_symbol("b") and not policy.numbers
    policy = policy.as_numbers(frozenset({"a"}))
    assert not is_symbol("b") and policy.numbers
    policy = SizePolicy(None, seen).as_numbers(None)
    assert policy.numbers


def test_sizes_at_fixed_places() -> None:
    x, source = torch.ones(4, 4), LocalSource("x")
    seen = Seen(sizes={"x": [-1, -1]}, strides={"x": [-1, 1]})
    policy = SizePolicy(None, seen).as_numbers(frozenset({"x.size(1)", "x.stride(0)"}))
    assert list(policy.dynamic_dims(x, source, lambda source: False)) == [0]
    assert policy.changed_strides(x, source, lambda source: False) == []
