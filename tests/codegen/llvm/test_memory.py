"""All placements of lanes in memory: contiguous, one place, strided, indirect.

Also masks, additions to memory, and storage types.
"""

from __future__ import annotations

import pytest
import torch

from codegen.kernel import ir
from codegen.kernel.errors import EmitError
from codegen.kernel.ir import (
    AxisVar,
    Buffer,
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
from codegen.llvm.target import Target

DTYPES = sorted(TORCH_DTYPES)
LENGTHS = [1, 3, 4, 15, 16, 17, 40]


def sample(dtype: str, count: int) -> torch.Tensor:
    torch.manual_seed(count)
    if dtype == "b8":
        return torch.rand(count) > 0.5
    return (
        (torch.randn(count) * 20).to(TORCH_DTYPES[dtype])
        if dtype != "u8"
        else torch.randint(0, 256, (count,), dtype=torch.uint8)
    )


def copy_kernel(
    dtype: str, source: ir.Expr, target: ir.Expr, extent: ir.Expr, sizes: tuple[str, ...] = ()
) -> Kernel:
    body = [Load(0, "x", source, dtype), Store("out", target, 0)]
    loop = Loop("i", extent, body, parallel=True, vector=True)
    return Kernel("copy", (Buffer("x", dtype), Buffer("out", dtype, writable=True)), sizes, [loop])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_copy(run, dtype: str, dynamic: bool) -> None:
    for n in LENGTHS:
        x, out = sample(dtype, n), torch.zeros(n + 64, dtype=TORCH_DTYPES[dtype])
        extent = Sym("n") if dynamic else Const(n)
        run(
            copy_kernel(dtype, AxisVar("i"), AxisVar("i"), extent, ("n",) if dynamic else ()),
            {"x": x, "out": out},
            {"n": n},
        )
        assert torch.equal(out[:n], x)
        assert not out[n:].any()


@pytest.mark.parametrize("stride", [Const(2), Const(7), Const(-1), Sym("s")])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_load(run, dtype: str, stride: ir.Expr) -> None:
    for n in LENGTHS:
        step = stride.value if isinstance(stride, Const) else 5
        x, out = sample(dtype, n * abs(step) + 1), torch.zeros(n + 64, dtype=TORCH_DTYPES[dtype])
        first = 0 if step > 0 else n
        index = ir.add(ir.mul(AxisVar("i"), stride), Const(first))
        kernel = copy_kernel(dtype, index, AxisVar("i"), Const(n), ("s",) if isinstance(stride, Sym) else ())
        run(kernel, {"x": x, "out": out}, {"s": step})
        assert torch.equal(out[:n], x[first + step * torch.arange(n)])
        assert not out[n:].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_store(run, dtype: str) -> None:
    for n in LENGTHS:
        x, out = sample(dtype, n), torch.zeros(3 * n + 64, dtype=TORCH_DTYPES[dtype])
        run(copy_kernel(dtype, AxisVar("i"), ir.mul(AxisVar("i"), Const(3)), Const(n)), {"x": x, "out": out})
        assert torch.equal(out[: 3 * n : 3], x)
        out[: 3 * n : 3] = 0
        assert not out.any()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("index_dtype", ["i64", "i32", "u8"])
def test_gather_and_scatter(run, index_dtype: str, dynamic: bool) -> None:
    for n in LENGTHS:
        torch.manual_seed(n)
        order = torch.randperm(n).to(TORCH_DTYPES[index_dtype])
        x, gathered, scattered = torch.randn(n), torch.zeros(n + 64), torch.zeros(n + 64)
        i = AxisVar("i")
        body = [
            Load(0, "order", i, index_dtype),
            Load(1, "x", Indirect(0), "f32"),
            Store("gathered", i, 1),
            Load(2, "x", i, "f32"),
            Store("scattered", Indirect(0), 2),
        ]
        loop = Loop("i", Sym("n") if dynamic else Const(n), body, parallel=True, vector=True)
        buffers = [Buffer("order", index_dtype), Buffer("x", "f32")]
        buffers += [Buffer(name, "f32", writable=True) for name in ("gathered", "scattered")]
        kernel = Kernel("permute", tuple(buffers), ("n",) if dynamic else (), [loop])
        run(kernel, {"order": order, "x": x, "gathered": gathered, "scattered": scattered}, {"n": n})
        expected = torch.zeros(n + 64)
        expected[order.long()] = x
        assert torch.equal(gathered[:n], x[order.long()])
        assert torch.equal(scattered, expected)
        assert not gathered[n:].any()


def test_embedding(run) -> None:
    """out[r, c] = table[index[r] * 40 + c]: the index is uniform in the vector loop."""
    r, c = AxisVar("r"), AxisVar("c")
    row = [
        Load(0, "index", r, "i64"),
        Loop(
            "c",
            Const(40),
            [
                Load(1, "table", ir.add(ir.mul(Indirect(0), Const(40)), c), "f32"),
                Store("out", ir.add(ir.mul(r, Const(40)), c), 1),
            ],
            parallel=True,
            vector=True,
        ),
    ]
    buffers = (Buffer("index", "i64"), Buffer("table", "f32"), Buffer("out", "f32", writable=True))
    kernel = Kernel("embedding", buffers, (), [Loop("r", Const(9), row, parallel=True)])
    index, table, out = torch.randint(0, 6, (9,)), torch.randn(6, 40), torch.empty(9, 40)
    run(kernel, {"index": index, "table": table, "out": out})
    assert torch.equal(out, table[index])


def test_transposed_operand(run) -> None:
    r, c = AxisVar("r"), AxisVar("c")
    body = [
        Load(0, "x", ir.add(ir.mul(c, Const(19)), r), "f32"),
        Store("out", ir.add(ir.mul(r, Const(23)), c), 0),
    ]
    loops = Loop("r", Const(19), [Loop("c", Const(23), body, parallel=True, vector=True)], parallel=True)
    kernel = Kernel("transpose", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), [loops])
    x, out = torch.randn(23, 19), torch.empty(19, 23)
    run(kernel, {"x": x, "out": out})
    assert torch.equal(out, x.T)


