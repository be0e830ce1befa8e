"""Kernels over rows and columns against eager: `python -m benchmarks.rows`."""

from __future__ import annotations

import torch

from benchmarks.kernel_timing import header, report
from codegen.kernel import ir
from codegen.kernel.ir import (
    Accumulator,
    AxisVar,
    Buffer,
    Const,
    ConstOp,
    Expr,
    Kernel,
    Load,
    Loop,
    Op,
    ReadAccumulator,
    Stmt,
    Store,
    Update,
)


def _row(body: list[Stmt], rows: int, inputs: list[str], name: str) -> Kernel:
    buffers = (*(Buffer(buffer, "f32") for buffer in inputs), Buffer("out", "f32", writable=True))
    return Kernel(name, buffers, (), [Loop("r", Const(rows), body, parallel=True)])


def _at(columns: int) -> Expr:
    return ir.add(ir.mul(AxisVar("r"), Const(columns)), AxisVar("c"))


def softmax(rows: int, columns: int) -> Kernel:
    """exp is computed once and stored in `out`; the last loop divides it."""
    at, extent = _at(columns), Const(columns)
    body: list[Stmt] = [
        Accumulator("m", "max", "f32"),
        Loop("c", extent, [Load(0, "x", at, "f32"), Update("m", 0)], vector=True, unroll=4),
        ReadAccumulator(1, "m", "f32"),
        Accumulator("s", "sum", "f32"),
        Loop(
            "c",
            extent,
            [
                Load(2, "x", at, "f32"),
                Op(3, "sub", (2, 1), "f32"),
                Op(4, "exp", (3,), "f32"),
                Store("out", at, 4),
                Update("s", 4),
            ],
            vector=True,
        ),
        ReadAccumulator(5, "s", "f32"),
        ConstOp(6, 1.0, "f32"),
        Op(7, "div", (6, 5), "f32"),
        Loop(
            "c",
            extent,
            [Load(8, "out", at, "f32"), Op(9, "mul", (8, 7), "f32"), Store("out", at, 9)],
            parallel=True,
            vector=True,
        ),
    ]
    return _row(body, rows, ["x"], "softmax")


def layer_norm(rows: int, columns: int) -> Kernel:
    """Mean, then variance around it, then the normalised row times weight plus bias."""
    at, extent, c = _at(columns), Const(columns), AxisVar("c")
    body: list[Stmt] = [
        Accumulator("s", "sum", "f32"),
        Loop("c", extent, [Load(0, "x", at, "f32"), Update("s", 0)], vector=True),
        ReadAccumulator(1, "s", "f32"),
        ConstOp(2, float(columns), "f32"),
        Op(3, "div", (1, 2), "f32"),
        Accumulator("v", "sum", "f32"),
        Loop(
            "c",
            extent,
            [
                Load(4, "x", at, "f32"),
                Op(5, "sub", (4, 3), "f32"),
                Op(6, "mul", (5, 5), "f32"),
                Update("v", 6),
            ],
            vector=True,
        ),
        ReadAccumulator(7, "v", "f32"),
        Op(8, "div", (7, 2), "f32"),
        ConstOp(9, 1e-5, "f32"),
        Op(10, "add", (8, 9), "f32"),
        Op(11, "rsqrt", (10,), "f32"),
        Loop(
            "c",
            extent,
            [
                Load(12, "x", at, "f32"),
                Op(13, "sub", (12, 3), "f32"),
                Op(14, "mul", (13, 11), "f32"),
                Load(15, "w", c, "f32"),
                Op(16, "mul", (14, 15), "f32"),
                Load(17, "b", c, "f32"),
                Op(18, "add", (16, 17), "f32"),
                Store("out", at, 18),
            ],
            parallel=True,
            vector=True,
        ),
    ]
    return _row(body, rows, ["x", "w", "b"], "layer_norm")


