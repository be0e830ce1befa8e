"""Reads across the grain: every second element, in reverse order, far apart; on sizes around the number of lanes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

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
