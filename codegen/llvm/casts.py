"""Conversions between element types.

In:  a value's text, its dtype and the wanted dtype.
Out: the text of the converted value, converted as torch does it.

    cast(code, "f32", "i8", x)     ->     range check, fptosi to i32, trunc to i8

LLVM does not define the conversion of a float that is out of the integer's range. Eager uses the conversion
of the processor, which gives the least number. Conversions to narrower integers go through i32, as compilers
do it.
"""

from __future__ import annotations

from codegen.llvm.types import FLOATS, SIZES, UNSIGNED
from codegen.llvm.values import Code

_HALF = frozenset({"bf16", "f16"})
_INTEGERS = frozenset({"i64", "i32", "i16", "i8", "u8"})


def cast(code: Code, source: str, target: str, operand: str) -> str:
    """`operand` of dtype `source`, converted to `target`."""
    if source == target:
        return operand
    if source in _HALF:
        widen = bfloat16_to_float if source == "bf16" else float16_to_float
        return cast(code, "f32", target, widen(code, operand))
    if target in _HALF:
        narrow = float_to_bfloat16 if target == "bf16" else float_to_float16
        return narrow(code, cast(code, source, "f32", operand))
    if source in FLOATS:
        return _from_float(code, source, target, operand)
    return _from_integer(code, source, target, operand)


def _from_float(code: Code, source: str, target: str, operand: str) -> str:
    if target in FLOATS:
        return code.convert("fpext" if target == "f64" else "fptrunc", source, target, operand)
    if target == "b8":
        return code.compare("fcmp une", source, operand, code.constant(source, 0))
    if target == "i64":
        return _truncate(code, source, "i64", operand)
    narrow = _truncate(code, source, "i32", operand)
    return narrow if target == "i32" else code.convert("trunc", "i32", target, narrow)


def _truncate(code: Code, source: str, target: str, operand: str) -> str:
    """Truncates towards zero. The result is the least number where the value does not fit, or is NaN."""
    limit = 2.0 ** (8 * SIZES[target] - 1)
    # Every float above -limit - 1 truncates into the range; for wide integers -limit is the next float.
    above = "fcmp ogt" if source == "f64" and target == "i32" else "fcmp oge"
    least = -limit - 1 if above == "fcmp ogt" else -limit
    fits = code.binary(
        "and",
        "b8",
        code.compare(above, source, operand, code.constant(source, least)),
        code.compare("fcmp olt", source, operand, code.constant(source, limit)),
    )
    safe = code.select(fits, source, operand, code.constant(source, 0))
    return code.select(
        fits, target, code.convert("fptosi", source, target, safe), code.constant(target, -int(limit))
    )


def _from_integer(code: Code, source: str, target: str, operand: str) -> str:
    if target == "b8":
        return code.compare("icmp ne", source, operand, code.constant(source, 0))
    if target in FLOATS:
        return code.convert("uitofp" if source in UNSIGNED else "sitofp", source, target, operand)
    if source == "b8":
        return code.convert("zext", source, target, operand)
    if SIZES[source] == SIZES[target]:
        return operand
    if SIZES[source] > SIZES[target]:
        return code.convert("trunc", source, target, operand)
    return code.convert("zext" if source in UNSIGNED else "sext", source, target, operand)


# --- half precision: i16 holds the encoding ---------------------------------------------------------------


def bfloat16_to_float(code: Code, operand: str) -> str:
    wide = code.convert("zext", "bf16", "i32", operand)
    return code.bits("i32", "f32", code.binary("shl", "i32", wide, code.constant("i32", 16)))


def float_to_bfloat16(code: Code, operand: str) -> str:
    """Rounds to nearest even, on the bits; NaN becomes the quiet NaN that torch writes."""
    encoded = code.bits("f32", "i32", operand)
    sixteen = code.constant("i32", 16)
    odd = code.binary("and", "i32", code.binary("lshr", "i32", encoded, sixteen), code.constant("i32", 1))
    bias = code.binary("add", "i32", odd, code.constant("i32", 0x7FFF))
    rounded = code.binary("lshr", "i32", code.binary("add", "i32", encoded, bias), sixteen)
    quiet = code.select(code.is_nan("f32", operand), "i32", code.constant("i32", 0x7FC0), rounded)
    return code.convert("trunc", "i32", "bf16", quiet)


