"""Functions of Python, `math` and torch on scalars, as operations of `codegen.kernel.ops`.

In:  a function that a graph calls, or the name of a tensor method.
Out: `OPERATORS[function]`: a rule (function being written, operands) -> scalar.

    OPERATORS[torch.relu](function, x)   ->   max(x, 0)

Floats follow IEEE, as in torch: a division by 0 gives infinity or NaN, where Python raises. Integers wrap
around, and a division by 0 gives 0.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from codegen.kernel.errors import EmitError
from codegen.scalar.emit import Scalar, ScalarFunction

Rule = Callable[..., Scalar]
OPERATORS: dict[Any, Rule] = {}

#: operation -> the functions that are this operation alone
_PLAIN: dict[str, tuple[Any, ...]] = {
    "add": (operator.add, operator.iadd),
    "sub": (operator.sub, operator.isub),
    "mul": (operator.mul, operator.imul, torch.mul, torch.multiply),
    "neg": (operator.neg, torch.neg, torch.negative),
    "abs": (operator.abs, builtins.abs, math.fabs, torch.abs, torch.absolute),
    "min": (torch.minimum,),
    "max": (torch.maximum,),
    "fmin": (torch.fmin,),
    "fmax": (torch.fmax,),
    "sign": (torch.sign, torch.sgn),
    "fmod": (math.fmod,),
    "copysign": (math.copysign, torch.copysign),
    "sqrt": (math.sqrt, torch.sqrt),
    "rsqrt": (torch.rsqrt,),
    "reciprocal": (torch.reciprocal,),
    "sigmoid": (torch.sigmoid, torch.special.expit, F.sigmoid),
    "atan2": (math.atan2, torch.atan2, torch.arctan2),
    "hypot": (math.hypot, torch.hypot),
    "nextafter": (torch.nextafter,),
    "asin": (math.asin, torch.asin, torch.arcsin),
    "acos": (math.acos, torch.acos, torch.arccos),
    "atan": (math.atan, torch.atan, torch.arctan),
    "asinh": (math.asinh, torch.asinh, torch.arcsinh),
    "acosh": (math.acosh, torch.acosh, torch.arccosh),
    "atanh": (math.atanh, torch.atanh, torch.arctanh),
    "tanh": (math.tanh, torch.tanh, F.tanh),
    "where": (torch.where,),
    "eq": (operator.eq, torch.eq),
    "ne": (operator.ne, torch.ne, torch.not_equal),
    "lt": (operator.lt, torch.lt, torch.less),
    "le": (operator.le, torch.le, torch.less_equal),
    "gt": (operator.gt, torch.gt, torch.greater),
    "ge": (operator.ge, torch.ge, torch.greater_equal),
    "and": (operator.and_, torch.bitwise_and),
    "or": (operator.or_, torch.bitwise_or),
    "xor": (operator.xor, torch.bitwise_xor),
    "not": (operator.invert, operator.inv, torch.bitwise_not),
    "shl": (operator.lshift, torch.bitwise_left_shift),
    "shr": (operator.rshift, torch.bitwise_right_shift),
    "isnan": (math.isnan, torch.isnan),
    "isinf": (math.isinf, torch.isinf),
    "signbit": (torch.signbit,),
}
#: operations that `math` and torch have under one name
_MATH = (
    *("exp", "exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh"),
    *("erf", "erfc", "lgamma", "floor", "ceil", "trunc"),
)


def rule(*functions: Any) -> Callable[[Rule], Rule]:
    def register(made: Rule) -> Rule:
        OPERATORS.update(dict.fromkeys(functions, made))
        return made

    return register


def _plain(name: str) -> Rule:
    return lambda f, *operands: f.op(name, *operands)


for _name, _functions in _PLAIN.items():
    rule(*_functions)(_plain(_name))
for _name in _MATH:
    rule(*(getattr(module, _name) for module in (math, torch) if hasattr(module, _name)))(_plain(_name))


def method(name: str) -> Rule | None:
    """The rule of a tensor method: that of the torch function of its name."""
    return OPERATORS.get(getattr(torch, name, None))


# --- arithmetic -------------------------------------------------------------------------------------------


@rule(operator.pos, torch.positive, builtins.float)
def _itself(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.as_number(x)


@rule(torch.add)
def _add(f: ScalarFunction, x: Scalar, y: Scalar, *, alpha: Scalar | None = None) -> Scalar:
    return f.op("add", x, y if alpha is None else f.op("mul", y, alpha))


@rule(torch.sub, torch.subtract)
def _sub(f: ScalarFunction, x: Scalar, y: Scalar, *, alpha: Scalar | None = None) -> Scalar:
    return f.op("sub", x, y if alpha is None else f.op("mul", y, alpha))


@rule(torch.rsub)
def _rsub(f: ScalarFunction, x: Scalar, y: Scalar, *, alpha: Scalar | None = None) -> Scalar:
    return _sub(f, y, x, alpha=alpha)


@rule(operator.truediv, operator.itruediv, torch.true_divide)
def _true_divide(f: ScalarFunction, x: Scalar, y: Scalar) -> Scalar:
    if not f.is_float:
        raise EmitError("a division of integers gives a float: write //, or take dtype=torch.float64")
    return f.op("div", x, y)


@rule(torch.div, torch.divide)
def _divide(f: ScalarFunction, x: Scalar, y: Scalar, *, rounding_mode: str | None = None) -> Scalar:
    if rounding_mode == "floor":
        return _floor_divide(f, x, y)
    if rounding_mode == "trunc":
        return f.op("trunc", f.op("div", x, y)) if f.is_float else f.op("truncdiv", x, y)
    return _true_divide(f, x, y)


@rule(operator.mod, torch.remainder)
def _remainder(f: ScalarFunction, x: Scalar, y: Scalar) -> Scalar:
    """With the sign of the divisor."""
    if not f.is_float:
        return f.op("mod", x, y)
    rest = f.op("fmod", x, y)
    zero = f.number(0)
    other_sign = f.op("ne", f.op("lt", rest, zero), f.op("lt", y, zero))
    wrong = f.op("and", f.op("ne", rest, zero), other_sign)
    return f.op("where", wrong, f.op("add", rest, y), rest)


@rule(operator.floordiv, operator.ifloordiv, torch.floor_divide)
def _floor_divide(f: ScalarFunction, x: Scalar, y: Scalar) -> Scalar:
    """Floats: the quotient without the remainder, rounded to the nearest integer.

    Source: c10::div_floor_floating of torch.
    """
    if not f.is_float:
        return f.op("floordiv", x, y)
    zero = f.number(0)
    rest = f.op("fmod", x, y)
    quotient = f.op("div", f.op("sub", x, rest), y)
    other_sign = f.op("ne", f.op("lt", rest, zero), f.op("lt", y, zero))
    below = f.op("and", f.op("ne", rest, zero), other_sign)
    quotient = f.op("where", below, f.op("sub", quotient, f.number(1)), quotient)
    floored = f.op("floor", quotient)
    above = f.op("gt", f.op("sub", quotient, floored), f.number(0.5))
    whole = f.op("where", above, f.op("add", floored, f.number(1)), floored)
    signed_zero = f.op("copysign", zero, f.op("div", x, y))
    found = f.op("where", f.op("ne", quotient, zero), whole, signed_zero)
    return f.op("where", f.op("eq", y, zero), f.op("div", x, y), found)


@rule(torch.fmod)
def _fmod(f: ScalarFunction, x: Scalar, y: Scalar) -> Scalar:
    return f.op("fmod" if f.is_float else "rem", x, y)


#: the largest exponent of integers that is written as products
_LARGEST_EXPONENT = 64


@rule(operator.pow, builtins.pow, math.pow, torch.pow)
def _pow(f: ScalarFunction, x: Scalar, y: Scalar) -> Scalar:
    if y.number == 2:
        return f.op("mul", x, x)
    if f.is_float:
        return f.op("pow", x, y)
    if y.number is None or not 0 <= y.number <= _LARGEST_EXPONENT:
        raise EmitError(f"the exponent of an integer must be a constant from 0 to {_LARGEST_EXPONENT}")
    result, power, exponent = f.number(1), x, int(y.number)
    while exponent:
        if exponent & 1:
            result = f.op("mul", result, power)
        power, exponent = f.op("mul", power, power), exponent >> 1
    return result


@rule(torch.square)
def _square(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("mul", x, x)


@rule(builtins.round, torch.round)
def _round(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("round", x) if f.is_float else x


@rule(builtins.int)
def _int(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("trunc", x) if f.is_float else f.as_number(x)


@rule(math.log, torch.log)
def _log(f: ScalarFunction, x: Scalar, base: Scalar | None = None) -> Scalar:
    found = f.op("log", x)
    return found if base is None else f.op("div", found, f.op("log", base))


@rule(math.degrees, torch.rad2deg)
def _degrees(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("mul", x, f.number(180 / math.pi))


@rule(math.radians, torch.deg2rad)
def _radians(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("mul", x, f.number(math.pi / 180))


@rule(math.isfinite, torch.isfinite)
def _isfinite(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("lt", f.op("abs", x), f.number(math.inf))


@rule(builtins.min)
def _least(f: ScalarFunction, first: Scalar, *others: Scalar) -> Scalar:
    """Python's: the first of equal ones, and a NaN only where it comes first."""
    for other in others:
        first = f.op("where", f.op("lt", other, first), other, first)
    return first


