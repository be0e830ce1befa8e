"""The LLVM text of small kernels, one for each shape of code, for review."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codegen.kernel import ir
from codegen.kernel.ir import (
    Accumulator,
    AxisVar,
    Buffer,
    Check,
    Const,
    ConstOp,
    Indirect,
    Kernel,
    Load,
    Loop,
    Op,
    ReadAccumulator,
    Stmt,
    Store,
    Sym,
    Update,
)
from codegen.llvm.emit import emit
from codegen.llvm.target import Target

I = AxisVar("i")  # noqa: E741


def vector(
    body: list[Stmt],
    extent: ir.Expr,
    buffers: dict[str, str],
    writable: str = "out",
    *,
    reduces: bool = False,
) -> Kernel:
    loop = Loop("i", extent, body, parallel=not reduces, vector=True)
    arguments = tuple(Buffer(name, dtype, writable=name == writable) for name, dtype in buffers.items())
    return Kernel("kernel", arguments, ("n",) if extent == Sym("n") else (), [loop])


def double(extent: ir.Expr, dtype: str = "f32") -> Kernel:
    body: list[Stmt] = [Load(0, "x", I, dtype), Op(1, "add", (0, 0), dtype), Store("out", I, 1)]
    return vector(body, extent, {"x": dtype, "out": dtype})


def in_place() -> Kernel:
    body: list[Stmt] = [
        Load(0, "x", I, "f32"),
        ConstOp(1, 2.0, "f32"),
        Op(2, "mul", (0, 1), "f32"),
        Store("x", I, 2),
    ]
    return vector(body, Const(20), {"x": "f32"}, "x")


def total(combine: str) -> Kernel:
    body: list[Stmt] = [
        Accumulator("a", combine, "f32"),
        Loop("i", Const(40), [Load(0, "x", I, "f32"), Update("a", 0)], vector=True, unroll=2),
        ReadAccumulator(1, "a", "f32"),
        Store("out", Const(0), 1),
    ]
    return Kernel("kernel", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), body)


def rows() -> Kernel:
    r = AxisVar("r")
    at = ir.add(ir.mul(r, Const(64)), I)
    body: list[Stmt] = [
        Load(0, "x", at, "f32"),
        Load(1, "scale", r, "f32"),
        Op(2, "mul", (0, 1), "f32"),
        Store("out", at, 2),
    ]
    inner = Loop("i", Const(64), body, parallel=True, vector=True)
    buffers = (Buffer("x", "f32"), Buffer("scale", "f32"), Buffer("out", "f32", writable=True))
    return Kernel("kernel", buffers, ("n",), [Loop("r", Sym("n"), [inner], parallel=True)])


def columns() -> Kernel:
    r = AxisVar("r")
    body: list[Stmt] = [
        Accumulator("a", "sum", "f32"),
        Loop("r", Const(9), [Load(0, "x", ir.add(ir.mul(r, Const(16)), I), "f32"), Update("a", 0)]),
        ReadAccumulator(1, "a", "f32"),
        Store("out", I, 1),
    ]
    return vector(body, Const(16), {"x": "f32", "out": "f32"})


def gather() -> Kernel:
    body: list[Stmt] = [
        Load(0, "index", I, "i64"),
        ConstOp(1, 100, "i64"),
        Op(2, "lt", (0, 1), "b8"),
        Check(2, 1),
        Load(3, "x", Indirect(0), "f32"),
        Store("out", I, 3),
    ]
    return vector(body, Sym("n"), {"index": "i64", "x": "f32", "out": "f32"})


def booleans() -> Kernel:
    body: list[Stmt] = [
        Load(0, "x", I, "f32"),
        ConstOp(1, 0.0, "f32"),
        Op(2, "gt", (0, 1), "b8"),
        Store("out", I, 2),
    ]
    return vector(body, Const(16), {"x": "f32", "out": "b8"})


def half() -> Kernel:
    body: list[Stmt] = [
        Load(0, "x", I, "bf16"),
        Op(1, "cast", (0,), "f32"),
        Op(2, "sqrt", (1,), "f32"),
        Op(3, "cast", (2,), "bf16"),
        Store("out", I, 3),
    ]
    return vector(body, Const(16), {"x": "bf16", "out": "bf16"})


def unary(name: str) -> Kernel:
    body: list[Stmt] = [Load(0, "x", I, "f32"), Op(1, name, (0,), "f32"), Store("out", I, 1)]
    return vector(body, Const(16), {"x": "f32", "out": "f32"})


CASES: dict[str, tuple[str, Callable[[], Kernel]]] = {
    "exact_small": ("x86-64-v4", lambda: double(Const(4))),
    "exact_loop": ("x86-64-v4", lambda: double(Const(64))),
    "overlapping": ("x86-64-v4", lambda: double(Const(50))),
    "dynamic": ("x86-64-v4", lambda: double(Sym("n"), "f64")),
    "in_place_masked": ("x86-64-v4", in_place),
    "total_sum": ("x86-64-v4", lambda: total("sum")),
    "total_max": ("x86-64-v3", lambda: total("max")),
    "hoisted_row_factor": ("x86-64-v4", rows),
    "columns": ("x86-64-v4", columns),
    "gather_checked": ("x86-64-v3", gather),
    "booleans": ("x86-64-v4", booleans),
    "bfloat16": ("x86-64-v4", half),
    "exp_v4": ("x86-64-v4", lambda: unary("exp")),
    "exp_baseline": ("x86-64", lambda: unary("exp")),
    "sine": ("x86-64-v3", lambda: unary("sin")),
    "tan_sleef": ("x86-64-v3", lambda: unary("tan")),
}


@pytest.mark.parametrize("name", list(CASES))
def test_text(golden: Callable[[str, str], None], name: str) -> None:
    level, kernel = CASES[name]
    golden(f"{name}.ll", emit(kernel(), Target.level(level)))


def test_text_does_not_depend_on_the_run() -> None:
    """The store finds machine code by its text: equal kernels must have equal texts."""
    for level, kernel in CASES.values():
        assert emit(kernel(), Target.level(level)) == emit(kernel(), Target.level(level))
