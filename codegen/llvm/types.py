"""Element types of loop IR as LLVM types and literals.

In:  names of `codegen.kernel.ir.DTYPES`, Python numbers.
Out: text.

    register_type("f32", 16) -> "<16 x float>"        memory_type("b8", 16) -> "<16 x i8>"
    literal("f32", 0.1)      -> "0x3FB99999A0000000"  constant("i64", 3, 8) -> "splat (i64 3)"

A register holds a `b8` as i1, and a `bf16` or `f16` as the 16 bits of its encoding (loop IR does not compute
in these types).
"""

from __future__ import annotations

import math
import struct

_REGISTER = {
    "f32": "float",
    "f64": "double",
    "bf16": "i16",
    "f16": "i16",
    "i64": "i64",
    "i32": "i32",
    "i16": "i16",
    "i8": "i8",
    "u8": "i8",
    "b8": "i1",
}
SIZES = {"f32": 4, "f64": 8, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1, "b8": 1}
FLOATS = frozenset({"f32", "f64"})
UNSIGNED = frozenset({"u8", "b8"})


def vector(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"


def register_type(dtype: str, lanes: int) -> str:
    """The type of a value of `dtype` in registers; one lane is a scalar."""
    return vector(_REGISTER[dtype], lanes)


def memory_element(dtype: str) -> str:
    return "i8" if dtype == "b8" else _REGISTER[dtype]


def memory_type(dtype: str, lanes: int) -> str:
    return vector(memory_element(dtype), lanes)


def literal(dtype: str, value: float | int | bool) -> str:
    """The LLVM literal of `value`, converted to `dtype` as torch converts a Python number."""
    if dtype in FLOATS:
        return _float_literal(dtype, float(value))
    if dtype == "b8":
        return "true" if value else "false"
    if dtype == "bf16":
        return str(bfloat16_bits(float(value)))
    if dtype == "f16":
        return str(float16_bits(float(value)))
    return str(wrap(int(value), 8 * SIZES[dtype]))


def constant(dtype: str, value: float | int | bool, lanes: int) -> str:
    """`literal` in every lane."""
    text = literal(dtype, value)
    return text if lanes == 1 else f"splat ({_REGISTER[dtype]} {text})"


def wrap(value: int, bits: int) -> int:
    """`value` as a signed two's complement number of `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def round_to_f32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _float_literal(dtype: str, value: float) -> str:
    """LLVM writes both types as the bits of a double."""
    rounded = round_to_f32(value) if dtype == "f32" else value
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


def bfloat16_bits(value: float) -> int:
    """Rounds to nearest even after rounding to float32, as torch does."""
    bits = int(struct.unpack("<I", struct.pack("<f", round_to_f32(value)))[0])
    if math.isnan(value):
        return wrap(0x7FC0, 16)
    return wrap((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, 16)


def float16_bits(value: float) -> int:
    try:
        return wrap(struct.unpack("<H", struct.pack("<e", round_to_f32(value)))[0], 16)
    except OverflowError:
        return wrap(0x7C00 if value > 0 else 0xFC00, 16)
