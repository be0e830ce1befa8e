"""Operators on tensors whose sizes do not fit each other: eager's errors, and no reads beyond a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture

Shape = tuple[int, ...]
Program = Callable[..., torch.Tensor]


def places(*shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.int64)


def index_reduce(reduce: str) -> Program:
    return lambda x, i, s: x.index_reduce(0, i, s, reduce)


CASES: dict[str, tuple[Program, list[Any], list[Any]]] = {  # arguments that fit, and that do not
    "gather": (lambda x, i: x.gather(0, i), [(10, 5), places(5, 5)], [(10, 2), places(5, 5)]),
    "gather from nothing": (lambda x, i: x.gather(0, i), [(10, 5), places(5, 5)], [(10, 0), places(5, 5)]),
    "gather -1": (lambda x, i: x.gather(-1, i), [(5, 10), places(5, 5)], [(2, 10), places(5, 5)]),
    "index_reduce": (index_reduce("amax"), [(5, 6), places(4), (4, 6)], [(5, 6), places(7), (4, 6)]),
    "index_reduce rows": (index_reduce("prod"), [(5, 6), places(4), (4, 6)], [(5, 3), places(4), (4, 6)]),
    "index_reduce nothing": (index_reduce("amin"), [(5, 6), places(4), (4, 6)], [(5, 0), places(9), (9, 6)]),
    "index_copy": (
        lambda x, i, s: x.index_copy(0, i, s),
        [(5, 6), places(4), (4, 6)],
        [(5, 6), places(7), (3, 6)],
    ),
    "put": (lambda x, i, s: x.put(i, s), [(5, 6), places(4), (4,)], [(5, 6), places(7), (3,)]),
    "bias": (
        lambda x, w, b: F.conv2d(x, w, b),
        [(1, 3, 8, 8), (4, 3, 3, 3), (4,)],
        [(1, 3, 8, 8), (4, 3, 3, 3), (5,)],
    ),
}


def outcome(program: Program, given: list[Any]) -> Any:
    try:
        return program(*(torch.ones(one) if isinstance(one, tuple) else one for one in given))
    except (RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dynamic", [None, True])
def test_as_eager(name: str, dynamic: bool | None) -> None:
    program, fitting, others = CASES[name]
    expected = outcome(program, others)
    assert isinstance(expected, str)
    compiled = capture.compile(program, dynamic=dynamic)
    torch.testing.assert_close(outcome(compiled, fitting), outcome(program, fitting))
    assert outcome(compiled, others) == expected
    capture.reset()
    assert outcome(compiled, others) == expected