@rule(builtins.max)
def _greatest(f: ScalarFunction, first: Scalar, *others: Scalar) -> Scalar:
    for other in others:
        first = f.op("where", f.op("gt", other, first), other, first)
    return first


# --- conditions -------------------------------------------------------------------------------------------


@rule(operator.not_, torch.logical_not)
def _not(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.op("not", f.condition(x))


@rule(builtins.bool, operator.truth)
def _truth(f: ScalarFunction, x: Scalar) -> Scalar:
    return f.condition(x)


def _logical(name: str) -> Rule:
    return lambda f, x, y: f.op(name, f.condition(x), f.condition(y))


rule(torch.logical_and)(_logical("and"))
rule(torch.logical_or)(_logical("or"))
rule(torch.logical_xor)(_logical("xor"))


# --- functions of networks --------------------------------------------------------------------------------
# `inplace` of a traced call says nothing: numbers have no memory.


@rule(torch.relu, F.relu)
def _relu(f: ScalarFunction, x: Scalar, inplace: Scalar | None = None) -> Scalar:
    return f.op("max", x, f.number(0))


@rule(F.relu6)
def _relu6(f: ScalarFunction, x: Scalar, inplace: Scalar | None = None) -> Scalar:
    return f.op("min", _relu(f, x), f.number(6))


@rule(F.silu)
def _silu(f: ScalarFunction, x: Scalar, inplace: Scalar | None = None) -> Scalar:
    return f.op("mul", x, f.op("sigmoid", x))


@rule(F.leaky_relu)
def _leaky_relu(
    f: ScalarFunction, x: Scalar, negative_slope: Scalar | None = None, inplace: Scalar | None = None
) -> Scalar:
    slope = f.number(0.01) if negative_slope is None else negative_slope
    return f.op("where", f.op("gt", x, f.number(0)), x, f.op("mul", x, slope))


@rule(torch.clamp, torch.clip)
def _clamp(f: ScalarFunction, x: Scalar, min: Scalar | None = None, max: Scalar | None = None) -> Scalar:
    bounded = x if min is None else f.op("max", x, min)
    return bounded if max is None else f.op("min", bounded, max)


@rule(torch.lerp)
def _lerp(f: ScalarFunction, start: Scalar, end: Scalar, weight: Scalar) -> Scalar:
    """From the nearer end. Source: at::native::lerp of torch."""
    way = f.op("sub", end, start)
    from_start = f.op("add", start, f.op("mul", weight, way))
    from_end = f.op("sub", end, f.op("mul", way, f.op("sub", f.number(1), weight)))
    return f.op("where", f.op("lt", f.op("abs", weight), f.number(0.5)), from_start, from_end)
