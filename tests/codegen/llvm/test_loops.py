"""Every form of loop: static, dynamic, whole vectors, rests, unrolled, nested, divided between threads."""

from __future__ import annotations

import pytest
import torch

from codegen.kernel import ir
from codegen.kernel.errors import EmitError
from codegen.kernel.ir import (
    AxisVar,
    Buffer,
    Check,
    Const,
    ConstOp,
    IndexOp,
    Indirect,
    Kernel,
    Load,
    Loop,
    Op,
    Store,
    Sym,
)
from codegen.kernel.ops import TORCH_DTYPES
from codegen.llvm.emit import emit
from codegen.llvm.loops import plan_vector_loop
from codegen.llvm.target import Target

GUARD = 40  # elements after the end, which must not change


def axpy(
    extent: ir.Expr, *, split: str | None = None, dtype: str = "f32", unroll: int = 1, in_place: bool = False
) -> Kernel:
    """out[i] = x[i] * 3 + y[i]; in place: y is out."""
    i = AxisVar("i")
    target = "y" if in_place else "out"
    body = [
        Load(0, "x", i, dtype),
        ConstOp(1, 3, dtype),
        Op(2, "mul", (0, 1), dtype),
        Load(3, "y", i, dtype),
        Op(4, "add", (2, 3), dtype),
        Store(target, i, 4),
    ]
    buffers = [Buffer("x", dtype), Buffer("y", dtype, writable=in_place)]
    if not in_place:
        buffers.append(Buffer("out", dtype, writable=True))
    loop = Loop("i", extent, body, parallel=True, vector=True, unroll=unroll)
    return Kernel("axpy", tuple(buffers), ("n",) if extent == Sym("n") else (), [loop], split=split)


def run_axpy(run, kernel: Kernel, n: int, dtype: torch.dtype = torch.float32, **bounds) -> None:
    torch.manual_seed(n)
    x, y = (torch.randint(-9, 9, (n + GUARD,)).to(dtype) for _ in range(2))
    out = torch.full((n + GUARD,), 99).to(dtype)
    expected = x * 3 + y
    tensors = {"x": x, "y": y, "out": out}
    before = {"y": y.clone(), "out": out.clone()}
    assert run(kernel, tensors, {"n": n}, **bounds) == 0
    name = "out" if len(kernel.buffers) == 3 else "y"
    assert torch.equal(tensors[name][:n], expected[:n])
    assert torch.equal(tensors[name][n:], before[name][n:])


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("unroll", [1, 3, 4])
@pytest.mark.parametrize("dynamic", [False, True])
def test_all_lengths(run, dynamic: bool, unroll: int, in_place: bool) -> None:
    for n in [*range(41), 63, 64, 65, 100, 127, 128, 200]:
        run_axpy(run, axpy(Sym("n") if dynamic else Const(n), unroll=unroll, in_place=in_place), n)


@pytest.mark.parametrize("dtype", ["f64", "i64", "i32", "i16", "i8", "u8"])
def test_lengths_of_other_types(run, dtype: str) -> None:
    for n in [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130]:
        run_axpy(run, axpy(Const(n), dtype=dtype), n, TORCH_DTYPES[dtype])
        run_axpy(run, axpy(Sym("n"), dtype=dtype), n, TORCH_DTYPES[dtype])


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_divided_range(run, dynamic: bool, in_place: bool) -> None:
    for n, cuts in [
        (100, [0, 100]),
        (100, [0, 7, 50, 51, 100]),
        (5, [0, 2, 2, 5]),
        (17, [0, 1, 17]),
        (64, [0, 32, 64]),
    ]:
        kernel = axpy(Sym("n") if dynamic else Const(n), split="i", in_place=in_place)
        run_axpy(run, kernel, n, ranges=list(zip(cuts, cuts[1:])))


@pytest.mark.parametrize("extent", [Sym("n"), Const(40_000)])
def test_part_of_a_divided_range_leaves_the_rest_alone_when_in_place(run, extent: ir.Expr) -> None:
    x, y = torch.ones(40_000), torch.zeros(40_000)
    run(axpy(extent, split="i", in_place=True), {"x": x, "y": y}, {"n": 40_000}, begin=20, end=45)
    assert torch.equal(y.nonzero().flatten(), torch.arange(20, 45))


