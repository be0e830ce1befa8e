"""Numbers that change beside tensors of dtypes that can't hold all of them: eager refuses some of them."""

from __future__ import annotations

import pytest
import torch

import capture
from capture.report.config import config
from tests.capture.test_cases import outcome

FUNCTIONS = {
    "full_like": lambda x, n: torch.full_like(x, n),
    "full": lambda x, n: x.new_full((3,), n),
    "where": lambda x, n: torch.where(x > 1, x, n),
    "masked_fill": lambda x, n: x.masked_fill(x > 1, n),
    "clamp": lambda x, n: x.clamp(max=n),
    "a sum": lambda x, n: x + n,
    "a product": lambda x, n: n * x,
    "a power": lambda x, n: x**n,
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "a comparison": lambda x, n: x < n,
}


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.float16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ints(name: str, dtype: torch.dtype) -> None:
    """Within the dtype they are symbols."""
    function = FUNCTIONS[name]
    captured = capture.compile(function, dynamic=True)
    x = torch.arange(5).to(dtype)
    with config.patch(raise_on_error=True):
        for n in (2, 3, 5, 200, 7, 300, 40_000, 70_000, 2**31, 2**33 + 1, 9):
            assert str(outcome(captured, (x, n))) == str(outcome(function, (x, n)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["full_like", "full", "where", "masked_fill", "clamp", "a power"])
def test_floats(name: str, dtype: torch.dtype) -> None:
    function = FUNCTIONS[name]
    captured = capture.compile(function, dynamic=True)
    x = torch.arange(5).to(dtype)
    with config.patch(raise_on_error=True):
        for s in (2.0, 3.5, 200.0, -2.5, 1e5, 1e30, float("nan"), float("inf"), 0.5):
            assert str(outcome(captured, (x, s))) == str(outcome(function, (x, s)))


def test_numbers_of_several_frames() -> None:
    """What eager takes in one frame says nothing of another number in the next one."""
    for n in (2, 200, 3, 1000):
        function = eval(f"lambda x: x.clamp(max={n})")
        x = torch.ones(4, dtype=torch.int8)
        assert str(outcome(capture.compile(function), (x,))) == str(outcome(function, (x,)))
