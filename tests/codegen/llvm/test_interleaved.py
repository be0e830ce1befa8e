"""Stores that fill memory together: which ones these are, and the values that they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import capture
from codegen.kernel import ir
from codegen.kernel.ir import AxisVar, Buffer, Const, Kernel, Load, Loop, Op, Store
from codegen.kernel.ops import TORCH_DTYPES
from codegen.llvm.emit import emit
from codegen.llvm.interleaved import interleaved_loads, interleaved_stores
from codegen.llvm.target import Target

i, j = AxisVar("i"), AxisVar("j")


def at(step: int, offset: int, buffer: str = "y") -> Store:
    return Store(buffer, ir.add(ir.mul(i, Const(step)), Const(offset)), 0)


def rows(*statements: ir.Stmt) -> list[tuple[ir.Stmt, ...]]:
    return list(interleaved_stores(list(statements), "i", {"y", "z"}).values())


def test_every_element_of_a_row_is_needed() -> None:
    pair, three = (at(2, 0), at(2, 1)), (at(3, 1), at(3, 2), at(3, 3))
    assert rows(*pair) == [pair]
    assert rows(pair[1], pair[0]) == [pair]
    assert rows(three[2], three[0], three[1]) == [three]
    assert rows(*three[:2]) == []
    assert rows(at(2, 0), at(2, 1, "z")) == []
    assert rows(at(2, 0), at(2, 2)) == []
    assert rows(at(5, 0), at(5, 1), at(5, 2), at(5, 3), at(5, 4)) == []
    assert rows(at(1, 0), at(1, 1)) == []


def test_nothing_waits_for_what_may_read_it() -> None:
    first, second = at(2, 0), at(2, 1)
    assert rows(first, Load(1, "y", i, "f32"), second) == []
    assert rows(first, Load(1, "x", i, "f32"), second) == [(first, second)]
    assert rows(first, Loop("k", Const(3)), second) == []
    assert rows(first, Store("y", ir.add(ir.mul(i, Const(2)), Const(1)), 0, mask=3)) == []
    assert rows(first, Store("y", ir.add(ir.mul(i, Const(2)), Const(1)), 0, combine="sum")) == []


def test_the_rest_of_the_index_is_the_same() -> None:
    def inside(offset: int, rest: ir.Expr) -> Store:
        return Store("y", ir.add(ir.add(ir.mul(i, Const(2)), rest), Const(offset)), 0)

    both = (inside(0, ir.mul(j, Const(64))), inside(1, ir.mul(j, Const(64))))
    assert rows(*both) == [both]
    assert rows(both[0], inside(1, ir.mul(j, Const(32)))) == []


def test_loads_that_take_turns() -> None:
    def load(number: int, step: int, offset: int, buffer: str = "x", mask: int | None = None) -> Load:
        return Load(number, buffer, ir.add(ir.mul(i, Const(step)), Const(offset)), "f32", mask)

    def groups(*loads: Load) -> list[tuple[Load, ...]]:
        return list(interleaved_loads(list(loads), "i", {"y"}).values())

    three = (load(0, 3, 0), load(1, 3, 1), load(2, 3, 2))
    assert groups(*three) == [three]
    assert list(interleaved_loads([three[2], three[0], three[1]], "i", set())) == [id(three[2])]
    assert groups(*three[:2]) == []
    assert groups(load(0, 2, 0), load(1, 2, 1)) == []  # read in pairs of vectors anyway
    assert groups(*(load(k, 3, k, "y") for k in range(3))) == []
    assert groups(load(0, 3, 0), load(1, 3, 1, mask=7), load(2, 3, 2)) == []
    computed = ir.Indirect(9)
    assert groups(*(Load(k, "x", ir.add(load(k, 3, k).index, computed), "f32") for k in range(3))) == []


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "i64", "u8", "b8"])
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 7, 16, 100])
@pytest.mark.parametrize("dynamic", [False, True])
def test_values(run, dtype: str, count: int, n: int, dynamic: bool) -> None:
    torch_dtype = TORCH_DTYPES[dtype]
    parts = {f"x{k}": (torch.arange(n) * 7 % 5 + k).to(torch_dtype) for k in range(count)}
    body: list[ir.Stmt] = [Load(k, f"x{k}", i, dtype) for k in range(count)]
    body += [Store("y", ir.add(ir.mul(i, Const(count)), Const(k)), k) for k in range(count)]
    extent = ir.Sym("n") if dynamic else Const(n)
    buffers = (*(Buffer(name, dtype) for name in parts), Buffer("y", dtype, writable=True))
    kernel = Kernel(
        "turns", buffers, ("n",) if dynamic else (), [Loop("i", extent, body, parallel=True, vector=True)]
    )
    y = torch.zeros(n * count + 8, dtype=torch_dtype)
    run(kernel, {**parts, "y": y}, {"n": n} if dynamic else {})
    assert torch.equal(y[: n * count], torch.stack(list(parts.values()), -1).reshape(-1))
    assert not y[n * count :].any()


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "i64", "u8", "b8"])
@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("n", [1, 7, 16, 100])
def test_values_read(run, dtype: str, count: int, n: int) -> None:
    torch_dtype = TORCH_DTYPES[dtype]
    x = (torch.arange(n * count) * 7 % 5).to(torch_dtype)
    body: list[ir.Stmt] = [
        Load(k, "x", ir.add(ir.mul(i, Const(count)), Const(k)), dtype) for k in range(count)
    ]
    body += [Store(f"y{k}", i, k) for k in range(count)]
    buffers = (Buffer("x", dtype), *(Buffer(f"y{k}", dtype, writable=True) for k in range(count)))
    kernel = Kernel("turns", buffers, (), [Loop("i", Const(n), body, parallel=True, vector=True)])
    results = {f"y{k}": torch.zeros(n, dtype=torch_dtype) for k in range(count)}
    run(kernel, {"x": x, **results})
    assert torch.equal(torch.stack(list(results.values()), -1).reshape(-1), x)


def test_no_scatter_is_left() -> None:
    body: list[ir.Stmt] = [
        Load(0, "x", i, "f32"),
        Op(1, "neg", (0,), "f32"),
        at(2, 0),
        Store("y", ir.add(ir.mul(i, Const(2)), Const(1)), 1),
    ]
    kernel = Kernel(
        "turns",
        (Buffer("x", "f32"), Buffer("y", "f32", writable=True)),
        (),
        [Loop("i", Const(64), body, parallel=True, vector=True)],
    )
    text = emit(kernel, Target.level("x86-64-v4"))
    assert "scatter" not in text and "store <32 x float>" in text


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


STACKS: list[Callable[..., Any]] = [
    lambda x, y: torch.stack([x, y], -1),
    lambda x, y: torch.stack([x, y, x + y], -1),
    lambda x, y: torch.stack([x - y, y, x + y, x * y], -1),
    lambda x, y: torch.stack([x.t(), y.t()], -1),
    lambda x, y: rotated(x, y[:, :20], x[:, :20]),
    lambda x, y: torch.stack([x, y, x, y, x], -1),
]


@pytest.mark.parametrize("function", STACKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_stacks(function: Callable[..., Any], dtype: torch.dtype) -> None:
    capture.reset()
    generator = torch.Generator().manual_seed(0)
    x, y = ((torch.randn(30, 40, generator=generator) * 4).to(dtype) for _ in range(2))
    ours, theirs = capture.compile(function, fullgraph=True)(x, y), function(x, y)
    assert torch.equal(ours, theirs) and ours.stride() == theirs.stride()
