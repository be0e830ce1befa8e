"""Numbers of NumPy of the rarer kinds, and ints beside arrays of small ones: what NumPy does with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import capture

NUMBERS: dict[str, tuple[Any, Any]] = {
    kind.__name__: (kind(2), kind(3))
    for kind in (np.complex64, np.uint64, np.uint16, np.longdouble, np.float16)
} | {"bool": (np.True_, np.False_)}
OPERATIONS = {
    "operator": lambda a, i: i + a,
    "function": lambda a, i: np.add(a, i),
    "where": lambda a, i: np.where(a > 2, a, i),
    "full": lambda a, i: np.full(3, i),
    "equal": lambda a, i: a == i,
    "index": lambda a, i: a[i],
}


def outcome(function: Any, *args: Any) -> tuple[Any, ...]:
    try:
        result = function(*args)[1]
    except Exception as error:
        return type(error).__name__, str(error)
    return type(result), result.dtype, result.shape, result.tolist()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers_that_change(name: str, number: str) -> None:
    def program(x: Any, a: Any, i: Any) -> Any:
        return x + 1, OPERATIONS[name](a, i)

    capture.reset()
    fast = capture.compile(program)
    x, a = torch.ones(2), np.arange(6.0).reshape(2, 3)
    for value in (*NUMBERS[number], *NUMBERS[number]):
        assert outcome(fast, x, a, value) == outcome(program, x, a, value)


ORDERS = {
    "less": lambda a, n: a < n,
    "greater": lambda a, n: n > a,
    "function": lambda a, n: np.greater_equal(a, n),
    "of a comparison": lambda a, n: (a < n) < n,
}


@pytest.mark.parametrize("bound", [-1, 3, 300, 2**40])
@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "int64", "float32"])
@pytest.mark.parametrize("name", ORDERS)
def test_orders_beside_ints_of_any_size(name: str, kind: str, bound: int) -> None:
    def program(x: Any, a: Any) -> Any:
        return x + 1, ORDERS[name](a, bound)

    x = torch.ones(2)
    for a in (np.array([1, 100, 3]).astype(kind), getattr(np, kind)(2)):
        capture.reset()
        assert outcome(capture.compile(program), x, a) == outcome(program, x, a)


BOOLS = {
    "bound of a slice": lambda x, i: x[2 : i > 1],
    "beside another index": lambda x, i: x[1, i > 1],
    "value": lambda x, i: torch.full((2,), i > 1),
    "filled in": lambda x, i: x.clone().fill_(i > 1),
    "operand": lambda x, i: torch.mul(x > 0, i > 1),
    "flag": lambda x, i: x.sum(0, keepdim=i > 1),
}


@pytest.mark.parametrize("name", BOOLS)
def test_bools_as_arguments_of_torch(name: str) -> None:
    def program(x: Any, i: Any) -> Any:
        result = BOOLS[name](x, i)
        return x + 1, result.numpy()

    capture.reset()
    fast = capture.compile(program)
    for value in map(np.int64, (0, 1, 2, 3)):
        assert outcome(fast, torch.ones(3, 3), value) == outcome(program, torch.ones(3, 3), value)