def test_divided_range_of_whole_vectors(run) -> None:
    for n in (40_000, 40_001):
        for unroll in (1, 2):
            run_axpy(
                run,
                axpy(Const(n), split="i", unroll=unroll),
                n,
                ranges=[(0, 13_001), (13_001, 13_002), (13_002, n)],
            )


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 16), (5, 17), (7, 40), (0, 8), (8, 0)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_broadcast_of_rows_and_columns(run, shape: tuple[int, int], dynamic: bool) -> None:
    """out[r, c] = x[r, c] + column[r] * row[c] + scalar[0]"""
    rows, columns = shape
    extent_r, extent_c = (Sym("rows"), Sym("columns")) if dynamic else (Const(rows), Const(columns))
    r, c = AxisVar("r"), AxisVar("c")
    flat = ir.add(ir.mul(r, extent_c), c)
    body = [
        Load(0, "x", flat, "f32"),
        Load(1, "column", r, "f32"),
        Load(2, "row", c, "f32"),
        Op(3, "mul", (1, 2), "f32"),
        Op(4, "add", (0, 3), "f32"),
        Load(5, "scalar", Const(0), "f32"),
        Op(6, "exp", (5,), "f32"),
        Op(7, "add", (4, 6), "f32"),
        Store("out", flat, 7),
    ]
    inner = Loop("c", extent_c, body, parallel=True, vector=True)
    buffers = [Buffer(name, "f32") for name in ("x", "column", "row", "scalar")]
    kernel = Kernel(
        "broadcast",
        (*buffers, Buffer("out", "f32", writable=True)),
        ("rows", "columns") if dynamic else (),
        [Loop("r", extent_r, [inner], parallel=True)],
    )
    x, column, row, out = (
        torch.randn(rows, columns),
        torch.randn(rows),
        torch.randn(columns),
        torch.empty(rows, columns),
    )
    tensors = {"x": x, "column": column, "row": row, "scalar": torch.tensor(1.5), "out": out}
    assert run(kernel, tensors, {"rows": rows, "columns": columns}) == 0
    torch.testing.assert_close(out, x + column[:, None] * row + torch.tensor(1.5).exp())


def test_loads_before_an_empty_inner_loop_touch_nothing(run) -> None:
    """for a in n: for b in m: out[..] = p[a]. With m = 0, p may point to no memory at all."""
    a, b = AxisVar("a"), AxisVar("b")
    inner = Loop("b", Sym("m"), [Load(0, "p", a, "f32"), Store("out", b, 0)], parallel=True, vector=True)
    middle = Loop("k", Sym("k"), [inner], parallel=True)
    kernel = Kernel(
        "empty",
        (Buffer("p", "f32"), Buffer("out", "f32", writable=True)),
        ("n", "m", "k"),
        [Loop("a", Sym("n"), [middle], parallel=True)],
    )
    nothing = torch.empty(0)
    assert nothing.data_ptr() == 0
    assert run(kernel, {"p": nothing, "out": nothing}, {"n": 5, "m": 0, "k": 3}) == 0
    assert run(kernel, {"p": nothing, "out": nothing}, {"n": 5, "m": 3, "k": 0}) == 0


@pytest.mark.parametrize("dtype", ["i64", "i32", "i16", "i8"])
def test_index_values(run, dtype: str) -> None:
    for n in (5, 16, 37):
        index = ir.add(ir.mul(AxisVar("i"), Const(3)), Const(2))
        loop = Loop(
            "i",
            Const(n),
            [IndexOp(0, index, dtype), Store("out", AxisVar("i"), 0)],
            parallel=True,
            vector=True,
        )
        out = torch.empty(n, dtype=TORCH_DTYPES[dtype])
        run(Kernel("arange", (Buffer("out", dtype, writable=True),), (), [loop]), {"out": out})
        assert torch.equal(out, (torch.arange(n) * 3 + 2).to(out.dtype))


