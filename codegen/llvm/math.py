"""Elementary functions.

In:  `Op` names of `codegen/kernel/ops.py` that have no machine instruction; one operand or two, vectors or
     scalars.
Out: instructions. The frequent functions of float32, and exp and tanh of float64, are inline (range reduction
     and a polynomial, at most about 2 ulp). All others call the vector function of Sleef that libtorch_cpu
     exports (at most 1 ulp; eager calls many of them too), or libm if the processor has only SSE2.

    exp f32 %x     ->     n = round(x / log 2); r = x - n * log 2; (1 + r + r**2 * P(r)) * 2**n

Special values are those of libm: NaN gives NaN, exp(-inf) = 0, log(-1) = NaN, tanh(-0.0) = -0.0 and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from codegen.llvm import polynomials
from codegen.llvm.arithmetic import EMITTERS, Emitter, emits
from codegen.llvm.library import SLEEF, call_library
from codegen.llvm.types import SIZES
from codegen.llvm.values import Code

# Adding this number rounds a float32 to an integer, which is then in the low bits.
_ROUNDING = 12582912.0
_ROUNDING_BITS = 0x4B400000
_ROUNDING_F64 = 1.5 * 2.0**52
_ROUNDING_BITS_F64 = 0x4338000000000000
_LOG2_HIGH_F64, _LOG2_LOW_F64 = 0.6931471803691238, 1.9082149292705877e-10
_LOG2_HIGH = 0.693359375  # few bits: a product with an exponent is exact
_LOG2_LOW = -2.12194440e-4


def _inverse_hyperbolic(name: str) -> Emitter:
    """Sleef's asinh and acosh give infinity if a square in them overflows; eager uses libm, which does not.

    float32 is computed in float64; in float64 a large x uses the logarithm of 2 * x.
    """

    def emit(code: Code, dtype: str, operand: str) -> str:
        if code.target.sleef is None:
            return call_library(code, name, dtype, operand)
        if dtype == "f32":
            wide = call_library(code, name, "f64", code.convert("fpext", "f32", "f64", operand))
            return code.convert("fptrunc", "f64", "f32", wide)
        magnitude = code.intrinsic("fabs", "f64", operand) if name == "asinh" else operand
        logarithm = call_library(code, "log", "f64", magnitude)
        far = code.binary("fadd", "f64", logarithm, code.constant("f64", math.log(2)))
        if name == "asinh":
            far = code.intrinsic("copysign", "f64", far, operand)
        is_far = code.compare("fcmp ogt", "f64", magnitude, code.constant("f64", 1e9))
        return code.select(is_far, "f64", far, call_library(code, name, "f64", operand))

    return emit


def _library(name: str) -> Emitter:
    return lambda code, dtype, *operands: call_library(code, name, dtype, *operands)


for _name in SLEEF.keys() - {"sin", "cos"}:  # codegen/llvm/sines.py
    EMITTERS[_name] = _inverse_hyperbolic(_name) if _name in ("asinh", "acosh") else _library(_name)


def inline_f32(name: str) -> Callable[[Emitter], Emitter]:
    """Decorator: makes a function (code, operand) the float32 form of `name`; float64 stays a call."""

    def enter(function: Emitter) -> Emitter:
        def emit(code: Code, dtype: str, operand: str) -> str:
            return function(code, operand) if dtype == "f32" else call_library(code, name, dtype, operand)

        EMITTERS[name] = emit
        return function

    return enter


# --- exponentials -----------------------------------------------------------------------------------------


def rounded(code: Code, x: str, factor: float) -> tuple[str, str]:
    """round(x * factor) as a float32 and as an i32."""
    shifted = code.multiply_add("f32", x, code.constant("f32", factor), code.constant("f32", _ROUNDING))
    as_float = code.binary("fsub", "f32", shifted, code.constant("f32", _ROUNDING))
    bits = code.bits("f32", "i32", shifted)
    return as_float, code.binary("sub", "i32", bits, code.constant("i32", _ROUNDING_BITS))


def _limited(code: Code, x: str, low: float | None, high: float | None) -> str:
    """x limited to [low, high]; NaN stays NaN."""
    if low is not None:
        bound = code.constant("f32", low)
        x = code.select(code.compare("fcmp olt", "f32", x, bound), "f32", bound, x)
    if high is not None:
        bound = code.constant("f32", high)
        x = code.select(code.compare("fcmp ogt", "f32", x, bound), "f32", bound, x)
    return x


def _exp_parts(code: Code, x: str) -> tuple[str, str, str]:
    """exp(x) = first * 2**n with first near 1: (first, n as float, n as i32)."""
    rest, n, exponent = _expm1_parts(code, x)
    return code.binary("fadd", "f32", rest, code.constant("f32", 1)), n, exponent


def _expm1_parts(code: Code, x: str) -> tuple[str, str, str]:
    """exp(x) = (1 + rest) * 2**n with rest near 0: (rest, n as float, n as i32)."""
    n, exponent = rounded(code, x, math.log2(math.e))
    r = code.multiply_add("f32", n, code.constant("f32", -_LOG2_HIGH), x)
    r = code.multiply_add("f32", n, code.constant("f32", -_LOG2_LOW), r)
    rest = code.polynomial("f32", polynomials.EXP, r)
    return code.multiply_add("f32", rest, code.binary("fmul", "f32", r, r), r), n, exponent


#: dtype -> the integers of the same size, the bias of its exponents, the bits behind the leading one
_FORMATS = {"f32": ("i32", 127, 23), "f64": ("i64", 1023, 52)}


def _power_of_two(code: Code, dtype: str, exponent: str) -> str:
    """2**exponent for an exponent of a normal number."""
    integer, bias, places = _FORMATS[dtype]
    biased = code.binary("add", integer, exponent, code.constant(integer, bias))
    return code.bits(integer, dtype, code.binary("shl", integer, biased, code.constant(integer, places)))


def _scaled(code: Code, dtype: str, x: str, n: str, exponent: str) -> str:
    """x * 2**n for x near 1, rounded once, also for results that overflow or are denormal.

    `n` is a float, `exponent` the same as an integer.

    Processors take some 150 cycles where a product is denormal or vanishes, as most do in the softmax of a
    masked row. The bits of a denormal float32 are those of the integer x * 2**(n + 149). As a float, this
    number is normal, and adding 2**23 rounds it and leaves the integer in the low bits.
    """
    integer, bias, places = _FORMATS[dtype]
    above = bias + places - 1  # 2**-above is the smallest denormal number
    is_denormal = code.compare("fcmp olt", dtype, n, code.constant(dtype, 1 - bias))  # never NaN
    raised_n = code.binary("fadd", dtype, n, code.constant(dtype, above))
    raised_exponent = code.binary("add", integer, exponent, code.constant(integer, above))
    raised = _times_power(
        code,
        dtype,
        x,
        code.select(is_denormal, dtype, raised_n, n),
        code.select(is_denormal, integer, raised_exponent, exponent),
    )
    integral = code.binary("fadd", dtype, raised, code.constant(dtype, 2.0**places))
    bits_of_rounding = code.constant(integer, (bias + places) << places)
    denormal = code.binary("sub", integer, code.bits(dtype, integer, integral), bits_of_rounding)
    return code.select(is_denormal, dtype, code.bits(integer, dtype, denormal), raised)


def _times_power(code: Code, dtype: str, x: str, n: str, exponent: str) -> str:
    """x * 2**n for a result that is no denormal number."""
    if code.target.avx512 and code.lanes * SIZES[dtype] == 64:
        name = f"@llvm.x86.avx512.mask.scalef.{'ps' if dtype == 'f32' else 'pd'}.512"
        kind, mask = code.type(dtype), f"i{code.lanes}"
        code.function.declare(name, f"{kind} {name}({kind}, {kind}, {kind}, {mask}, i32)")
        return code.define(
            f"call {kind} {name}({kind} {x}, {kind} {n}, {kind} zeroinitializer, {mask} -1, i32 4)"
        )
    integer = _FORMATS[dtype][0]
    half = code.binary("ashr", integer, exponent, code.constant(integer, 1))
    for part in (half, code.binary("sub", integer, exponent, half)):
        x = code.binary("fmul", dtype, x, _power_of_two(code, dtype, part))
    return x


@inline_f32("exp")
def exp_f32(code: Code, x: str) -> str:
    first, n, exponent = _exp_parts(code, _limited(code, x, -104, 89))
    return _scaled(code, "f32", first, n, exponent)


def exp_f64(code: Code, x: str) -> str:
    """As in float32, with higher degree and precision."""

    def number(value: float) -> str:
        return code.constant("f64", value)

    for predicate, bound in (("fcmp olt", -746.0), ("fcmp ogt", 710.0)):
        x = code.select(code.compare(predicate, "f64", x, number(bound)), "f64", number(bound), x)
    rest, n, exponent = _expm1_parts_f64(code, x)
    return _scaled(code, "f64", code.binary("fadd", "f64", rest, number(1.0)), n, exponent)


def _expm1_parts_f64(code: Code, x: str) -> tuple[str, str, str]:
    """exp(x) = (1 + rest) * 2**n with rest near 0: (rest, n as float, n as i64)."""

    def number(value: float) -> str:
        return code.constant("f64", value)

    shifted = code.fma("f64", x, number(math.log2(math.e)), number(_ROUNDING_F64))
    n = code.binary("fsub", "f64", shifted, number(_ROUNDING_F64))
    r = code.fma("f64", n, number(-_LOG2_LOW_F64), code.fma("f64", n, number(-_LOG2_HIGH_F64), x))
    rest = code.polynomial("f64", polynomials.EXP_F64, r)
    bits = code.bits("f64", "i64", shifted)
    exponent = code.binary("sub", "i64", bits, code.constant("i64", _ROUNDING_BITS_F64))
    return code.fma("f64", rest, code.binary("fmul", "f64", r, r), r), n, exponent


@emits("exp")
def _exp(code: Code, dtype: str, x: str) -> str:
    if dtype == "f32":
        return exp_f32(code, x)
    return exp_f64(code, x) if code.target.fma else call_library(code, "exp", dtype, x)


@inline_f32("exp2")
def _exp2_f32(code: Code, x: str) -> str:
    x = _limited(code, x, -151, 129)
    n, exponent = rounded(code, x, 1)
    r = code.binary("fsub", "f32", x, n)
    first = code.multiply_add("f32", code.polynomial("f32", polynomials.EXP2, r), r, code.constant("f32", 1))
    return _scaled(code, "f32", first, n, exponent)


@inline_f32("expm1")
def _expm1_f32(code: Code, x: str) -> str:
    """(exp(r) - 1) * 2**n + (2**n - 1) of halves: 2**n itself may overflow where the result does not."""
    rest, _, exponent = _expm1_parts(code, _limited(code, x, -20, 89))
    half = _power_of_two(code, "f32", code.binary("sub", "i32", exponent, code.constant("i32", 1)))
    below = code.binary("fsub", "f32", half, code.constant("f32", 0.5))
    halved = code.multiply_add("f32", rest, half, below)
    return code.intrinsic("copysign", "f32", code.binary("fadd", "f32", halved, halved), x)


@emits("sigmoid")
def _sigmoid(code: Code, dtype: str, x: str) -> str:
    one = code.constant(dtype, 1)
    e = EMITTERS["exp"](code, dtype, code.unary("fneg", dtype, x))
    return code.binary("fdiv", dtype, one, code.binary("fadd", dtype, one, e))


@emits("tanh")
def _tanh(code: Code, dtype: str, x: str) -> str:
    if dtype == "f32":
        return _tanh_f32(code, x)
    return _tanh_f64(code, x) if code.target.fma else call_library(code, "tanh", dtype, x)


def _tanh_f64(code: Code, x: str) -> str:
    """m / (m + 2) with m = exp(2 * |x|) - 1, which is 0 where x is: no part of it needs a form of its own."""

    def number(value: float) -> str:
        return code.constant("f64", value)

    magnitude = code.intrinsic("fabs", "f64", x)
    is_far = code.compare("fcmp ogt", "f64", magnitude, number(20.0))
    limited = code.select(is_far, "f64", number(20.0), magnitude)
    rest, _, exponent = _expm1_parts_f64(code, code.binary("fadd", "f64", limited, limited))
    power = _power_of_two(code, "f64", exponent)
    m = code.fma("f64", rest, power, code.binary("fsub", "f64", power, number(1.0)))
    quotient = code.binary("fdiv", "f64", m, code.binary("fadd", "f64", m, number(2.0)))
    return code.intrinsic("copysign", "f64", quotient, x)


def _tanh_f32(code: Code, x: str) -> str:
    """Near 0 a polynomial; further out 1 - 2 / (exp(2 * |x|) + 1)."""
    magnitude = code.intrinsic("fabs", "f32", x)
    limited = _limited(code, magnitude, None, 10)
    first, _, exponent = _exp_parts(code, code.binary("fadd", "f32", limited, limited))
    e = code.binary("fmul", "f32", first, _power_of_two(code, "f32", exponent))
    one = code.constant("f32", 1)
    quotient = code.binary("fdiv", "f32", code.constant("f32", 2), code.binary("fadd", "f32", e, one))
    far = code.binary("fsub", "f32", one, quotient)
    square = code.binary("fmul", "f32", x, x)
    cubic = code.binary("fmul", "f32", code.polynomial("f32", polynomials.TANH, square), square)
    near = code.multiply_add("f32", cubic, x, x)
    is_near = code.compare("fcmp olt", "f32", magnitude, code.constant("f32", 0.625))
    return code.intrinsic("copysign", "f32", code.select(is_near, "f32", near, far), x)


@inline_f32("erf")
def _erf_f32(code: Code, x: str) -> str:
    """Near 0 a polynomial; further out 1 - exp(x * Q(x))."""
    magnitude = code.intrinsic("fabs", "f32", x)
    limited = _limited(code, magnitude, None, 4)
    logarithm = code.binary("fmul", "f32", code.polynomial("f32", polynomials.ERF_FAR, limited), limited)
    first, _, exponent = _exp_parts(code, logarithm)
    complement = code.binary("fmul", "f32", first, _power_of_two(code, "f32", exponent))
    far = code.intrinsic(
        "copysign", "f32", code.binary("fsub", "f32", code.constant("f32", 1), complement), x
    )
    square = code.binary("fmul", "f32", x, x)
    near = code.multiply_add("f32", code.polynomial("f32", polynomials.ERF_NEAR, square), x, x)
    is_near = code.compare("fcmp olt", "f32", magnitude, code.constant("f32", 0.9375))
    return code.select(is_near, "f32", near, far)


@emits("normal_cdf")
def _normal_cdf(code: Code, dtype: str, x: str) -> str:
    """float32: c on the left of 0 and 1 - c on the right, with c = erfc(|x| / sqrt(2)) / 2.

    c is computed as 2**(z * Q(z)): one polynomial and a power of two.
    """
    half = code.constant(dtype, 0.5)
    z = code.binary("fmul", dtype, x, code.constant(dtype, math.sqrt(0.5)))
    if dtype == "f64":
        erf = EMITTERS["erf"](code, dtype, z)
        return code.binary("fmul", dtype, code.binary("fadd", dtype, erf, code.constant(dtype, 1)), half)
    z = code.intrinsic("fabs", "f32", z)
    quotient = code.polynomial("f32", polynomials.ERFC_LOG2, _limited(code, z, None, 4.2))
    logarithm = _limited(code, code.binary("fmul", "f32", z, quotient), -151, None)
    n, exponent = rounded(code, logarithm, 1)
    power = code.polynomial("f32", polynomials.EXP2_SHORT, code.binary("fsub", "f32", logarithm, n))
    n = code.binary("fsub", "f32", n, code.constant("f32", 1))  # half of it
    tail = _scaled(code, "f32", power, n, code.binary("sub", "i32", exponent, code.constant("i32", 1)))
    is_left = code.compare("fcmp olt", "f32", x, code.constant("f32", 0))
    return code.select(is_left, "f32", tail, code.binary("fsub", "f32", code.constant("f32", 1), tail))


# --- logarithm --------------------------------------------------------------------------------------------


@inline_f32("log")
def _log_f32(code: Code, x: str) -> str:
    """x = 2**e * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)."""
    denormal = code.compare("fcmp olt", "f32", x, code.constant("f32", 2.0**-126))
    normal = code.select(denormal, "f32", code.binary("fmul", "f32", x, code.constant("f32", 2.0**23)), x)
    f, exponent = _log_parts(code, normal)
    correction = code.select(denormal, "f32", code.constant("f32", 23), code.constant("f32", 0))
    e = code.binary("fsub", "f32", code.convert("sitofp", "i32", "f32", exponent), correction)
    return _log_special(code, x, _log_of_parts(code, f, e))


@inline_f32("log1p")
def _log1p_f32(code: Code, x: str) -> str:
    """The logarithm of u = 1 + x = 2**e * (1 + f), with f computed from x itself.

    f = x * 2**-e + (2**-e - 1) still has the bits that u lost by rounding.
    """
    one = code.constant("f32", 1)
    u = code.binary("fadd", "f32", x, one)
    f_of_u, exponent = _log_parts(code, u)
    scale = _power_of_two(code, "f32", code.binary("sub", "i32", code.constant("i32", 0), exponent))
    f_of_x = code.multiply_add("f32", x, scale, code.binary("fsub", "f32", scale, one))
    # A large x loses nothing in u, and 2**-e may not be a normal number.
    is_far = code.compare("fcmp ogt", "f32", x, code.constant("f32", 2.0**32))
    f = code.select(is_far, "f32", f_of_u, f_of_x)
    e = code.convert("sitofp", "i32", "f32", exponent)
    result = _log_special(code, u, _log_of_parts(code, f, e))
    is_zero = code.compare("fcmp oeq", "f32", x, code.constant("f32", 0))  # of either sign
    return code.select(is_zero, "f32", x, result)


def _log_parts(code: Code, x: str) -> tuple[str, str]:
    """(f, e as an i32) of a normal x; the caller replaces the result for x <= 0, infinity and NaN."""
    bits = code.bits("f32", "i32", x)
    # Subtracting the bits of sqrt(1/2) leaves the exponent of the power of two that brings x into the
    # interval.
    offset = code.binary("sub", "i32", bits, code.constant("i32", 0x3F3504F3))
    exponent = code.binary("ashr", "i32", offset, code.constant("i32", 23))
    scaled = code.binary("sub", "i32", bits, code.binary("shl", "i32", exponent, code.constant("i32", 23)))
    return code.binary("fsub", "f32", code.bits("i32", "f32", scaled), code.constant("f32", 1)), exponent


def _log_of_parts(code: Code, f: str, e: str) -> str:
    """log(1 + f) + e * log(2)."""
    square = code.binary("fmul", "f32", f, f)
    rest = code.binary(
        "fmul", "f32", code.binary("fmul", "f32", f, square), code.polynomial("f32", polynomials.LOG, f)
    )
    rest = code.multiply_add("f32", e, code.constant("f32", _LOG2_LOW), rest)
    rest = code.multiply_add("f32", square, code.constant("f32", -0.5), rest)
    return code.multiply_add("f32", e, code.constant("f32", _LOG2_HIGH), code.binary("fadd", "f32", f, rest))


def _log_special(code: Code, x: str, finite: str) -> str:
    zero, infinity = code.constant("f32", 0), code.constant("f32", math.inf)
    # olt is false for NaN and infinity: they are their own logarithm.
    result = code.select(code.compare("fcmp olt", "f32", x, infinity), "f32", finite, x)
    at_zero = code.select(
        code.compare("fcmp oeq", "f32", x, zero), "f32", code.constant("f32", -math.inf), result
    )
    return code.select(
        code.compare("fcmp olt", "f32", x, zero), "f32", code.constant("f32", math.nan), at_zero
    )
