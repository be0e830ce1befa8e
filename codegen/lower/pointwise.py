"""Elementwise operators.

In:  the operands of the ATen call.
Out: the definition of its result.

    aten.add.Tensor(x, y, alpha=2)   ->  Map("add", (x, Map("mul", (y, Fill(2.0)))))

Most operators are one line in a table: the overloads and the operation. The result type is that of the fake
result. The type of computation is that of the promoted operands (f32 for bf16 and f16), and each operator
rounds its result as eager does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from codegen.kernel.index_algebra import Poly
from codegen.kernel.ops import HALVES
from codegen.lower.promotion import as_operand, common_dtype, compute_dtype, is_float
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import (
    add,
    apply,
    both,
    compare,
    invert,
    mul,
    nonzero,
    sub,
    takes,
    unless_zero,
    where,
)
from codegen.lower.size_floats import SizeFloat
from codegen.lower.tensor_expr import SizeValue, TensorExpr, cast, copy_of, expand, fill, representable

aten = torch.ops.aten


def operands(ctx: Any, *args: Any, common: str | None = None) -> list[TensorExpr]:
    """The arguments in the type of computation of the result, broadcast to its shape."""
    common = common or ctx.dtype
    return [as_operand(arg, compute_dtype(common), ctx.shape, common) for arg in args]


def rounded(ctx: Any, value: TensorExpr) -> TensorExpr:
    return cast(value, ctx.dtype)


def in_dtype(ctx: Any, *args: Any) -> tuple[Any, ...]:
    """Rounds numbers to the dtype of a half precision result.

    Eager computes sums, powers and remainders with the rounded numbers.
    """
    return tuple(map(partial(_number_in, ctx.dtype), args)) if ctx.dtype in HALVES else args


def _number_in(dtype: str, arg: Any) -> Any:
    if isinstance(arg, (SizeFloat, Poly)):
        return cast(SizeValue(arg) if isinstance(arg, Poly) else arg.value, dtype)
    return representable(arg, dtype) if isinstance(arg, (int, float)) else arg


def with_scalar(ctx: Any, left: Any, right: Any) -> list[TensorExpr]:
    """`operands` of a product or quotient.

    A second operand without dims is not rounded to half precision first, because eager treats it as a number.
    """
    is_scalar = ctx.dtype in HALVES and isinstance(right, TensorExpr) and not right.shape
    return [
        *operands(ctx, left),
        as_operand(right, compute_dtype(ctx.dtype), ctx.shape, None if is_scalar else ctx.dtype),
    ]


def _of_operands(ctx: Any, op: str, *args: Any) -> TensorExpr:
    values = operands(ctx, *args)
    if not takes(op, values[0].dtype):  # eager has no such kernel either; it says so
        return NotImplemented
    return rounded(ctx, apply(op, *values))


OF_SIGNS = ("neg", "abs")  # operations on the sign bit, in half precision too

# --- one operation -----------------------------------------------------------------------------------------

_UNARY_FLOAT = [
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf",
    "erfc sigmoid sqrt rsqrt reciprocal lgamma",
]


def _register_unary_float(name: str) -> None:
    @lowering(getattr(aten, name).default)
    def unary(ctx: Any, value: TensorExpr) -> TensorExpr:
        return rounded(ctx, apply(name, *operands(ctx, value)))


def _register_rounding(name: str, op: str) -> None:
    @lowering(getattr(aten, name).default)
    def rounding(ctx: Any, value: TensorExpr) -> TensorExpr:
        (operand,) = operands(ctx, value)
        return rounded(ctx, apply(op, operand)) if is_float(operand.dtype) else copy_of(value)


def _register_unary(name: str, op: str) -> None:
    @lowering(getattr(aten, name).default)
    def unary(ctx: Any, value: TensorExpr) -> TensorExpr:
        if value.dtype == "b8" and op in ("abs", "sign"):
            return copy_of(value)
        if value.dtype == ctx.dtype in HALVES and op in OF_SIGNS:
            return apply(op, value)
        return _of_operands(ctx, op, value)


def _register_test(name: str, integer: bool) -> None:
    @lowering(getattr(aten, name).default)
    def test(ctx: Any, value: TensorExpr) -> TensorExpr:
        if not is_float(value.dtype):
            return (
                compare("lt", value, 0)
                if name == "signbit" and value.dtype != "b8"
                else fill(ctx.shape, "b8", integer)
            )
        return apply(name, cast(value, compute_dtype(value.dtype)))


def _register_binary(name: str, op: str, overloads: str) -> None:
    @lowering(*(getattr(getattr(aten, name), overload) for overload in overloads.split()))
    def binary(ctx: Any, left: Any, right: Any) -> TensorExpr:
        return _of_operands(ctx, op, left, right)


def _register_comparison(name: str) -> None:
    @lowering(getattr(aten, name).Tensor, getattr(aten, name).Scalar)
    def comparison(ctx: Any, left: Any, right: Any) -> TensorExpr:
        """Eager rounds numbers to the dtype of the tensor beside them."""
        common = common_dtype((left, right))
        if common in HALVES:
            left, right = _number_in(common, left), _number_in(common, right)
        return compare(name, *operands(ctx, left, right, common=common))


def _register_logical(name: str, op: str) -> None:
    @lowering(getattr(aten, name).default)
    def logical(ctx: Any, left: TensorExpr, right: TensorExpr) -> TensorExpr:
        return apply(
            op, expand(nonzero(_computed(left)), ctx.shape), expand(nonzero(_computed(right)), ctx.shape)
        )


def _computed(value: TensorExpr) -> TensorExpr:
    return cast(value, compute_dtype(value.dtype))


for _name in " ".join(_UNARY_FLOAT).split():
    _register_unary_float(_name)
for _name in ("floor", "ceil", "trunc", "round"):
    _register_rounding(_name, _name)
for _name, _op in (("neg", "neg"), ("abs", "abs"), ("sign", "sign"), ("sgn", "sign"), ("bitwise_not", "not")):
    _register_unary(_name, _op)
for _name, _integer in (("isnan", False), ("isinf", False), ("signbit", False)):
    _register_test(_name, _integer)
for _name, _op, _overloads in (
    ("maximum", "max", "default"),
    ("minimum", "min", "default"),
    ("atan2", "atan2", "default"),
    ("hypot", "hypot", "default"),
    ("bitwise_and", "and", "Tensor Scalar Scalar_Tensor"),
    ("bitwise_or", "or", "Tensor Scalar Scalar_Tensor"),
    ("bitwise_xor", "xor", "Tensor Scalar Scalar_Tensor"),
    ("bitwise_left_shift", "shl", "Tensor Tensor_Scalar Scalar_Tensor"),
    ("bitwise_right_shift", "shr", "Tensor Tensor_Scalar Scalar_Tensor"),
):
    _register_binary(_name, _op, _overloads)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _register_comparison(_name)
for _name, _op in (("logical_and", "and"), ("logical_or", "or"), ("logical_xor", "xor")):
    _register_logical(_name, _op)


@lowering(aten.logical_not.default)
def logical_not(ctx: Any, value: TensorExpr) -> TensorExpr:
    return invert(nonzero(_computed(value)))


@lowering(aten.fmin.default)
def fmin(ctx: Any, left: TensorExpr, right: TensorExpr) -> TensorExpr:
    return rounded(ctx, apply("fmin" if is_float(ctx.dtype) else "min", *operands(ctx, left, right)))


@lowering(aten.fmax.default)
def fmax(ctx: Any, left: TensorExpr, right: TensorExpr) -> TensorExpr:
    return rounded(ctx, apply("fmax" if is_float(ctx.dtype) else "max", *operands(ctx, left, right)))


@lowering(aten.copysign.Tensor, aten.copysign.Scalar)
def copysign(ctx: Any, left: TensorExpr, right: Any) -> TensorExpr:
    if ctx.dtype in HALVES:
        return apply("copysign", *(as_operand(arg, ctx.dtype, ctx.shape) for arg in (left, right)))
    return rounded(ctx, apply("copysign", *operands(ctx, left, right)))


@lowering(aten.nextafter.default)
def nextafter(ctx: Any, left: TensorExpr, right: TensorExpr) -> TensorExpr:
    """Computed by eager in half precision: the next float32 is not the next number of half precision. Of
    integers eager has no kernel.
    """
    if compute_dtype(ctx.dtype) != ctx.dtype or not all(map(is_float, (left.dtype, right.dtype))):
        return NotImplemented
    return apply("nextafter", *operands(ctx, left, right))


# --- sums and products ------------------------------------------------------------------------------------


@lowering(aten.mul.Tensor, aten.mul.Scalar)
def mul_lowering(ctx: Any, left: Any, right: Any) -> TensorExpr:
    return rounded(ctx, apply("mul", *with_scalar(ctx, left, right)))


def _scaled_sum(op: str, ctx: Any, left: Any, right: Any, alpha: Any) -> TensorExpr:
    first, second = operands(ctx, *in_dtype(ctx, left, right))
    if isinstance(alpha, TensorExpr):
        return NotImplemented
    if alpha == 1 and not isinstance(alpha, bool):
        return rounded(ctx, apply(op, first, second))
    if isinstance(alpha, (SizeFloat, Poly)):
        [alpha] = operands(ctx, _number_in(ctx.dtype, alpha))
    elif is_float(first.dtype):
        alpha = representable(alpha, ctx.dtype)
    if is_float(first.dtype):  # eager rounds once
        return rounded(ctx, apply("fma", apply("neg", second) if op == "sub" else second, alpha, first))
    return rounded(ctx, apply(op, first, mul(second, alpha)))


@lowering(aten.add.Tensor, aten.add.Scalar)
def add_lowering(ctx: Any, left: Any, right: Any, alpha: Any = 1) -> TensorExpr:
    return _scaled_sum("add", ctx, left, right, alpha)


@lowering(aten.sub.Tensor, aten.sub.Scalar)
def sub_lowering(ctx: Any, left: Any, right: Any, alpha: Any = 1) -> TensorExpr:
    return _scaled_sum("sub", ctx, left, right, alpha)


@lowering(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(ctx: Any, left: Any, right: Any, alpha: Any = 1) -> TensorExpr:
    return _scaled_sum("sub", ctx, right, left, alpha)


@lowering(aten.addcmul.default)
def addcmul(ctx: Any, base: Any, left: Any, right: Any, value: Any = 1) -> TensorExpr:
    base, left, right = operands(ctx, base, left, right)
    scaled = left if value == 1 else mul(left, value)
    return rounded(ctx, add(base, mul(scaled, right)))


@lowering(aten.addcdiv.default)
def addcdiv(ctx: Any, base: Any, left: Any, right: Any, value: Any = 1) -> TensorExpr:
    base, left, right = operands(ctx, base, left, right)
    scaled = left if value == 1 else mul(left, value)
    return rounded(ctx, add(base, apply("div", scaled, right)))


@lowering(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(ctx: Any, start: Any, end: Any, weight: Any) -> TensorExpr:
    """The formula with the smaller error, as in eager: |weight| < 0.5 chooses it."""
    number = None if isinstance(weight, TensorExpr) else representable(weight, compute_dtype(ctx.dtype))
    start, end, weight = operands(ctx, start, end, weight)
    distance = sub(end, start)
    low = add(start, mul(weight, distance))
    high = sub(end, mul(distance, sub(1.0, weight)))
    if number is not None:
        return rounded(ctx, low if abs(number) < 0.5 else high)
    return rounded(ctx, where(compare("lt", apply("abs", weight), 0.5), low, high))


# --- division ---------------------------------------------------------------------------------------------


def _floor_quotient(left: TensorExpr, right: TensorExpr) -> TensorExpr:
    """floor(left / right) without the rounding error of the quotient.

    The signs of 0 and NaN are those of Python and eager. fmod may be NaN where the quotient overflows.
    """
    remainder, near = apply("fmod", left, right), apply("div", left, right)
    overflows = both(compare("eq", apply("abs", near), math.inf), compare("ne", apply("abs", left), math.inf))
    quotient = apply("div", where(overflows, left, sub(left, remainder)), right)
    opposite = apply("xor", compare("lt", right, 0), compare("lt", remainder, 0))
    quotient = where(both(compare("ne", remainder, 0), opposite), sub(quotient, 1), quotient)
    floored = apply("floor", quotient)
    floored = where(compare("gt", sub(quotient, floored), 0.5), add(floored, 1), floored)
    floored = where(compare("ne", quotient, 0), floored, apply("copysign", 0.0, near))
    return where(compare("eq", right, 0), near, floored)


def _float_remainder(left: TensorExpr, right: TensorExpr) -> TensorExpr:
    remainder = apply("fmod", left, right)
    opposite = apply("xor", compare("lt", right, 0), compare("lt", remainder, 0))
    return where(both(compare("ne", remainder, 0), opposite), add(remainder, right), remainder)


def _divided(
    ctx: Any, pair: list[TensorExpr], floats: Callable[..., TensorExpr], integers: str
) -> TensorExpr:
    first, second = pair
    if is_float(first.dtype):
        return rounded(ctx, floats(first, second))
    return unless_zero(integers, first, second)


@lowering(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor)
def div(ctx: Any, left: Any, right: Any) -> TensorExpr:
    return rounded(ctx, apply("div", *with_scalar(ctx, left, right)))


@lowering(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(ctx: Any, left: Any, right: Any, rounding_mode: str | None = None) -> TensorExpr:
    if rounding_mode is None:
        return div(ctx, left, right)

    of_tensors = isinstance(right, TensorExpr) and bool(right.shape)

    def trunc_quotient(left: TensorExpr, right: TensorExpr) -> TensorExpr:
        """The quotient of two tensors is rounded to the result type before it is truncated."""
        quotient = apply("div", left, right)
        return apply("trunc", cast(rounded(ctx, quotient), quotient.dtype) if of_tensors else quotient)

    floats = {"floor": _floor_quotient, "trunc": trunc_quotient}[rounding_mode]
    return _divided(
        ctx, with_scalar(ctx, left, right), floats, {"floor": "floordiv", "trunc": "truncdiv"}[rounding_mode]
    )


@lowering(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(ctx: Any, left: Any, right: Any) -> TensorExpr:
    (left,) = in_dtype(ctx, left)
    return _divided(ctx, with_scalar(ctx, left, right), _floor_quotient, "floordiv")


@lowering(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def remainder(ctx: Any, left: Any, right: Any) -> TensorExpr:
    return _divided(ctx, operands(ctx, *in_dtype(ctx, left, right)), _float_remainder, "mod")


@lowering(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(ctx: Any, left: Any, right: Any) -> TensorExpr:
    return _divided(ctx, operands(ctx, *in_dtype(ctx, left, right)), lambda a, b: apply("fmod", a, b), "rem")


# --- powers -----------------------------------------------------------------------------------------------

# The exponents that eager computes without pow.
_POWERS: dict[float, Callable[[TensorExpr], TensorExpr]] = {
    0.5: lambda x: apply("sqrt", x),
    2.0: lambda x: mul(x, x),
    3.0: lambda x: mul(mul(x, x), x),
    -0.5: lambda x: apply("rsqrt", x),
    -1.0: lambda x: apply("reciprocal", x),
    -2.0: lambda x: apply("reciprocal", mul(x, x)),
}
# in float16, roots are powers: that of -inf is inf
_POWERS_IN_F16 = {exponent: rule for exponent, rule in _POWERS.items() if abs(exponent) != 0.5}


@lowering(aten.pow.Tensor_Scalar)
def pow_scalar(ctx: Any, base: TensorExpr, exponent: Any) -> TensorExpr:
    if not isinstance(exponent, (int, float)):
        return NotImplemented
    if exponent == 0:
        return fill(ctx.shape, ctx.dtype, 1)
    (operand,) = operands(ctx, base)
    if exponent == 1:
        return copy_of(rounded(ctx, operand))
    if not is_float(operand.dtype):
        return rounded(ctx, _POWERS[exponent](operand)) if exponent in (2, 3) else NotImplemented
    powers = _POWERS_IN_F16 if ctx.dtype == "f16" else _POWERS
    if exponent in powers:
        return rounded(ctx, powers[exponent](operand))
    (exponent,) = in_dtype(ctx, float(exponent))
    return rounded(ctx, apply("pow", operand, exponent))


@lowering(aten.pow.Tensor_Tensor)
def pow_tensor(ctx: Any, base: TensorExpr, exponent: TensorExpr) -> TensorExpr:
    if not is_float(ctx.dtype):
        return NotImplemented
    return rounded(ctx, apply("pow", *operands(ctx, base, exponent)))


@lowering(aten.pow.Scalar)
def pow_of_scalar(ctx: Any, base: Any, exponent: TensorExpr) -> TensorExpr:
    if not is_float(ctx.dtype) or not isinstance(base, (int, float)):
        return NotImplemented
    if base == 1:
        return fill(ctx.shape, ctx.dtype, 1)
    (operand,) = operands(ctx, exponent)
    (number,) = in_dtype(ctx, float(base))
    return rounded(ctx, apply("exp2", operand) if base == 2 else apply("pow", number, operand))


# --- selection --------------------------------------------------------------------------------------------


@lowering(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def where_lowering(ctx: Any, condition: TensorExpr, left: Any, right: Any) -> TensorExpr:
    operands = [as_operand(arg, ctx.dtype, ctx.shape) for arg in (left, right)]
    return where(expand(nonzero(condition), ctx.shape), *operands)


@lowering(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(ctx: Any, base: TensorExpr, mask: TensorExpr, value: Any) -> TensorExpr:
    return where(
        expand(mask, ctx.shape),
        as_operand(value, ctx.dtype, ctx.shape),
        as_operand(base, ctx.dtype, ctx.shape),
    )


@lowering(aten.clamp.default, aten.clamp.Tensor)
def clamp(ctx: Any, value: TensorExpr, low: Any = None, high: Any = None) -> TensorExpr:
    (result,) = operands(ctx, value)
    for op, bound in (("max", low), ("min", high)):
        if bound is not None:
            result = apply(op, result, *operands(ctx, bound))
    return rounded(ctx, result)


@lowering(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(ctx: Any, value: TensorExpr, low: Any) -> TensorExpr:
    return clamp(ctx, value, low)


@lowering(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(ctx: Any, value: TensorExpr, high: Any) -> TensorExpr:
    return clamp(ctx, value, None, high)


@lowering(aten.relu.default)
def relu(ctx: Any, value: TensorExpr) -> TensorExpr:
    return clamp(ctx, value, 0)


@lowering(aten.threshold.default)
def threshold(ctx: Any, value: TensorExpr, limit: Any, replacement: Any) -> TensorExpr:
    """value <= limit ? replacement : value; NaN stays."""
    (operand,) = operands(ctx, value)
    return rounded(ctx, where(compare("le", operand, limit), replacement, operand))


@lowering(aten.threshold_backward.default)
def threshold_backward(ctx: Any, gradient: TensorExpr, value: TensorExpr, limit: Any) -> TensorExpr:
    grad, operand = operands(ctx, gradient, value)
    return rounded(ctx, where(compare("le", operand, limit), 0, grad))


@lowering(aten.isfinite.default)
def isfinite(ctx: Any, value: TensorExpr) -> TensorExpr:
    if not is_float(value.dtype):
        return fill(ctx.shape, "b8", True)
    return compare("lt", apply("abs", _computed(value)), math.inf)


def _register_infinity(name: str, infinity: float) -> None:
    @lowering(getattr(aten, name).default)
    def is_infinity(ctx: Any, value: TensorExpr) -> TensorExpr:
        if not is_float(value.dtype):
            return fill(ctx.shape, "b8", False)
        return compare("eq", _computed(value), infinity)


_register_infinity("isposinf", math.inf)
_register_infinity("isneginf", -math.inf)


# --- derivatives that are one operator in ATen graphs -----------------------------------------------------


@lowering(aten.tanh_backward.default)
def tanh_backward(ctx: Any, gradient: TensorExpr, output: TensorExpr) -> TensorExpr:
    grad, out = operands(ctx, gradient, output)
    return rounded(ctx, mul(grad, sub(1.0, mul(out, out))))


@lowering(aten.sigmoid_backward.default)
def sigmoid_backward(ctx: Any, gradient: TensorExpr, output: TensorExpr) -> TensorExpr:
    grad, out = operands(ctx, gradient, output)
    return rounded(ctx, mul(mul(grad, sub(1.0, out)), out))


# --- copies and casts -------------------------------------------------------------------------------------


@lowering(aten._to_copy.default)
def to_copy(ctx: Any, value: TensorExpr | float, **options: Any) -> TensorExpr:
    if options.get("device", ctx.val.device) != ctx.val.device or ctx.val.device.type != "cpu":
        return NotImplemented
    if not isinstance(value, TensorExpr):  # function transforms pass a number
        return copy_of(as_operand(value, ctx.dtype, ctx.shape))
    return copy_of(value) if value.dtype == ctx.dtype else cast(value, ctx.dtype)


@lowering(torch.ops.prims.convert_element_type.default, aten.to.dtype)
def convert_element_type(ctx: Any, value: TensorExpr, dtype: Any, *options: Any) -> TensorExpr:
    return value if value.dtype == ctx.dtype else cast(value, ctx.dtype)