def test_axis_inside_division(run) -> None:
    """out[i] = x[(i // 6) * 7 + i % 6]"""
    i = AxisVar("i")
    index = ir.add(ir.mul(ir.floordiv(i, Const(6)), Const(7)), ir.mod(i, Const(6)))
    x, out = torch.randn(7, 7), torch.empty(42)
    run(copy_kernel("f32", index, i, Const(42)), {"x": x, "out": out})
    assert torch.equal(out.view(7, 6), x[:, :6])


# --- masks ------------------------------------------------------------------------------------------------


def masked_kernel(
    dtype: str, source: ir.Expr, extent: ir.Expr, mask: ir.Expr, other: float, *, store_mask: bool
) -> Kernel:
    body = [
        Load(0, "mask", mask, "b8"),
        Load(1, "x", source, dtype, mask=0, other=other),
        Store("out", AxisVar("i"), 1, mask=0 if store_mask else None),
    ]
    loop = Loop("i", extent, body, parallel=True, vector=True)
    buffers = (Buffer("mask", "b8"), Buffer("x", dtype), Buffer("out", dtype, writable=True))
    return Kernel("masked", buffers, ("n",) if extent == Sym("n") else (), [loop])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("source", ["unit", "strided", "one place"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_load(run, dtype: str, source: str, dynamic: bool) -> None:
    stride = {"unit": 1, "strided": 2, "one place": 0}[source]
    for n in LENGTHS:
        x, mask = sample(dtype, 2 * n + 1), torch.rand(n) > 0.4
        out = torch.zeros(n + 64, dtype=TORCH_DTYPES[dtype])
        extent = Sym("n") if dynamic else Const(n)
        kernel = masked_kernel(
            dtype, ir.mul(AxisVar("i"), Const(stride)), extent, AxisVar("i"), 1, store_mask=False
        )
        run(kernel, {"mask": mask, "x": x, "out": out}, {"n": n})
        assert torch.equal(out[:n], torch.where(mask, x[stride * torch.arange(n)], torch.ones_like(out[:n])))


@pytest.mark.parametrize("value", [True, False])
def test_mask_that_is_uniform(run, value: bool) -> None:
    for n in LENGTHS:
        x, out = torch.randn(n), torch.full((n + 64,), 5.0)
        kernel = masked_kernel("f32", AxisVar("i"), Const(n), Const(0), -2.5, store_mask=True)
        run(kernel, {"mask": torch.tensor([value]), "x": x, "out": out})
        assert torch.equal(out[:n], x if value else torch.full((n,), 5.0))
        assert bool((out[n:] == 5).all())


@pytest.mark.parametrize("dynamic", [False, True])
def test_masked_store(run, dynamic: bool) -> None:
    for n in LENGTHS:
        x, mask, out = torch.randn(n), torch.rand(n) > 0.5, torch.full((n + 64,), 5.0)
        kernel = masked_kernel(
            "f32", AxisVar("i"), Sym("n") if dynamic else Const(n), AxisVar("i"), 0, store_mask=True
        )
        run(kernel, {"mask": mask, "x": x, "out": out}, {"n": n})
        assert torch.equal(out[:n], torch.where(mask, x, 5.0))


def test_masked_lanes_do_not_touch_memory(run) -> None:
    """Padding: x[i - 4] where 4 <= i < 4 + n; the pointer is null where the mask never holds."""
    i = AxisVar("i")
    body = [
        IndexOp(0, i),
        ConstOp(1, 100, "i64"),
        Op(2, "lt", (1, 0), "b8"),
        Load(3, "x", ir.add(i, Const(-4)), "f32", mask=2, other=7.5),
        Store("out", i, 3),
        Load(4, "x", Const(3), "f32", mask=2, other=1.0),
        Store("one", i, 4),
    ]
    loop = Loop("i", Const(20), body, parallel=True, vector=True)
    buffers = (Buffer("x", "f32"), Buffer("out", "f32", writable=True), Buffer("one", "f32", writable=True))
    out, one = torch.zeros(20), torch.zeros(20)
    run(Kernel("pad", buffers, (), [loop]), {"x": torch.empty(0), "out": out, "one": one})
    assert bool((out == 7.5).all())
    assert bool((one == 1.0).all())


# --- additions to memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("split", [None, "i"])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i64", "i32"])
def test_atomic_add(run, dtype: str, split: str | None, masked: bool) -> None:
    i = AxisVar("i")
    for n in LENGTHS:
        torch.manual_seed(n)
        index, x, mask = torch.randint(0, 4, (n,)), sample(dtype, n).round(), torch.rand(n) > 0.3
        body = [
            Load(0, "index", i, "i64"),
            Load(1, "x", i, dtype),
            Load(2, "mask", i, "b8"),
            Store("out", Indirect(0), 1, mask=2 if masked else None, combine="sum"),
            Store("total", Const(0), 1, mask=2 if masked else None, combine="sum"),
        ]
        loop = Loop("i", Const(n), body, parallel=True, vector=True)
        buffers = [Buffer("index", "i64"), Buffer("x", dtype), Buffer("mask", "b8")]
        buffers += [Buffer("out", dtype, writable=True), Buffer("total", dtype, writable=True)]
        out, total = torch.zeros(4, dtype=x.dtype), torch.zeros(1, dtype=x.dtype)
        kernel = Kernel("scatter_add", tuple(buffers), (), [loop], split=split)
        run(kernel, {"index": index, "x": x, "mask": mask, "out": out, "total": total}, end=n)
        kept = torch.where(mask, x, torch.zeros_like(x)) if masked else x
        assert torch.equal(out, torch.zeros_like(out).scatter_add(0, index, kept))
        assert torch.equal(total[0], kept.sum().to(x.dtype))


# --- aliases and errors -----------------------------------------------------------------------------------


def test_load_behind_a_store_sees_it(run) -> None:
    """A load of the same element through an alias is not moved before the store."""
    body = [
        ConstOp(0, 2.0, "f32"),
        Store("a", Const(0), 0),
        Loop(
            "i",
            Const(20),
            [Load(1, "b", Const(0), "f32"), Store("out", AxisVar("i"), 1)],
            parallel=True,
            vector=True,
        ),
        ConstOp(2, 3.0, "f32"),
        Store("a", Const(0), 2),
        Load(3, "b", Const(0), "f32"),
        Store("last", Const(0), 3),
    ]
    buffers = (
        Buffer("a", "f32", writable=True),
        Buffer("b", "f32", alias_of="a"),
        Buffer("out", "f32", writable=True),
        Buffer("last", "f32", writable=True),
    )
    memory, out, last = torch.zeros(1), torch.zeros(20), torch.zeros(1)
    run(Kernel("alias", buffers, (), body), {"a": memory, "b": memory, "out": out, "last": last})
    assert bool((out == 2).all())
    assert last.item() == 3


def test_different_values_for_one_element_are_refused() -> None:
    with pytest.raises(EmitError, match="different values to one element of out"):
        emit(copy_kernel("f32", AxisVar("i"), Const(0), Const(64)), Target.level("x86-64-v4"))


@pytest.mark.parametrize("store", [True, False])
def test_access_in_another_type_is_refused(store: bool) -> None:
    body = [ConstOp(0, 1, "i32"), Store("b", Const(0), 0)] if store else [Load(0, "b", Const(0), "i32")]
    with pytest.raises(EmitError, match="i32 .* b, which holds f32"):
        emit(Kernel("bad", (Buffer("b", "f32", writable=True),), (), body), Target.level("x86-64-v4"))


def test_store_to_a_buffer_that_is_not_writable_is_refused() -> None:
    kernel = Kernel("bad", (Buffer("b", "f32"),), (), [ConstOp(0, 1, "f32"), Store("b", Const(0), 0)])
    with pytest.raises(EmitError, match="not writable"):
        emit(kernel, Target.level("x86-64-v4"))


@pytest.mark.parametrize("varying", [False, True])
def test_what_no_lane_wants_is_not_looked_for_where_it_would_be(run, varying: bool) -> None:
    """There is no memory a terabyte behind the buffer."""
    n, far = 64, 1 << 38
    row, lane = AxisVar("r"), AxisVar("i")
    position = lane if varying else row
    body = [
        IndexOp(0, position),
        ConstOp(1, 32 if varying else 1, "i64"),
        Op(2, "lt", (0, 1), "b8"),
        Load(
            3,
            "x",
            ir.add(lane, ir.mul(ir.floordiv(position, Const(32 if varying else 1)), Const(far))),
            "f32",
            2,
        ),
        Store("out", ir.add(ir.mul(row, Const(n)), lane), 3),
    ]
    inner = Loop("i", Const(n), body, parallel=True, vector=True)
    kernel = Kernel(
        "far", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), [Loop("r", Const(2), [inner])]
    )
    x, out = sample("f32", n), torch.ones(2 * n)
    assert run(kernel, {"x": x, "out": out}) == 0
    wanted = torch.zeros(2, n)
    wanted[:, :32] = x[:32] if varying else wanted[:, :32]
    wanted[0] = wanted[0] if varying else x
    assert torch.equal(out, wanted.flatten())


def test_a_masked_load_stays_in_its_buffer() -> None:
    lane = AxisVar("i")
    body = [
        IndexOp(0, lane),
        ConstOp(1, 5, "i64"),
        Op(2, "lt", (0, 1), "b8"),
        Load(3, "x", lane, "f32", 2),
        Store("out", lane, 3),
    ]
    loop = Loop("i", Const(64), body, parallel=True, vector=True)
    kernel = Kernel("masked", (Buffer("x", "f32"), Buffer("out", "f32", writable=True)), (), [loop])
    assert "select i1" in emit(kernel, Target.level("x86-64-v4"))
