"""Accumulators: every combination and type, around and inside vector loops, nested, unrolled.

Elements may be NaN or equal.
"""

from __future__ import annotations

import math

import pytest
import torch

from codegen.kernel import ir
from codegen.kernel.errors import EmitError
from codegen.kernel.ir import (
    Accumulator,
    AxisVar,
    Buffer,
    Const,
    IndexOp,
    Kernel,
    Load,
    Loop,
    Op,
    ReadAccumulator,
    Store,
    Sym,
    Update,
)
from codegen.kernel.ops import TORCH_DTYPES
from codegen.llvm.emit import emit
from codegen.llvm.target import Target

LENGTHS = [1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 65, 100, 130, 200]
NUMBERS = ["f32", "f64", "i64", "i32", "i16", "i8", "u8"]
EAGER = {
    "sum": lambda x: x.sum(dtype=x.dtype),
    "prod": lambda x: x.prod(dtype=x.dtype),
    "max": torch.amax,
    "min": torch.amin,
    "any": torch.any,
    "all": torch.all,
    "argmax": torch.argmax,
    "argmin": torch.argmin,
}
CASES = [
    (combine, dtype) for combine in EAGER for dtype in (["b8"] if combine in ("any", "all") else NUMBERS)
]


def reduction(
    combine: str,
    dtype: str,
    extent: ir.Expr,
    *,
    vector: bool = True,
    unroll: int = 1,
    init: float | None = None,
) -> Kernel:
    """out[0] = combine of x[0..extent]"""
    arg = combine.startswith("arg")
    i = AxisVar("i")
    body: list[ir.Stmt] = [Load(0, "x", i, dtype)]
    body += [IndexOp(1, i), Update("acc", 0, index=1)] if arg else [Update("acc", 0)]
    result = "i64" if arg else dtype
    statements = [
        Accumulator("acc", combine, dtype, init),
        Loop("i", extent, body, vector=vector, unroll=unroll),
        ReadAccumulator(2, "acc", result),
        Store("out", Const(0), 2),
    ]
    buffers = (Buffer("x", dtype), Buffer("out", result, writable=True))
    return Kernel("reduce", buffers, ("n",) if extent == Sym("n") else (), statements)


def sample(dtype: str, count: int) -> torch.Tensor:
    torch.manual_seed(count)
    if dtype == "b8":
        return torch.rand(count) > 0.5
    low = 0 if dtype == "u8" else -4
    return torch.randint(low, 5, (count,)).to(TORCH_DTYPES[dtype])  # sums are exact, many elements are equal


def check(run, combine: str, x: torch.Tensor, dtype: str, **form) -> None:
    n = len(x)
    extent = Sym("n") if form.pop("dynamic", False) else Const(n)
    result = torch.int64 if combine.startswith("arg") else x.dtype
    out = torch.full((3,), 99).to(result)
    # The element behind the end would win if it were read
    tensors = {"x": torch.cat([x, extreme(combine, x)]), "out": out}
    assert run(reduction(combine, dtype, extent, **form), tensors, {"n": n}) == 0
    torch.testing.assert_close(out[0], EAGER[combine](x).to(result), equal_nan=True)
    assert torch.equal(out[1:], torch.full((2,), 99).to(result))


