"""cumsum, cumprod, cummax and cummin, against eager."""

from __future__ import annotations

import pytest
import torch

import capture
from codegen.lower.scan import SHORT
from tests.codegen.lowering_check import check, kernels

SCANS = {
    "rows": lambda x: x.cumsum(1),
    "columns": lambda x: x.cumsum(0),
    "of computed": lambda x: (x * 2 + 1).cumsum(-1) * 3,
    "backward": lambda x: x.flip(1).cumsum(1).flip(1),
    "products": lambda x: x.cumprod(1),
    "products down": lambda x: x.cumprod(0),
    "transposed": lambda x: x.t().cumsum(1),
    "flattened": lambda x: x.t().reshape(-1).cumsum(0),
    "twice": lambda x: x.cumsum(0).cumsum(1),
    "and reduced": lambda x: (x.cumsum(1).amax(1), x.cumsum(1) / x.abs().sum(1, keepdim=True)),
    "in other types": lambda x: (x.cumsum(1, dtype=torch.float64), (x > 0).cumsum(1), (x > 0).cumprod(0)),
    "of one number": lambda x: (x.sum().cumsum(0), x[:1, :1].cumsum(0)),
    "of the same number": lambda x: torch.ones_like(x).cumsum(1) * x,
}


@pytest.mark.parametrize("shape", [(3, 4), (2, 40), (40, 2), (17, 33), (1, 20), (20, 1)])
@pytest.mark.parametrize("name", SCANS)
def test_scan(name: str, shape: tuple[int, ...]) -> None:
    check(SCANS[name], torch.randn(shape))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int32, torch.uint8])
def test_exact(dtype: torch.dtype) -> None:
    x = torch.randint(0, 5, (3, 5, 40)).to(dtype)
    check(lambda x: (x.cumsum(0), x.cumsum(1), x.cumsum(2), x.permute(2, 0, 1).cumsum(0)), x, exact=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_is_rounded_once_an_element(dtype: torch.dtype) -> None:
    x = torch.randint(-8, 9, (6, 300)).to(dtype)  # the sums are exact in float32
    check(lambda x: (x.cumsum(1), x.cumsum(0)), x, exact=True)


def test_float32_is_added_up_in_float64() -> None:
    """A float32 sum would lose the ones."""
    x = torch.cat([torch.tensor([2.0**24]), torch.ones(40)])
    check(lambda x: (x.cumsum(0), torch.stack([x, x], 1).cumsum(0)), x, exact=True)


def test_nothing() -> None:
    check(lambda x: (x.cumsum(0), x.cumsum(1)), torch.zeros(0, 3))
    check(lambda x: (x.cumsum(0), x.cumsum(1)), torch.zeros(3, 0))


def test_infinities_and_nan_stay_behind_their_place() -> None:
    x = torch.randn(4, 40)
    x[0, 20], x[1, 5], x[2, 30] = torch.inf, torch.nan, -torch.inf
    check(lambda x: (x.cumsum(1), x.cumprod(1), x.cumsum(0)), x)


def test_one_kernel_with_what_comes_before() -> None:
    assert len(kernels(check(lambda x: (x > 0).long().cumsum(1), torch.randn(4, 8)))) == 1


# --- the best so far ----------------------------------------------------------------------------------------


def records(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    found = [f(x, dim) for f in (torch.cummax, torch.cummin) for dim in range(x.dim())]
    return tuple(part for pair in found for part in pair)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("shape", [(3, 4), (2, 40), (40, 2), (17, 33), (1, 20), (0, 3), (3, 0)])
def test_records(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Of equal elements the later place counts."""
    x = torch.randint(0, 6, shape).to(dtype)
    check(records, x, exact=True, no_calls=shape[1] <= SHORT)  # in longer rows eager's one loop is faster


def test_records_among_nan_and_zeros_of_both_signs() -> None:
    x = torch.tensor(
        [[0.0, -0.0, 1.0, torch.nan, 2.0, torch.nan, 0.0] * 4, [-0.0, 0.0, -1.0, -0.0, 0.0, -0.0, 0.0] * 4]
    )
    check(records, x, exact=True)
    for expected, found in zip(records(x), capture.compile(records)(x), strict=True):
        assert torch.equal(expected.signbit(), found.signbit())


def test_records_of_a_number() -> None:
    check(lambda x: torch.cummax(x, 0)[:2], torch.tensor(3.0), exact=True)


@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (2, 3)])
def test_a_sum_of_negative_zeros(shape: tuple[int, ...]) -> None:
    """Eager begins with 0.0."""

    def sums(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.cumsum(0), x.cumsum(1), x.cumprod(0)

    x = torch.full(shape, -0.0)
    found, expected = capture.compile(sums)(x), sums(x)
    assert [t.signbit().tolist() for t in found] == [t.signbit().tolist() for t in expected]
