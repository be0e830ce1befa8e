"""Large results that bypass the caches: which ones these are, and that only aligned vectors do so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from codegen.kernel import ir
from codegen.kernel.ir import AxisVar, Buffer, Const, ConstOp, Kernel, Load, Loop, Op, Store
from codegen.kernel.ops import TORCH_DTYPES
from codegen.llvm import streaming
from codegen.llvm.emit import emit
from codegen.llvm.streaming import RESULT_BYTES, written_past_caches
from codegen.llvm.target import Target

i = AxisVar("i")
MANY = RESULT_BYTES // 4


def doubled(n: int, *, alias: bool = False, combine: str | None = None, dtype: str = "f32") -> Kernel:
    body: list[ir.Stmt] = [Load(0, "x", i, dtype), ConstOp(1, 2, dtype), Op(2, "mul", (0, 1), dtype)]
    body.append(Store("y", i, 2, combine=combine))
    buffers = (Buffer("x", dtype), Buffer("y", dtype, writable=True, alias_of="x" if alias else None))
    return Kernel("doubled", buffers, (), [Loop("i", Const(n), body, parallel=True, vector=True)])


def test_large_results_that_are_only_written() -> None:
    assert written_past_caches(doubled(MANY)) == {"y"}
    assert written_past_caches(doubled(MANY - 1)) == set()
    assert written_past_caches(doubled(MANY, alias=True)) == set()
    assert written_past_caches(doubled(MANY, combine="sum")) == set()


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_text(level: str) -> None:
    text = emit(doubled(MANY), Target.level(level))
    assert "!nontemporal !0" in text and "!0 = !{i32 1}" in text
    assert text.count("sfence") == 2  # declared, and called before the return
    assert "nontemporal" not in emit(doubled(MANY - 1), Target.level(level))


def test_no_such_store_on_other_processors() -> None:
    assert "nontemporal" not in emit(doubled(MANY), Target.level("aarch64"))


def test_short_pieces_are_not() -> None:
    rows = ir.add(ir.mul(AxisVar("r"), Const(4096)), i)
    body: list[ir.Stmt] = [ConstOp(0, 1.0, "f32"), Store("y", rows, 0)]
    inner = Loop("i", Const(64), body, parallel=True, vector=True)
    kernel = Kernel(
        "tile",
        (Buffer("y", "f32", writable=True),),
        (),
        [Loop("r", Const(MANY // 64), [inner], parallel=True)],
    )
    assert written_past_caches(kernel) == {"y"}
    assert "nontemporal" not in emit(kernel, Target.level("x86-64-v4"))


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "u8", "b8"])
@pytest.mark.parametrize("n", [4096, 4097, 5003])
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_values_at_any_address(run, monkeypatch, dtype: str, n: int, offset: int) -> None:
    monkeypatch.setattr(streaming, "RESULT_BYTES", 1024)
    torch_dtype = TORCH_DTYPES[dtype]
    body: list[ir.Stmt] = [Load(0, "x", i, dtype), Store("y", i, 0)]
    buffers = (Buffer("x", dtype), Buffer("y", dtype, writable=True))
    kernel = Kernel("copy", buffers, (), [Loop("i", Const(n), body, parallel=True, vector=True)])
    assert "nontemporal" in emit(kernel, Target.level("x86-64-v4"))
    x = (torch.arange(n) % 5).to(torch_dtype)
    y = torch.zeros(n + 100, dtype=torch_dtype)
    run(kernel, {"x": x, "y": y[offset : offset + n]})
    assert torch.equal(y[offset : offset + n], x)
    assert not y[:offset].any() and not y[offset + n :].any()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2 + 1,
        lambda x: (x + 1, x.bfloat16()),
        lambda x: F.layer_norm(x, x.shape[1:]),
        lambda x: torch.cat([x, x * 2], 1),
        lambda x: x.t().contiguous() + 1,
        lambda x: x + x.sum(0),
    ],
)
@pytest.mark.parametrize("shape", [(40, 1024), (41, 1030), (3, 5001)])
@pytest.mark.parametrize("threads", [1, 3])
def test_programs(monkeypatch, function: Callable[..., Any], shape: tuple[int, ...], threads: int) -> None:
    monkeypatch.setattr(streaming, "RESULT_BYTES", 1024)
    capture.reset()
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours, theirs = capture.compile(function, dynamic=False)(x), function(x)
    finally:
        torch.set_num_threads(before)
    for got, expected in zip(*(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True):
        assert isinstance(got, Tensor)
        torch.testing.assert_close(got, expected)