def extreme(combine: str, x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.bool:
        return torch.full((80,), combine == "any")
    return torch.full(
        (80,), -50 if "min" in combine and x.dtype != torch.uint8 else 0 if "min" in combine else 100
    ).to(x.dtype)


@pytest.mark.parametrize(("combine", "dtype"), CASES, ids=lambda value: value)
def test_lengths(run, combine: str, dtype: str) -> None:
    for n in LENGTHS:
        check(run, combine, sample(dtype, n), dtype)


@pytest.mark.parametrize("combine", list(EAGER))
@pytest.mark.parametrize(
    "form", [{"dynamic": True}, {"vector": False}, {"unroll": 3}, {"unroll": 4, "dynamic": True}], ids=str
)
def test_forms(run, combine: str, form: dict) -> None:
    dtype = "b8" if combine in ("any", "all") else "f32"
    for n in [1, 5, 16, 33, 100, 130]:
        check(run, combine, sample(dtype, n), dtype, **form)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("combine", ["max", "min", "argmax", "argmin", "sum"])
def test_nan_wins(run, combine: str, dtype: str) -> None:
    for n in [1, 3, 16, 40, 70]:
        for places in [(0,), (n - 1,), (n // 2,), (n // 3, n // 2), (0, n - 1)]:
            x = sample(dtype, n)
            x[list(places)] = math.nan
            check(run, combine, x, dtype)


@pytest.mark.parametrize("combine", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.0])
def test_all_equal(run, combine: str, value: float) -> None:
    for n in [1, 7, 16, 50, 200]:
        check(run, combine, torch.full((n,), value), "f32")


def test_arg_of_integer_extremes(run) -> None:
    for combine, value in [("argmax", -(2**63)), ("argmin", 2**63 - 1)]:
        check(run, combine, torch.full((37,), value), "i64")


@pytest.mark.parametrize(
    ("combine", "dtype", "empty"),
    [
        ("sum", "f32", 0),
        ("prod", "i64", 1),
        ("max", "f32", -math.inf),
        ("all", "b8", True),
        ("any", "b8", False),
    ],
)
@pytest.mark.parametrize("extent", [Const(0), Sym("n")])
def test_empty_is_the_identity(run, combine: str, dtype: str, empty: float, extent: ir.Expr) -> None:
    out = torch.full((1,), 99).to(TORCH_DTYPES[dtype])
    run(reduction(combine, dtype, extent), {"x": out[:0], "out": out}, {"n": 0})
    assert out.item() == empty


def test_initial_value(run) -> None:
    x, out = torch.arange(50.0), torch.zeros(1)
    run(reduction("sum", "f32", Const(50), init=1000.5), {"x": x, "out": out})
    assert out.item() == x.sum().item() + 1000.5
    run(reduction("max", "f32", Const(50), init=77.0), {"x": x, "out": out})
    assert out.item() == 77


def test_integer_sums_wrap(run) -> None:
    x, out = torch.full((100,), 2**62), torch.zeros(1, dtype=torch.int64)
    run(reduction("sum", "i64", Const(100)), {"x": x, "out": out})
    assert out.item() == x.sum().item()


def test_accumulator_in_a_scalar_and_a_vector_loop(run) -> None:
    """Two loops update one accumulator: one in lanes, one not; a third loop has another number of lanes."""
    i = AxisVar("i")
    body = [
        Accumulator("acc", "sum", "f32", 0.5),
        Loop("i", Const(37), [Load(0, "x", i, "f32"), Update("acc", 0)], vector=True),
        Loop("i", Const(9), [Load(1, "x", i, "f32"), Update("acc", 1)]),
        Loop("i", Const(3), [Load(2, "x", i, "f32"), Update("acc", 2)], vector=True),
        ReadAccumulator(3, "acc", "f32"),
        Store("out", Const(0), 3),
    ]
    x, out = torch.randint(0, 9, (37,)).float(), torch.zeros(1)
    run(
        Kernel("two", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), body),
        {"x": x, "out": out},
    )
    assert out.item() == 0.5 + x.sum().item() + x[:9].sum().item() + x[:3].sum().item()


@pytest.mark.parametrize("columns", [1, 5, 16, 37, 64])
@pytest.mark.parametrize("combine", ["sum", "max", "argmax", "any"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_columns(run, combine: str, columns: int, dynamic: bool) -> None:
    """out[c] = combine over r of x[r, c]: each lane has its own accumulator."""
    rows = 11
    arg, dtype = combine == "argmax", "b8" if combine == "any" else "f32"
    r, c = AxisVar("r"), AxisVar("c")
    width = Sym("columns") if dynamic else Const(columns)
    body: list[ir.Stmt] = [Load(0, "x", ir.add(ir.mul(r, width), c), dtype)]
    body += [IndexOp(1, r), Update("acc", 0, index=1)] if arg else [Update("acc", 0)]
    result = "i64" if arg else dtype
    column = [
        Accumulator("acc", combine, dtype),
        Loop("r", Const(rows), body),
        ReadAccumulator(2, "acc", result),
        Store("out", c, 2),
    ]
    buffers = (Buffer("x", dtype), Buffer("out", result, writable=True))
    kernel = Kernel(
        "columns",
        buffers,
        ("columns",) if dynamic else (),
        [Loop("c", width, column, parallel=True, vector=True)],
    )
    x = sample(dtype, rows * columns).view(rows, columns)
    out = torch.zeros(columns + 64, dtype=TORCH_DTYPES[result])
    run(kernel, {"x": x, "out": out}, {"columns": columns})
    eager = {"sum": torch.sum, "max": torch.amax, "argmax": torch.argmax, "any": torch.any}[combine]
    assert torch.equal(out[:columns], eager(x, dim=0))
    assert not out[columns:].any()


@pytest.mark.parametrize("columns", [1, 7, 16, 40])
@pytest.mark.parametrize("combine", ["sum", "max", "argmax"])
def test_whole_matrix(run, combine: str, columns: int) -> None:
    """One accumulator around two loops: combined across lanes once, when it is read."""
    rows = 6
    r, c = AxisVar("r"), AxisVar("c")
    flat = ir.add(ir.mul(r, Const(columns + 3)), c)
    body: list[ir.Stmt] = [Load(0, "x", flat, "f32")]
    position = ir.add(ir.mul(r, Const(columns)), c)
    body += [IndexOp(1, position), Update("acc", 0, index=1)] if combine == "argmax" else [Update("acc", 0)]
    result = "i64" if combine == "argmax" else "f32"
    statements = [
        Accumulator("acc", combine, "f32"),
        Loop("r", Const(rows), [Loop("c", Const(columns), body, vector=True)]),
        ReadAccumulator(2, "acc", result),
        Store("out", Const(0), 2),
    ]
    x = sample("f32", rows * (columns + 3)).view(rows, columns + 3)
    out = torch.zeros(1, dtype=TORCH_DTYPES[result])
    run(
        Kernel("matrix", (Buffer("x", "f32"), Buffer("out", result, writable=True)), (), statements),
        {"x": x, "out": out},
    )
    part = x[:, :columns]
    assert out.item() == EAGER[combine](part).item()


@pytest.mark.parametrize("columns", [1, 3, 16, 37, 64, 100])
@pytest.mark.parametrize("dynamic", [False, True])
def test_softmax(run, columns: int, dynamic: bool) -> None:
    rows = 5
    width = Sym("columns") if dynamic else Const(columns)
    x, out = torch.randn(rows, columns) * 10, torch.zeros(rows + 20, columns)
    kernel = softmax_kernel(Const(rows), width)
    run(kernel, {"x": x, "out": out}, {"columns": columns})
    torch.testing.assert_close(out[:rows], torch.softmax(x, dim=1), rtol=2e-6, atol=1e-7)
    assert not out[rows:].any()


def softmax_kernel(rows: ir.Expr, columns: ir.Expr) -> Kernel:
    r, c = AxisVar("r"), AxisVar("c")
    at = ir.add(ir.mul(r, columns), c)
    row = [
        Accumulator("m", "max", "f32"),
        Loop("c", columns, [Load(0, "x", at, "f32"), Update("m", 0)], vector=True),
        ReadAccumulator(1, "m", "f32"),
        Accumulator("s", "sum", "f32"),
        Loop(
            "c",
            columns,
            [Load(2, "x", at, "f32"), Op(3, "sub", (2, 1), "f32"), Op(4, "exp", (3,), "f32"), Update("s", 4)],
            vector=True,
        ),
        ReadAccumulator(5, "s", "f32"),
        Loop(
            "c",
            columns,
            [
                Load(6, "x", at, "f32"),
                Op(7, "sub", (6, 1), "f32"),
                Op(8, "exp", (7,), "f32"),
                Op(9, "div", (8, 5), "f32"),
                Store("out", at, 9),
            ],
            parallel=True,
            vector=True,
        ),
    ]
    buffers = (Buffer("x", "f32"), Buffer("out", "f32", writable=True))
    sizes = tuple({expr.name for expr in (rows, columns) if isinstance(expr, Sym)})
    return Kernel("softmax", buffers, sizes, [Loop("r", rows, row, parallel=True)])


def relative_error(actual: torch.Tensor, exact: torch.Tensor) -> float:
    return float(((actual.double() - exact).abs() / exact.abs()).max())


@pytest.mark.parametrize("form", [{}, {"dynamic": True}, {"vector": False}], ids=str)
@pytest.mark.parametrize("n", [257, 700, 4097, 6144, 30_001])
def test_long_sums_are_exact(run, n: int, form: dict) -> None:
    """Sums of 0.1: a running float32 sum of 30,001 of them has an error of 2e-4, one of 128 of them 3e-6."""
    x, out = torch.full((n,), 0.1), torch.zeros(1)
    dynamic = form.get("dynamic", False)
    kernel = reduction(
        "sum", "f32", Sym("n") if dynamic else Const(n), vector=form.get("vector", True), init=0.5
    )
    run(kernel, {"x": x, "out": out}, {"n": n})
    assert relative_error(out, x.double().sum() + 0.5) < 6e-7


@pytest.mark.parametrize("unroll", [1, 4])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("rows", [100, 1000, 20_000])
def test_long_columns_are_exact(run, rows: int, unroll: int, dynamic: bool) -> None:
    columns = 37
    r, c = AxisVar("r"), AxisVar("c")
    extent = Sym("rows") if dynamic else Const(rows)
    column = [
        Accumulator("acc", "sum", "f32"),
        Loop("r", extent, [Load(0, "x", ir.add(ir.mul(r, Const(columns)), c), "f32"), Update("acc", 0)]),
        ReadAccumulator(1, "acc", "f32"),
        Store("out", c, 1),
    ]
    loop = Loop("c", Const(columns), column, parallel=True, vector=True, unroll=unroll)
    buffers = (Buffer("x", "f32"), Buffer("out", "f32", writable=True))
    x, out = torch.full((rows, columns), 0.1), torch.zeros(columns)
    run(
        Kernel("columns", buffers, ("rows",) if dynamic else (), [loop]), {"x": x, "out": out}, {"rows": rows}
    )
    assert relative_error(out, x.double().sum(0)) < 6e-7


def test_half_precision_accumulator_is_refused() -> None:
    with pytest.raises(EmitError, match="accumulate in f32"):
        emit(reduction("sum", "bf16", Const(8)), Target.level("x86-64-v4"))
