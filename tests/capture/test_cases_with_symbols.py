"""The cases with every size, int and float as a symbol: the results are eager's, natively too.

`make test` runs a part of the cases, the sweep runs all of them.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from tests.capture.cases.registry import Case
from tests.capture.test_cases import CASES, Counting, outcome, same

EVERY = 16  # one case in so many is fast enough for each run
# They look at the recorder of the operations, a profiler or autograd: kernels are no operations of torch.
NOT_NATIVELY = {
    "torch.contexts.profiler_that_is_read",
    "torch.autograd.grad_fn_name",
    "torch.autograd.checkpointed_reentrant",
}

PARTS = [
    pytest.param(case, marks=() if number % EVERY == 0 else pytest.mark.sweep, id=case.name)
    for number, case in enumerate(CASES)
]


@pytest.fixture(autouse=True)
def fresh() -> Any:
    capture.reset()
    yield
    capture.reset()


def alike(left: Any, right: Any) -> bool:
    """As `same`; tensors, alone or in lists and tuples, may differ by rounding."""
    if isinstance(left, torch.Tensor) and type(left) is type(right) and left.layout is torch.strided:
        with torch._C.DisableTorchFunctionSubclass():
            layouts = [(t.shape, t.dtype, t.stride(), t.requires_grad) for t in (left, right)]
            return layouts[0] == layouts[1] and torch.allclose(
                left, right, rtol=1e-4, atol=1e-5, equal_nan=True
            )
    if isinstance(left, list | tuple) and type(left) is type(right) and len(left) == len(right):
        return all(map(alike, left, right))
    if isinstance(left, dict) and type(left) is type(right) and list(left) == list(right):
        return all(map(alike, left.values(), right.values())) and alike(
            list(getattr(left, "__dict__", {}).values()), list(getattr(right, "__dict__", {}).values())
        )
    return same(left, right)


def run(case: Case, backend: Any, compare: Any) -> None:
    arguments = case.arguments()
    expected = outcome(case.function, arguments())
    captured = capture.compile(case.function, backend=backend, dynamic=True)
    for _ in range(2):
        got = outcome(captured, arguments())
        assert got[1:] == expected[1:]
        assert compare(got[0], expected[0]), (got[0], expected[0])


@pytest.mark.parametrize("case", PARTS)
def test_case(case: Case) -> None:
    with config.patch(raise_on_error=True):
        run(case, Counting(), same)


@pytest.mark.parametrize("case", [part for part in PARTS if part.id not in NOT_NATIVELY][:: EVERY // 2])
def test_natively(case: Case) -> None:
    run(case, "llvm", alike)
