"""Arithmetic, comparisons, bits and selection.

In:  `Op` names of `codegen/kernel/ops.py` (which defines what each one means), with operands of equal lanes.
Out: instructions. `EMITTERS[name](code, dtype, *operands)` returns the text of the result; `dtype` is the
     type of the operands (of the second one for `where`).

    sub f32 %a, %b     ->     %t1 = fsub <16 x float> %a, %b

No instruction here may trap or give poison for any operands: lanes behind the end of a row compute with
whatever values they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from codegen.kernel.families import Table
from codegen.kernel.ops import HALVES
from codegen.llvm import contents
from codegen.llvm.types import FLOATS, SIZES, UNSIGNED
from codegen.llvm.values import Code

SIGN_OF_HALVES = -(1 << 15)  # the sign bit of the encoding, as an i16

Emitter = Callable[..., str]
EMITTERS: Table[Emitter] = Table(contents, "EMITTERS")


def emits(name: str) -> Callable[[Emitter], Emitter]:
    """Decorator: makes the function the emitter of the operation `name`."""

    def enter(function: Emitter) -> Emitter:
        EMITTERS[name] = function
        return function

    return enter


def _two_forms(name: str, for_floats: str, for_integers: str) -> None:
    def emit(code: Code, dtype: str, left: str, right: str) -> str:
        return code.binary(for_floats if dtype in FLOATS else for_integers, dtype, left, right)

    EMITTERS[name] = emit


for _name in ("add", "sub", "mul"):
    _two_forms(_name, "f" + _name, _name)
for _name in ("and", "or", "xor"):
    _two_forms(_name, _name, _name)


@emits("div")
def _div(code: Code, dtype: str, left: str, right: str) -> str:
    return code.binary("fdiv", dtype, left, right)


@emits("neg")
def _neg(code: Code, dtype: str, operand: str) -> str:
    if dtype in FLOATS:
        return code.unary("fneg", dtype, operand)
    if dtype in HALVES:
        return code.binary("xor", "i16", operand, code.constant("i16", SIGN_OF_HALVES))
    return code.binary("sub", dtype, code.constant(dtype, 0), operand)


@emits("abs")
def _abs(code: Code, dtype: str, operand: str) -> str:
    if dtype in FLOATS:
        return code.intrinsic("fabs", dtype, operand)
    if dtype in HALVES:
        return code.binary("and", "i16", operand, code.constant("i16", ~SIGN_OF_HALVES))
    if dtype in UNSIGNED:
        return operand
    negative = code.compare("icmp slt", dtype, operand, code.constant(dtype, 0))
    return code.select(negative, dtype, _neg(code, dtype, operand), operand)


# --- minimum and maximum ----------------------------------------------------------------------------------


def smaller_or_larger(code: Code, dtype: str, which: str, left: str, right: str) -> str:
    """`which` is min or max. The result is the right operand where either is NaN or both are equal."""
    if dtype in FLOATS:
        predicate = "fcmp olt" if which == "min" else "fcmp ogt"
    else:
        predicate = f"icmp {'u' if dtype in UNSIGNED else 's'}{'lt' if which == 'min' else 'gt'}"
    return code.select(code.compare(predicate, dtype, left, right), dtype, left, right)


_LITERAL = re.compile(r"(?:splat \((?:float|double) )?0x([0-9A-Fa-f]{16})\)?")


def is_number(operand: str) -> bool:
    """Whether the operand is a constant that is not NaN."""
    found = _LITERAL.fullmatch(operand)
    return found is not None and int(found[1], 16) & (2**63 - 1) <= 0x7FF0 << 48


def _extremum(which: str) -> Emitter:
    def emit(code: Code, dtype: str, left: str, right: str) -> str:
        if dtype in FLOATS and is_number(right):  # the left one stays where it is NaN, and -0.0 beside 0.0
            return smaller_or_larger(code, dtype, which, right, left)
        result = smaller_or_larger(code, dtype, which, left, right)
        if dtype not in FLOATS:
            return result
        # Where the right one is NaN, it is the result already.
        return code.select(code.is_nan(dtype, left), dtype, left, result)

    return emit


def _extremum_of_numbers(which: str) -> Emitter:
    def emit(code: Code, dtype: str, left: str, right: str) -> str:
        result = smaller_or_larger(code, dtype, which, right, left)  # the left one if both are equal, as in C
        # Where the right one is NaN, the left one is the result already.
        return code.select(code.is_nan(dtype, left), dtype, right, result)

    return emit


EMITTERS["min"], EMITTERS["max"] = _extremum("min"), _extremum("max")
EMITTERS["fmin"], EMITTERS["fmax"] = _extremum_of_numbers("min"), _extremum_of_numbers("max")


@emits("sign")
def _sign(code: Code, dtype: str, operand: str) -> str:
    zero, one, minus_one = (code.constant(dtype, number) for number in (0, 1, -1))
    if dtype in UNSIGNED:
        return code.select(code.compare("icmp ne", dtype, operand, zero), dtype, one, zero)
    less, greater = ("fcmp olt", "fcmp ogt") if dtype in FLOATS else ("icmp slt", "icmp sgt")
    negative = code.select(code.compare(less, dtype, operand, zero), dtype, minus_one, zero)
    return code.select(code.compare(greater, dtype, operand, zero), dtype, one, negative)


# --- integer division -------------------------------------------------------------------------------------


def _safe_divisor(code: Code, dtype: str, left: str, right: str) -> tuple[str, str]:
    """(a divisor that never traps, the mask of lanes where the real divisor is 0).

    A divisor of -1 becomes 1 where the dividend is the least number: the quotient then wraps to the dividend
    itself, and the remainder is 0.
    """
    zero, one = code.constant(dtype, 0), code.constant(dtype, 1)
    by_zero = code.compare("icmp eq", dtype, right, zero)
    unsafe = by_zero
    if dtype not in UNSIGNED:
        least = code.constant(dtype, -(1 << (8 * SIZES[dtype] - 1)))
        overflows = code.binary(
            "and",
            "b8",
            code.compare("icmp eq", dtype, left, least),
            code.compare("icmp eq", dtype, right, code.constant(dtype, -1)),
        )
        unsafe = code.binary("or", "b8", by_zero, overflows)
    return code.select(unsafe, dtype, one, right), by_zero


def _division(code: Code, dtype: str, left: str, right: str) -> tuple[str, str, str, str]:
    """(quotient rounded to zero, remainder, the divisor used, mask of division by zero)."""
    divisor, by_zero = _safe_divisor(code, dtype, left, right)
    sign = "u" if dtype in UNSIGNED else "s"
    quotient = code.binary(f"{sign}div", dtype, left, divisor)
    remainder = code.binary("sub", dtype, left, code.binary("mul", dtype, quotient, divisor))
    return quotient, remainder, divisor, by_zero


def _rounds_up(code: Code, dtype: str, remainder: str, divisor: str) -> str:
    """Whether truncation gave more than the floor.

    It did if the remainder is not 0 and does not have the sign of the divisor.
    """
    zero = code.constant(dtype, 0)
    differs = code.compare("icmp slt", dtype, code.binary("xor", dtype, remainder, divisor), zero)
    return code.binary("and", "b8", differs, code.compare("icmp ne", dtype, remainder, zero))


@emits("truncdiv")
def _truncdiv(code: Code, dtype: str, left: str, right: str) -> str:
    quotient, _, _, by_zero = _division(code, dtype, left, right)
    return code.select(by_zero, dtype, code.constant(dtype, 0), quotient)


@emits("floordiv")
def _floordiv(code: Code, dtype: str, left: str, right: str) -> str:
    quotient, remainder, divisor, by_zero = _division(code, dtype, left, right)
    if dtype not in UNSIGNED:
        correction = code.convert("sext", "b8", dtype, _rounds_up(code, dtype, remainder, divisor))
        quotient = code.binary("add", dtype, quotient, correction)
    return code.select(by_zero, dtype, code.constant(dtype, 0), quotient)


@emits("rem")
def _rem(code: Code, dtype: str, left: str, right: str) -> str:
    _, remainder, _, by_zero = _division(code, dtype, left, right)
    return code.select(by_zero, dtype, code.constant(dtype, 0), remainder)


@emits("mod")
def _mod(code: Code, dtype: str, left: str, right: str) -> str:
    _, remainder, divisor, by_zero = _division(code, dtype, left, right)
    if dtype not in UNSIGNED:
        wrapped = code.binary("add", dtype, remainder, divisor)
        remainder = code.select(_rounds_up(code, dtype, remainder, divisor), dtype, wrapped, remainder)
    return code.select(by_zero, dtype, code.constant(dtype, 0), remainder)


# --- comparisons ------------------------------------------------------------------------------------------

_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def _comparison(name: str) -> Emitter:
    def emit(code: Code, dtype: str, left: str, right: str) -> str:
        if dtype in FLOATS:
            return code.compare(f"fcmp {_FLOAT_PREDICATES[name]}", dtype, left, right)
        sign = "" if name in ("eq", "ne") else "u" if dtype in UNSIGNED else "s"
        return code.compare(f"icmp {sign}{name}", dtype, left, right)

    return emit


for _name in _FLOAT_PREDICATES:
    EMITTERS[_name] = _comparison(_name)

EMITTERS["isnan"] = lambda code, dtype, operand: code.is_nan(dtype, operand)


@emits("isinf")
def _isinf(code: Code, dtype: str, operand: str) -> str:
    magnitude = code.intrinsic("fabs", dtype, operand)
    return code.compare("fcmp oeq", dtype, magnitude, code.constant(dtype, float("inf")))


@emits("signbit")
def _signbit(code: Code, dtype: str, operand: str) -> str:
    same_size = {"f32": "i32", "f64": "i64"}[dtype]
    encoded = code.bits(dtype, same_size, operand)
    return code.compare("icmp slt", same_size, encoded, code.constant(same_size, 0))


# --- bits and selection -----------------------------------------------------------------------------------


@emits("not")
def _not(code: Code, dtype: str, operand: str) -> str:
    return code.binary("xor", dtype, operand, code.constant(dtype, True if dtype == "b8" else -1))


def _amount_in_range(code: Code, dtype: str, amount: str) -> str:
    return code.compare("icmp ult", dtype, amount, code.constant(dtype, 8 * SIZES[dtype]))


@emits("shl")
def _shl(code: Code, dtype: str, operand: str, amount: str) -> str:
    zero = code.constant(dtype, 0)
    in_range = _amount_in_range(code, dtype, amount)
    shifted = code.binary("shl", dtype, operand, code.select(in_range, dtype, amount, zero))
    return code.select(in_range, dtype, shifted, zero)


@emits("shr")
def _shr(code: Code, dtype: str, operand: str, amount: str) -> str:
    """An amount out of range fills the result with the sign, as the largest amount does.

    For u8 the largest amount leaves one bit, so the result is set to 0.
    """
    in_range = _amount_in_range(code, dtype, amount)
    largest = code.constant(dtype, 8 * SIZES[dtype] - 1)
    safe = code.select(in_range, dtype, amount, largest)
    if dtype not in UNSIGNED:
        return code.binary("ashr", dtype, operand, safe)
    return code.select(in_range, dtype, code.binary("lshr", dtype, operand, safe), code.constant(dtype, 0))


@emits("where")
def _where(code: Code, dtype: str, condition: str, yes: str, no: str) -> str:
    return code.select(condition, dtype, yes, no)


# --- floats without tables --------------------------------------------------------------------------------


def _intrinsic(name: str) -> Emitter:
    return lambda code, dtype, *operands: code.intrinsic(name, dtype, *operands)


for _name in ("fma", "sqrt", "floor", "ceil", "trunc"):
    EMITTERS[_name] = _intrinsic(_name)
EMITTERS["round"] = _intrinsic("roundeven")


@emits("copysign")
def _copysign(code: Code, dtype: str, magnitude: str, sign: str) -> str:
    if dtype not in HALVES:
        return code.intrinsic("copysign", dtype, magnitude, sign)
    only_sign = code.binary("and", "i16", sign, code.constant("i16", SIGN_OF_HALVES))
    return code.binary("or", "i16", _abs(code, dtype, magnitude), only_sign)


@emits("reciprocal")
def _reciprocal(code: Code, dtype: str, operand: str) -> str:
    return code.binary("fdiv", dtype, code.constant(dtype, 1), operand)


@emits("rsqrt")
def _rsqrt(code: Code, dtype: str, operand: str) -> str:
    return _reciprocal(code, dtype, code.intrinsic("sqrt", dtype, operand))