def float16_to_float(code: Code, operand: str) -> str:
    if code.target.f16c:
        half = code.define(f"bitcast {code.type('f16')} {operand} to {_half_type(code)}")
        wide = code.define(f"fpext {_half_type(code)} {half} to {code.type('f32')}")
        # LLVM would compute floor(wide(x)) as wide(floor(x)), which it does lane by lane.
        return code.intrinsic("arithmetic.fence", "f32", wide)
    return _float16_to_float_by_bits(code, operand)


def float_to_float16(code: Code, operand: str) -> str:
    if code.target.f16c:
        half = code.define(f"fptrunc {code.type('f32')} {operand} to {_half_type(code)}")
        return code.define(f"bitcast {_half_type(code)} {half} to {code.type('f16')}")
    return _float_to_float16_by_bits(code, operand)


def _half_type(code: Code) -> str:
    return "half" if code.lanes == 1 else f"<{code.lanes} x half>"


def _float16_to_float_by_bits(code: Code, operand: str) -> str:
    """Moves exponent and mantissa to their place and scales by 2**112.

    The scaling is exact for denormals too. Infinity and NaN need the exponent of a float32.
    """
    wide = code.convert("zext", "f16", "i32", operand)
    magnitude = code.binary("and", "i32", wide, code.constant("i32", 0x7FFF))
    sign = code.binary("and", "i32", wide, code.constant("i32", 0x8000))
    placed = code.binary("shl", "i32", magnitude, code.constant("i32", 13))
    finite = code.binary("fmul", "f32", code.bits("i32", "f32", placed), code.constant("f32", 2.0**112))
    special = code.binary("or", "i32", placed, code.constant("i32", 0x7F800000))
    is_special = code.compare("icmp uge", "i32", magnitude, code.constant("i32", 0x7C00))
    body = code.select(is_special, "i32", special, code.bits("f32", "i32", finite))
    encoded = code.binary("or", "i32", body, code.binary("shl", "i32", sign, code.constant("i32", 16)))
    return code.bits("i32", "f32", encoded)


def _float_to_float16_by_bits(code: Code, operand: str) -> str:
    """Rounds on the bits and moves the exponent, for normal results.

    For denormal results, an addition of 0.5 aligns and rounds the mantissa.
    """
    encoded = code.bits("f32", "i32", operand)
    magnitude = code.binary("and", "i32", encoded, code.constant("i32", 0x7FFFFFFF))
    sign = code.binary(
        "and",
        "i32",
        code.binary("lshr", "i32", encoded, code.constant("i32", 16)),
        code.constant("i32", 0x8000),
    )
    thirteen = code.constant("i32", 13)
    odd = code.binary("and", "i32", code.binary("lshr", "i32", magnitude, thirteen), code.constant("i32", 1))
    rounded = code.binary(
        "add", "i32", magnitude, code.binary("add", "i32", odd, code.constant("i32", 0xFFF - (112 << 23)))
    )
    normal = code.binary("lshr", "i32", rounded, thirteen)
    aligned = code.binary("fadd", "f32", code.bits("i32", "f32", magnitude), code.constant("f32", 0.5))
    denormal = code.binary("sub", "i32", code.bits("f32", "i32", aligned), code.constant("i32", 0x3F000000))
    is_denormal = code.compare("icmp ult", "i32", magnitude, code.constant("i32", 113 << 23))
    finite = code.select(is_denormal, "i32", denormal, normal)
    overflows = code.compare("icmp uge", "i32", magnitude, code.constant("i32", 0x477FF000))
    limited = code.select(overflows, "i32", code.constant("i32", 0x7C00), finite)
    is_nan = code.compare("icmp ugt", "i32", magnitude, code.constant("i32", 0x7F800000))
    body = code.select(is_nan, "i32", code.constant("i32", 0x7E00), limited)
    return code.convert("trunc", "i32", "f16", code.binary("or", "i32", body, sign))
