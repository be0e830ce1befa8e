"""Kernels that only read memory use registers of half the width; gathers prefetch the next row."""

from __future__ import annotations

import pytest
import torch

import capture
from codegen.kernel import ir
from codegen.kernel.ops import OPS
from codegen.llvm.emit import emit
from codegen.llvm.library import SLEEF
from codegen.llvm.streaming import CYCLES
from codegen.llvm.target import Target
from tests.codegen.lowering_check import kernels, lowered

LARGE, SMALL = torch.zeros(4096, 1024), torch.zeros(64, 1024)


@pytest.mark.parametrize(
    ("function", "x", "bits"),
    [
        (lambda x: x.sum(1), LARGE, 256),
        (lambda x: x.sum(0), LARGE, 256),
        (lambda x: x.amax(1), LARGE, 256),
        (lambda x: x.norm(), LARGE, 256),
        (lambda x: x.sum(1), SMALL, 512),
        (lambda x: x.exp().sum(1), LARGE, 512),
        (lambda x: x.argmax(1), LARGE, 512),
        (lambda x: x + 1, LARGE, 512),
    ],
)
def test_width(function, x, bits):
    (kernel, *_) = kernels(lowered(function, x)[0])
    text = emit(kernel, Target.level("x86-64-v4"))
    assert f'"prefer-vector-width"="{bits}"' in text
    assert f'"min-legal-vector-width"="{bits}"' in text
    assert '"prefer-vector-width"="128"' in emit(kernel, Target.level("x86-64"))


def test_values():
    x = torch.randn(4096, 1027)
    for function in (lambda x: x.sum(1), lambda x: x.sum(0), lambda x: x.amax(1), lambda x: x.norm()):
        torch.testing.assert_close(capture.compile(function)(x), function(x), rtol=1e-4, atol=1e-3)


def columns(rows: int, columns: int, taken: int) -> torch.Tensor:
    return torch.randint(columns, (rows, taken))


@pytest.mark.parametrize(
    ("function", "arguments", "asks"),
    [
        (lambda x, i: x.gather(1, i), (LARGE, columns(4096, 1024, 1024)), True),
        (lambda x, i: x.gather(1, i) * 2, (LARGE.double(), columns(4096, 1024, 600)), True),
        (lambda x, i: x.gather(2, i),
         (LARGE.view(4, 1024, 1024), columns(4096, 1024, 1024).view(4, 1024, 1024)), True),
        (lambda x, i: x[:, i], (LARGE, columns(1, 1024, 1024)[0]), True),
        (lambda x, i: x.gather(1, i), (SMALL, columns(64, 1024, 1024)), False),  # in the cache
        (lambda x, i: x.gather(1, i), (LARGE, columns(4096, 1024, 100)), False),  # only a part of a row
        (lambda x, i: x.gather(0, i), (LARGE, columns(4096, 4096, 1024)), False),
        (lambda x, i: x[i], (LARGE, columns(1, 4096, 4096)[0]), False),
    ],
)  # fmt: skip
def test_gathers_ask_for_the_next_row(function, arguments, asks):
    (kernel, *_) = kernels(lowered(function, *arguments)[0])
    for level in ("x86-64", "x86-64-v4", "aarch64"):
        assert ("llvm.prefetch" in emit(kernel, Target.level(level))) is asks


@pytest.mark.parametrize("taken", [1024, 1003, 515])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.bool])
def test_gathered_values(taken, dtype):
    x, where = torch.randn(1500, 1024).mul(9).to(dtype), columns(1500, 1024, taken)
    function = lambda x, i: x.gather(1, i)  # noqa: E731
    assert torch.equal(capture.compile(function)(x, where), function(x, where))
    where[1499, taken - 1] = 1024
    with pytest.raises(RuntimeError, match="out of bounds"):
        capture.compile(function)(x, where)


def test_no_library_function_is_called_with_narrower_registers():
    """Their arguments are whole registers."""
    assert all(OPS[name].cost > CYCLES for name in SLEEF)


def test_the_stack_is_aligned_where_sleef_is_called() -> None:
    """Its functions keep whole vectors on the stack."""

    def text(op: str) -> str:
        i = ir.AxisVar("i")
        body: list[ir.Stmt] = [ir.Load(0, "x", i, "f32"), ir.Op(1, op, (0,), "f32"), ir.Store("y", i, 1)]
        buffers = (ir.Buffer("x", "f32"), ir.Buffer("y", "f32", writable=True))
        loop = ir.Loop("i", ir.Const(64), body, parallel=True, vector=True)
        return emit(ir.Kernel("k", buffers, (), [loop]), Target.level("x86-64-v4"))

    assert "Sleef" in text("lgamma") and "alignstack(64)" in text("lgamma")
    assert "alignstack" not in text("sqrt")
