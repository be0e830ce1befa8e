"""bucketize and searchsorted, equal to eager's: both sides, ties, NaN, numbers that are not sorted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import capture
from tests.opinfo.runner import run_operator

Program = Callable[..., torch.Tensor]
PROGRAMS: dict[str, Program] = {
    "bucketize": lambda values, numbers: torch.bucketize(values, numbers),
    "bucketize right": lambda values, numbers: torch.bucketize(values, numbers, right=True),
    "searchsorted": lambda values, numbers: torch.searchsorted(numbers, values, out_int32=True),
    "searchsorted right": lambda values, numbers: torch.searchsorted(numbers, values, side="right"),
}


def same(program: Program, *args: torch.Tensor) -> None:
    capture.reset()
    expected, found = program(*args), capture.compile(program)(*args)
    assert (found.dtype, found.stride()) == (expected.dtype, expected.stride())
    assert torch.equal(found, expected)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8])
def test_places(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for count in (1, 2, 7, 8, 100):
        numbers = torch.randn(count).mul(4).abs().to(dtype)
        for values in (torch.randn(3, 40).mul(4).abs().to(dtype), torch.ones((), dtype=dtype)):
            same(PROGRAMS[name], values, numbers.sort().values)
            same(PROGRAMS[name], values, numbers)


def test_nan_and_ties() -> None:
    numbers = torch.tensor([-1.0, 0.0, 0.0, 2.0, torch.inf, torch.nan])
    values = torch.tensor([torch.nan, 0.0, -0.0, 2.0, -torch.inf, torch.inf])
    for program in PROGRAMS.values():
        same(program, values, numbers)


def test_rows_of_numbers() -> None:
    numbers = torch.randn(2, 3, 9).sort(-1).values
    same(lambda values, numbers: torch.searchsorted(numbers, values), torch.randn(2, 3, 5), numbers)


def test_numbers_that_are_sorted_by_another_tensor() -> None:
    for numbers in (torch.randn(9), torch.randn(2, 9)):
        sorter = numbers.argsort(-1)
        same(lambda v, n, s: torch.searchsorted(n, v, sorter=s), torch.randn(2, 5), numbers, sorter)


@pytest.mark.parametrize("name", ["bucketize", "searchsorted"])
def test_no_operator_is_called(name: str) -> None:
    result = run_operator(name, "float32", 4)
    assert result.wrong == []
    assert f"aten.{name}.Tensor" not in result.externs
