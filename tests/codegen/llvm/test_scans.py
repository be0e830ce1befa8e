"""Running sums, products and extremes: in lanes, in order, down columns, with a rest.

Elements behind the end do not count.
"""

from __future__ import annotations

import pytest
import torch

from codegen.kernel import ir
from codegen.kernel.ir import (
    Accumulator,
    AxisVar,
    Buffer,
    Const,
    Kernel,
    Load,
    Loop,
    ScanStep,
    Store,
    Sym,
)
from codegen.kernel.ops import TORCH_DTYPES

LENGTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 64, 65, 130, 200]
EAGER = {
    "sum": torch.cumsum,
    "prod": torch.cumprod,
    "max": lambda x, dim, dtype: torch.cummax(x, dim).values,
    "min": lambda x, dim, dtype: torch.cummin(x, dim).values,
}


def sample(dtype: str, count: int) -> torch.Tensor:
    """Small whole numbers: exact in any order."""
    torch.manual_seed(count)
    return torch.randint(-1, 2, (count,)).to(TORCH_DTYPES[dtype])


def scan(combine: str, dtype: str, extent: ir.Expr, *, vector: bool = True, unroll: int = 1) -> Kernel:
    """out[i] = combine of x[0..i]"""
    i = AxisVar("i")
    body: list[ir.Stmt] = [Load(0, "x", i, dtype), ScanStep(1, "acc", 0, dtype), Store("out", i, 1)]
    statements = [
        Accumulator("acc", combine, dtype),
        Loop("i", extent, body, vector=vector, unroll=unroll),
    ]
    buffers = (Buffer("x", dtype), Buffer("out", dtype, writable=True))
    return Kernel("scan", buffers, ("n",) if extent == Sym("n") else (), statements)


@pytest.mark.parametrize("combine", EAGER)
@pytest.mark.parametrize("dtype", ["f32", "f64", "i64", "i32", "i16", "u8"])
@pytest.mark.parametrize("form", [{}, {"vector": False}, {"unroll": 3}, {"dynamic": True}], ids=str)
def test_lengths(run, combine: str, dtype: str, form: dict) -> None:
    for n in LENGTHS:
        x = sample(dtype, n)
        extent = Sym("n") if "dynamic" in form else Const(n)
        kernel = scan(combine, dtype, extent, **{k: v for k, v in form.items() if k != "dynamic"})
        out = torch.full((n + 70,), 99).to(x.dtype)
        assert (
            run(kernel, {"x": torch.cat([x, torch.full((70,), 50).to(x.dtype)]), "out": out}, {"n": n}) == 0
        )
        assert torch.equal(out[:n], EAGER[combine](x, 0, dtype=x.dtype))
        assert torch.equal(out[n:], torch.full((70,), 99).to(x.dtype))


@pytest.mark.parametrize("columns", [1, 5, 16, 37, 64])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_columns(run, columns: int, rows: int) -> None:
    """out[r, c] = sum of x[0..r, c]: each lane adds up its own column."""
    r, c = AxisVar("r"), AxisVar("c")
    place = ir.add(ir.mul(r, Const(columns)), c)
    body: list[ir.Stmt] = [Load(0, "x", place, "f32"), ScanStep(1, "acc", 0, "f32"), Store("out", place, 1)]
    column = [Accumulator("acc", "sum", "f32"), Loop("r", Const(rows), body)]
    buffers = (Buffer("x", "f32"), Buffer("out", "f32", writable=True))
    kernel = Kernel(
        "scan", buffers, (), [Loop("c", Const(columns), column, parallel=True, vector=True, unroll=2)]
    )
    x, out = sample("f32", rows * columns).view(rows, columns), torch.zeros(rows, columns)
    assert run(kernel, {"x": x, "out": out}, {}) == 0
    assert torch.equal(out, x.cumsum(0))


def test_rows(run) -> None:
    """Each row starts from nothing."""
    r, i = AxisVar("r"), AxisVar("i")
    place = ir.add(ir.mul(r, Const(21)), i)
    body: list[ir.Stmt] = [Load(0, "x", place, "f64"), ScanStep(1, "acc", 0, "f64"), Store("out", place, 1)]
    row = [Accumulator("acc", "sum", "f64"), Loop("i", Const(21), body, vector=True)]
    buffers = (Buffer("x", "f64"), Buffer("out", "f64", writable=True))
    x, out = sample("f64", 5 * 21).view(5, 21), torch.zeros(5, 21, dtype=torch.float64)
    assert (
        run(Kernel("scan", buffers, (), [Loop("r", Const(5), row, parallel=True)]), {"x": x, "out": out}, {})
        == 0
    )
    assert torch.equal(out, x.cumsum(1))