@pytest.mark.parametrize("op", ["floordiv", "mod", "min", "max"])
@pytest.mark.parametrize("divisor", [Const(7), Const(8), Sym("d")])
@pytest.mark.parametrize("dtype", ["i64", "i16"])
def test_index_expressions(run, op: str, divisor: ir.Expr, dtype: str) -> None:
    left = ir.Binary("add", AxisVar("i"), Const(-20))
    loop = Loop(
        "i",
        Const(50),
        [IndexOp(0, ir.Binary(op, left, divisor), dtype), Store("out", AxisVar("i"), 0)],
        parallel=True,
        vector=True,
    )
    sizes = ("d",) if divisor == Sym("d") else ()
    out = torch.empty(50, dtype=TORCH_DTYPES[dtype])
    d = divisor.value if isinstance(divisor, Const) else 6
    run(Kernel("index", (Buffer("out", dtype, writable=True),), sizes, [loop]), {"out": out}, {"d": d})
    numbers = torch.arange(50) - 20
    expected = {
        "floordiv": numbers // d,
        "mod": numbers % d,
        "min": numbers.clamp(max=d),
        "max": numbers.clamp(min=d),
    }[op]
    assert torch.equal(out, expected.to(out.dtype))


@pytest.mark.parametrize("n", [1, 5, 16, 33])
@pytest.mark.parametrize("dynamic", [False, True])
def test_check(run, n: int, dynamic: bool) -> None:
    """The kernel fails with the check's code if an element inside the loop fails, and only then."""
    i = AxisVar("i")
    body = [
        Load(0, "x", i, "i32"),
        ConstOp(1, 0, "i32"),
        Op(2, "ne", (0, 1), "b8"),
        Check(2, 7),
        Store("out", i, 0),
    ]
    loop = Loop("i", Sym("n") if dynamic else Const(n), body, parallel=True, vector=True)
    buffers = (Buffer("x", "i32"), Buffer("out", "i32", writable=True))
    kernel = Kernel("check", buffers, ("n",) if dynamic else (), [loop])
    x = torch.zeros(n + GUARD, dtype=torch.int32)
    x[:n] = 1
    out = torch.zeros(n + GUARD, dtype=torch.int32)
    assert run(kernel, {"x": x, "out": out}, {"n": n}) == 0
    assert torch.equal(out[:n], x[:n])
    for bad in range(n):
        x[bad] = 0
        assert run(kernel, {"x": x, "out": out}, {"n": n}) == 7
        x[bad] = 1


def test_load_behind_a_check_is_not_moved_before_it(run) -> None:
    """The index is the same in all iterations, and outside of x, where there is no memory."""
    body = [
        Load(0, "index", Const(0), "i64"),
        ConstOp(1, 0, "i64"),
        Op(2, "lt", (0, 1), "b8"),
        Check(2, 5),
        Load(3, "x", Indirect(0), "f32"),
        Store("out", AxisVar("i"), 3),
    ]
    loop = Loop("r", Const(2), [Loop("i", Const(64), body, parallel=True, vector=True)], parallel=True)
    kernel = Kernel(
        "check", (Buffer("index", "i64"), Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), [loop]
    )
    assert run(kernel, {"index": torch.tensor([1]), "x": torch.empty(0), "out": torch.empty(64)}) == 5


def test_two_checks_have_their_own_codes(run) -> None:
    body = [Load(0, "x", Const(0), "b8"), Check(0, 3), Load(1, "x", Const(1), "b8"), Check(1, 4)]
    kernel = Kernel("checks", (Buffer("x", "b8"),), (), body)
    assert run(kernel, {"x": torch.tensor([True, True])}) == 0
    assert run(kernel, {"x": torch.tensor([False, False])}) == 3
    assert run(kernel, {"x": torch.tensor([True, False])}) == 4


def test_vector_loop_inside_a_vector_loop_is_refused() -> None:
    inner = Loop("j", Const(4), [ConstOp(0, 1.0, "f32"), Store("out", AxisVar("j"), 0)], vector=True)
    kernel = Kernel(
        "bad", (Buffer("out", "f32", writable=True),), (), [Loop("i", Const(4), [inner], vector=True)]
    )
    with pytest.raises(EmitError, match="vector loop j inside a vector loop"):
        emit(kernel, Target.level("x86-64-v4"))


@pytest.mark.parametrize(
    "extent, unroll, vectors", [(300, 16, 10), (320, 16, 10), (256, 16, 16), (80, 4, 3), (6400, 4, 4)]
)
def test_little_is_done_twice(extent: int, unroll: int, vectors: int) -> None:
    """A short loop runs as many vectors at a time as all its iterations need."""
    kernel = axpy(Const(extent), unroll=unroll)
    [loop] = kernel.body
    assert isinstance(loop, Loop)
    assert plan_vector_loop(loop, kernel, Target.level("x86-64-v4")).unroll == vectors
