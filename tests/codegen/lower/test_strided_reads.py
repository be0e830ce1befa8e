"""Strided reads: every second element, reverse order, large strides; sizes around the number of lanes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from codegen.kernel.printer import print_kernel
from codegen.lower import copies
from tests.codegen.lowering_check import check, kernels

READS = {
    "every second": lambda x: x[:, ::2] + 1,
    "every second from 1": lambda x: x[:, 1::2] * 2,
    "every third": lambda x: x[:, ::3] + 1,
    "reversed": lambda x: x.flip(1) * 2,
    "transposed": lambda x: x.t() + 1,
    "transposed and not": lambda x: x[:5, :5] + x[:5, :5].t(),
}


@pytest.mark.parametrize("columns", [5, 8, 16, 17, 31, 64, 130])
@pytest.mark.parametrize("name", READS)
def test_read(name: str, columns: int) -> None:
    check(READS[name], torch.randn(67, columns))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8, torch.bool, torch.bfloat16])
@pytest.mark.parametrize("name", ["every second", "reversed", "transposed"])
def test_other_types(name: str, dtype: torch.dtype) -> None:
    check(READS[name], (torch.randn(40, 64) * 3).to(dtype))


@pytest.mark.parametrize("size", [64, 100, 192])
def test_transposed_in_strips(size: int) -> None:
    check(lambda x, y: x + y.t(), torch.randn(size, size + 64), torch.randn(size + 64, size))


ROWS = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "by hand": lambda x: ((y := x.contiguous()) - y.amax(-1, keepdim=True)).exp(),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_lie_across_are_copied_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MANY", 1000)
    x = torch.randn(2, 30, 40, dtype=torch.float64)
    assert len(kernels(check(ROWS[name], x.transpose(1, 2)))) == 2
    assert len(kernels(check(lambda x: ROWS[name](x.transpose(1, 2)), x))) == 2
    assert len(kernels(check(ROWS[name], x[:, :9].transpose(1, 2)))) == 1
    assert len(kernels(check(ROWS[name], x[:, :1].transpose(1, 2).expand(2, 40, 30)))) == 1


SHORT_ROWS = {
    "row": lambda x, y: x + y,
    "column": lambda x, y: x * x[:, :1],
    "slice": lambda x, y: x[:, 1:] * 2,
    "joined": lambda x, y: torch.cat([x, x * 2], -1),
    "written": lambda x, y: x.copy_(x + y),
    "gelu": lambda x, y: F.gelu(x + y),
}


@pytest.mark.parametrize("columns", range(2, 12))
@pytest.mark.parametrize("name", SHORT_ROWS)
def test_short_rows(name: str, columns: int) -> None:
    check(SHORT_ROWS[name], torch.randn(67, columns), torch.randn(columns))


@pytest.mark.parametrize("name", ["row", "slice", "joined", "written"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8, torch.bool, torch.bfloat16])
def test_short_rows_of_other_types(name: str, dtype: torch.dtype) -> None:
    if name != "slice" or dtype is not torch.bool:
        check(SHORT_ROWS[name], (torch.randn(67, 5) * 3).to(dtype), (torch.randn(5) * 3).to(dtype))


def test_lanes_lie_side_by_side_in_rows_of_four_and_more() -> None:
    """The exception: most of the time is arithmetic."""
    rows = (torch.randn(67, 5), torch.randn(5))
    [light] = kernels(check(SHORT_ROWS["row"], *rows))
    [heavy] = kernels(check(SHORT_ROWS["gelu"], *rows))
    assert "in 5 parallel vector" in print_kernel(light) and "in 67 parallel vector" in print_kernel(heavy)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumsum", "cumprod"])
def test_results_of_another_layout(name: str) -> None:
    """Lanes are contiguous in the written tensor."""
    x = torch.randn(3, 16, 8, 10).to(memory_format=torch.channels_last)
    check(lambda x: getattr(torch, name)(x, dim=0), x)


def test_lanes_run_along_what_is_written() -> None:
    x = torch.randn(3, 16, 8, 10).to(memory_format=torch.channels_last)
    [kernel] = kernels(check(lambda x: x.log_softmax(0), x))
    assert "in 80 parallel vector" in print_kernel(kernel)
