"""Every kind of ill-formed loop IR is found and named."""

from __future__ import annotations

import pytest

from codegen.kernel import ir
from codegen.kernel.ir import AxisVar, Const
from codegen.kernel.verifier import VerificationError, verify

X = ir.Buffer("x", "f32")
OUT = ir.Buffer("out", "f32", writable=True)
LOAD = ir.Load(0, "x", AxisVar("i"), "f32")
STORE = ir.Store("out", AxisVar("i"), 0)


def kernel(body, buffers=(X, OUT), sizes=(), split=None):
    return ir.Kernel("k", buffers, sizes, body, split)


def loop(*body, axis="i", parallel=True, vector=False, unroll=1):
    return ir.Loop(axis, Const(8), list(body), parallel, vector, unroll)


def test_a_copy_is_well_formed():
    verify(kernel([loop(LOAD, STORE, vector=True)], split="i"))


def test_a_reduction_is_well_formed():
    total = ir.Accumulator("a", "sum", "f32")
    body = [
        total,
        loop(LOAD, ir.Update("a", 0), parallel=False),
        ir.ReadAccumulator(1, "a", "f32"),
        ir.Store("out", Const(0), 1),
    ]
    verify(kernel(body))


WRONG = {
    "not defined here": [loop(LOAD), ir.Store("out", Const(0), 0)],
    "defined twice": [loop(LOAD, LOAD)],
    "does not take f32, i64": [loop(LOAD, ir.ConstOp(1, 2, "i64"), ir.Op(2, "add", (0, 1), "f32"))],
    "unknown operation 'frob'": [loop(LOAD, ir.Op(1, "frob", (0,), "f32"))],
    "takes 2 arguments": [loop(LOAD, ir.Op(1, "add", (0,), "f32"))],
    "gives b8": [loop(LOAD, ir.Op(1, "lt", (0, 0), "f32"))],
    "unknown type": [ir.ConstOp(0, 1.0, "f128")],
    "no axis of the loops": [loop(ir.Load(0, "x", AxisVar("j"), "f32"))],
    "no size of the kernel": [loop(ir.Load(0, "x", ir.Sym("n"), "f32"))],
    "expected an integer": [loop(LOAD, ir.Load(1, "x", ir.Indirect(0), "f32"))],
    "unknown index operation": [loop(ir.Load(0, "x", ir.Binary("pow", Const(1), Const(2)), "f32"))],
    "unknown buffer": [loop(ir.Load(0, "y", AxisVar("i"), "f32"))],
    "holds f32, not f64": [loop(ir.Load(0, "x", AxisVar("i"), "f64"))],
    "is not writable": [loop(LOAD, ir.Store("x", AxisVar("i"), 0))],
    "expected b8": [loop(LOAD, ir.Check(0, 1))],
    "is not positive": [ir.ConstOp(0, True, "b8"), ir.Check(0, 0)],
    "has the same axis": [loop(loop(LOAD))],
    "vector loop inside a vector loop": [loop(loop(axis="j", vector=True), vector=True)],
    "unroll 0": [loop(unroll=0)],
    "unknown combination": [ir.Accumulator("a", "median", "f32")],
    "is declared twice": [ir.Accumulator("a", "sum", "f32"), ir.Accumulator("a", "sum", "f32")],
    "any does not take f32": [ir.Accumulator("a", "any", "f32")],
    "is not declared here": [loop(LOAD, ir.Update("a", 0))],
    "not inside a loop": [ir.ConstOp(0, 1.0, "f32"), ir.Accumulator("a", "sum", "f32"), ir.Update("a", 0)],
    "a parallel loop stands between": [ir.Accumulator("a", "sum", "f32"), loop(LOAD, ir.Update("a", 0))],
    "the accumulator holds f64": [
        ir.Accumulator("a", "sum", "f64"),
        loop(LOAD, ir.Update("a", 0), parallel=False),
    ],
    "argmax takes an index": [
        ir.Accumulator("a", "argmax", "f32"),
        loop(LOAD, ir.Update("a", 0), parallel=False),
    ],
    "gives b8 by any": [
        ir.Accumulator("a", "any", "b8"),
        loop(ir.ConstOp(0, True, "b8"), ir.ScanStep(1, "a", 0, "b8"), parallel=False),
    ],
    "another block": [ir.Accumulator("a", "sum", "f32"), loop(ir.ReadAccumulator(0, "a", "f32"))],
    "an index is a signed integer": [ir.IndexOp(0, Const(1), "u8")],
    "is no statement": ["store"],
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong(text):
    with pytest.raises(VerificationError, match=f"k: .*{text}"):
        verify(kernel(WRONG[text]))


def test_buffers():
    with pytest.raises(VerificationError, match="two buffers of one name"):
        verify(kernel([], (X, X)))
    with pytest.raises(VerificationError, match="unknown type"):
        verify(kernel([], (ir.Buffer("x", "c64"),)))
    with pytest.raises(VerificationError, match="is no buffer"):
        verify(kernel([], (ir.Buffer("x", "f32", alias_of="z"),)))


def test_what_is_divided_between_threads_is_parallel_and_stores_nothing_beside_it():
    with pytest.raises(VerificationError, match="which is not parallel"):
        verify(kernel([loop(parallel=False)], split="i"))
    with pytest.raises(VerificationError, match="stores to out outside of it"):
        verify(kernel([loop(LOAD, STORE)], split="j"))
