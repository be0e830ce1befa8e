"""Sine and cosine of float32.

In:  an operand of vectors or a scalar, on processors that have an instruction for a * b + c and Sleef.
Out: a call of a function in the same module, one for all kernels there.

    n = round(x / (pi / 2));  r = x - n * (pi / 2)
    sin(x) = sin(r), cos(r), -sin(r), -cos(r)  for n = 0, 1, 2, 3 modulo 4;  cos(x) is that for n + 1

|r| <= pi / 4, and sin(r) and cos(r) are polynomials. Where a lane is so far from 0 that three numbers which
add up to pi / 2 are not enough for r, that lane has what Sleef computes.

The reduction is that of Cody and Waite, "Software Manual for the Elementary Functions" (1980). Its first step
is exact: n has few bits, and the difference is a multiple of 2**-24 below 1.
"""

from __future__ import annotations

import math

from codegen.llvm import polynomials
from codegen.llvm.arithmetic import EMITTERS, Emitter
from codegen.llvm.function_text import FunctionText
from codegen.llvm.library import call_library, call_vector, sleef_function
from codegen.llvm.math import rounded
from codegen.llvm.target import Target
from codegen.llvm.types import register_type
from codegen.llvm.values import Code

HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)  # each a float32
FAR = 2.0**15  # the quotient has at most 15 bits


def _near(code: Code, name: str, x: str) -> str:
    def number(value: float) -> str:
        return code.constant("f32", value)

    quarters, n = rounded(code, x, 2 / math.pi)
    r = x
    for part in HALF_PI:
        r = code.fma("f32", quarters, number(-part), r)
    square = code.binary("fmul", "f32", r, r)
    cubic = code.binary("fmul", "f32", code.polynomial("f32", polynomials.SIN, square), square)
    sine = code.fma("f32", cubic, r, r)
    rest = code.fma("f32", code.polynomial("f32", polynomials.COS, square), square, number(-0.5))
    cosine = code.fma("f32", rest, square, number(1))
    if name == "cos":
        n = code.binary("add", "i32", n, code.constant("i32", 1))
    bit = code.binary("and", "i32", n, code.constant("i32", 1))
    is_even = code.compare("icmp eq", "i32", bit, code.constant("i32", 0))
    low = code.binary("shl", "i32", n, code.constant("i32", 30))
    sign = code.binary("and", "i32", low, code.constant("i32", -(1 << 31)))
    size = code.bits("f32", "i32", code.select(is_even, "f32", sine, cosine))
    result = code.bits("i32", "f32", code.binary("xor", "i32", size, sign))
    if name == "cos":
        return result
    return code.select(code.compare("fcmp oeq", "f32", x, number(0)), "f32", x, result)  # -0.0 stays


def _definition(target: Target, name: str, symbol: str) -> tuple[dict[str, str], str]:
    """(declarations by name, definition) of the function of one register."""
    function = FunctionText()
    lanes = target.lanes("f32")
    code = Code(function, target, 0, lanes)
    kind = register_type("f32", lanes)
    magnitude = code.intrinsic("fabs", "f32", "%x")
    is_far = code.compare("fcmp ogt", "f32", magnitude, code.constant("f32", FAR))
    reduce = f"@llvm.vector.reduce.or.v{lanes}i1"
    function.declare(reduce, f"i1 {reduce}(<{lanes} x i1>)")
    any_far = code.define(f"call i1 {reduce}(<{lanes} x i1> {is_far})")
    near = _near(code, name, "%x")
    function.branch(any_far, "far", "near")
    function.start_block("near")
    function.line(f"ret {kind} {near}")
    function.start_block("far")
    library = code.define(f"call {kind} @{sleef_function(code, name, 'f32', 1)}({kind} %x)")
    # What a lane gets depends on no other lane.
    function.line(f"ret {kind} {code.select(is_far, 'f32', library, near)}")
    head = f"define internal {kind} @{symbol}({kind} %x) {target.attributes()} willreturn memory(none) {{"
    return function.declarations, "\n".join([head, "entry:", *function.frames[0].lines, "}"])


def _emitter(name: str) -> Emitter:
    def emit(code: Code, dtype: str, x: str) -> str:
        if dtype != "f32" or code.target.sleef is None or not code.target.fma:
            return call_library(code, name, dtype, x)
        symbol = f"{name}_f32_{code.target.lanes(dtype)}"
        if f"@{symbol}" not in code.function.declarations:
            declarations, definition = _definition(code.target, name, symbol)
            code.function.declarations.update({**declarations, f"@{symbol}": definition})
        return call_vector(code, symbol, dtype, x)

    return emit


for _name in ("sin", "cos"):
    EMITTERS[_name] = _emitter(_name)