def whole_sum(count: int) -> Kernel:
    body: list[Stmt] = [
        Accumulator("s", "sum", "f32"),
        Loop("i", Const(count), [Load(0, "x", AxisVar("i"), "f32"), Update("s", 0)], vector=True),
        ReadAccumulator(1, "s", "f32"),
        Store("out", Const(0), 1),
    ]
    return Kernel("sum", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), body)


def row_extremum(rows: int, columns: int, combine: str) -> Kernel:
    arg = combine.startswith("arg")
    inner: list[Stmt] = [Load(0, "x", _at(columns), "f32")]
    inner += [ir.IndexOp(1, AxisVar("c")), Update("a", 0, index=1)] if arg else [Update("a", 0)]
    result = "i64" if arg else "f32"
    body: list[Stmt] = [
        Accumulator("a", combine, "f32"),
        Loop("c", Const(columns), inner, vector=True),
        ReadAccumulator(2, "a", result),
        Store("out", AxisVar("r"), 2),
    ]
    buffers = (Buffer("x", "f32"), Buffer("out", result, writable=True))
    return Kernel(combine, buffers, (), [Loop("r", Const(rows), body, parallel=True)])


def column_sum(rows: int, columns: int) -> Kernel:
    """The vector loop is the outer loop: lanes over columns."""
    body: list[Stmt] = [
        Accumulator("s", "sum", "f32"),
        Loop("r", Const(rows), [Load(0, "x", _at(columns), "f32"), Update("s", 0)]),
        ReadAccumulator(1, "s", "f32"),
        Store("out", AxisVar("c"), 1),
    ]
    loop = Loop("c", Const(columns), body, parallel=True, vector=True, unroll=8)
    return Kernel("columns", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), [loop])


def transposed_add(rows: int, columns: int) -> Kernel:
    """out = x + y.T"""
    r, c = AxisVar("r"), AxisVar("c")
    body: list[Stmt] = [
        Load(0, "x", _at(columns), "f32"),
        Load(1, "y", ir.add(ir.mul(c, Const(rows)), r), "f32"),
        Op(2, "add", (0, 1), "f32"),
        Store("out", _at(columns), 2),
    ]
    return _row([Loop("c", Const(columns), body, parallel=True, vector=True)], rows, ["x", "y"], "transposed")


def matrix(rows: int, columns: int) -> None:
    """All kernels on one size."""
    x, y, out = torch.randn(rows, columns), torch.randn(columns, rows), torch.empty(rows, columns)
    w, b = torch.randn(columns), torch.randn(columns)
    size, tensors = f"{rows}x{columns}", {"x": x, "y": y, "w": w, "b": b, "out": out}
    report(f"softmax {size}", softmax(rows, columns), tensors, lambda: torch.softmax(x, 1))
    report(
        f"layer_norm {size}",
        layer_norm(rows, columns),
        tensors,
        lambda: torch.layer_norm(x, (columns,), w, b),
    )
    report(f"x + y.T {size}", transposed_add(rows, columns), tensors, lambda: x + y.T)
    per_row, per_column = {"x": x, "out": torch.empty(rows)}, {"x": x, "out": torch.empty(columns)}
    report(f"max {size}", row_extremum(rows, columns, "max"), per_row, lambda: torch.amax(x, 1))
    indices = {"x": x, "out": torch.empty(rows, dtype=torch.int64)}
    report(f"argmax {size}", row_extremum(rows, columns, "argmax"), indices, lambda: torch.argmax(x, 1))
    report(f"columns {size}", column_sum(rows, columns), per_column, lambda: x.sum(0))


def main() -> None:
    header()
    for rows, columns in ((512, 1024), (512, 1000), (64, 10)):
        matrix(rows, columns)
    for count in (100_000, 10_000_000):
        x = torch.rand(count)
        report(f"sum {count}", whole_sum(count), {"x": x, "out": torch.empty(())}, lambda x=x: x.sum())


if __name__ == "__main__":
    main()
