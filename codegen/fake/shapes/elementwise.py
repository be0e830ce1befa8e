"""Elementwise operators: broadcast, promote, lay out.

In:  tensors and numbers.
Out: the `Spec` of the result.

    add(f32[3, 1], i64[4])   ->   Spec((3, 4), (4, 1), f32)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.fake.shapes.spec import (
    SHAPE_RULES,
    Spec,
    aten,
    can_cast,
    contiguous,
    equal,
    iterated_strides,
    like,
    promoted,
    row_major,
)

Operand = Any  # a tensor or a number


def combine(higher: torch.dtype | None, lower: torch.dtype | None) -> torch.dtype | None:
    """The dtype of two categories: tensors, then zero-dim tensors, then numbers.

    The lower category counts only where it has a higher kind of number (bool, int, float, complex).
    """
    if higher is None or lower is None:
        return higher or lower
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return promoted(higher, torch.complex32) if lower.is_complex else higher
    if higher is torch.bool or lower.is_floating_point or lower.is_complex:
        return promoted(higher, lower)
    return higher


def number_dtype(value: Any) -> torch.dtype:
    if isinstance(value, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(value, (int, torch.SymInt)):
        return torch.int64
    if isinstance(value, (float, torch.SymFloat)):
        return torch.get_default_dtype()
    return promoted(torch.get_default_dtype(), torch.complex32)


def result_type(operands: Sequence[Operand]) -> torch.dtype:
    """`torch.result_type` of any number of tensors and numbers."""
    found: list[torch.dtype | None] = [None, None, None]
    for operand in operands:
        is_tensor = isinstance(operand, torch.Tensor)
        dtype = operand.dtype if is_tensor else number_dtype(operand)
        level = (0 if operand.dim() else 1) if is_tensor else 2
        known = found[level]
        found[level] = dtype if known is None else promoted(known, dtype)
    result = combine(found[0], combine(found[1], found[2]))
    assert result is not None, "result_type of no operands"
    return result


def broadcast(operands: Sequence[Operand]) -> tuple[int, ...] | None:
    """The common shape, or None where the shapes do not fit."""
    shape: tuple[int, ...] = ()
    for operand in operands:
        if not isinstance(operand, torch.Tensor):
            continue
        other = tuple(operand.shape)
        if equal(other, shape):
            continue
        if not shape:
            shape = other
            continue
        rank = max(len(shape), len(other))
        padded = zip((1,) * (rank - len(shape)) + shape, (1,) * (rank - len(other)) + other)
        sizes = []
        for left, right in padded:
            if left != right and left != 1 and right != 1:
                return None
            sizes.append(right if left == 1 else left)
        shape = tuple(sizes)
    return shape


def operand_strides(
    operands: Sequence[Operand], shape: tuple[int, ...], compute: torch.dtype
) -> list[tuple[int, ...]]:
    """The strides of each tensor, broadcast to `shape`: 0 for a missing or expanded dim.

    An operand of another dtype than `compute` has the strides of its converted copy.
    """
    seen = []
    for operand in operands:
        if isinstance(operand, torch.Tensor):
            sizes, missing = operand.shape, len(shape) - operand.dim()
            strides = operand.stride() if operand.dtype is compute else like(operand).strides
            own = (0 if size == 1 and shape[missing + i] != 1 else strides[i] for i, size in enumerate(sizes))
            seen.append((0,) * missing + tuple(own))
    return seen


def rows_of(operands: Sequence[Operand]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape and strides of the result where all tensors have one shape and are stored row by row.

    This is the usual case. Numbers and tensors without dims change nothing in it.
    """
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    for operand in operands:
        if not isinstance(operand, torch.Tensor) or not operand.dim():
            continue
        if not shape:
            shape = tuple(operand.shape)
            strides = row_major(shape)
        if not equal(operand.shape, shape) or operand.stride() != strides:
            return None
    return None if 0 in shape else (shape, strides)


def elementwise(
    operands: Sequence[Operand], dtype: torch.dtype, compute: torch.dtype | None = None, asis: int = 0
) -> Any:
    """The result of an elementwise operator, with the dtype `dtype`.

    The operands are converted to `compute` (default: `dtype`), except the first `asis` operands.
    """
    rows = rows_of(operands)
    if rows is not None:
        return Spec(*rows, dtype)
    shape = broadcast(operands)
    if shape is None:
        return NotImplemented
    strides = [
        *(
            found
            for operand in operands[:asis]
            for found in operand_strides((operand,), shape, operand.dtype)
        ),
        *operand_strides(operands[asis:], shape, compute or dtype),
    ]
    same_shape = all(equal(tuple(getattr(operand, "shape", ())), shape) for operand in operands)
    return Spec(shape, iterated_strides(shape, strides, same_shape), dtype)


def to_float(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()


def has_bool(operands: Sequence[Operand]) -> bool:
    return any(isinstance(operand, torch.Tensor) and operand.dtype is torch.bool for operand in operands)


def promote_rule(count: int, kind: str, parameters: bool = False, swapped: bool = False) -> Any:
    """A rule for operators on `count` operands.

    `swapped`: the last operand comes first. `parameters`: numbers are not broadcast. `kind` is the dtype of
    the result: "float" (the common dtype; integers become the default dtype), "bool" (a truth value), "any"
    (the common dtype), "number" (as "any"; the rule declines truth values), "floating" (as "any"; the rule
    declines all but floats). A sum with `alpha` is declined where `alpha` is a float and the operands are
    integers.
    """

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands = args[:count][::-1] if swapped else args[:count]
        if any(operand is None for operand in operands):
            operands = tuple(operand for operand in operands if operand is not None)
        if len(operands) == 1 < count:  # `clamp` without bounds: eager has an error
            return NotImplemented
        dtype = result_type(operands)
        if (
            dtype.is_complex
            or (kind == "number" and has_bool(operands))
            or (kind == "floating" and not dtype.is_floating_point)
            or (isinstance(kwargs.get("alpha"), float) and not dtype.is_floating_point)
        ):
            return NotImplemented
        if parameters:
            operands = tuple(operand for operand in operands if isinstance(operand, torch.Tensor))
        if kind == "bool":
            return elementwise(operands, torch.bool, dtype)
        return elementwise(operands, to_float(dtype) if kind == "float" else dtype)

    return run


def inplace_rule(functional: Any) -> Any:
    """`x.add_(y)`: x itself, if the functional result fits into it."""

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        spec = functional(args, kwargs)
        target = args[0]
        if (
            spec is NotImplemented
            or spec.shape != tuple(target.shape)
            or not can_cast(spec.dtype, target.dtype)
        ):
            return NotImplemented
        return target

    return run


FLOAT_UNARY = """exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh sigmoid erf erfc erfinv reciprocal lgamma digamma sinc special_entr"""
SAME_UNARY = "neg positive abs relu sign floor ceil round round.decimals trunc square sgn"
ACTIVATIONS = """frac hardswish hardsigmoid silu mish gelu elu celu selu leaky_relu softplus threshold
    hardshrink softshrink relu6 log_sigmoid_backward"""
BOOL_UNARY = "logical_not isnan isfinite signbit"
LOGICAL_BINARY = """add.Tensor mul.Tensor add.Scalar mul.Scalar maximum minimum bitwise_and.Tensor
    bitwise_or.Tensor bitwise_xor.Tensor bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar"""
PROMOTE_BINARY = """sub.Tensor sub.Scalar rsub.Tensor rsub.Scalar fmax fmin remainder.Tensor remainder.Scalar
    fmod.Tensor fmod.Scalar floor_divide floor_divide.Scalar pow.Tensor_Tensor pow.Tensor_Scalar clamp_min
    clamp_max clamp_min.Tensor clamp_max.Tensor"""
FLOAT_PAIRS = """hypot sigmoid_backward tanh_backward silu_backward mish_backward hardswish_backward
    hardsigmoid_backward gelu_backward hardtanh_backward softplus_backward hardshrink_backward
    softshrink_backward logit_backward"""
SECOND_FIRST = "threshold_backward leaky_relu_backward"  # eager iterates over their second operand first
FLOAT_BINARY = """div.Tensor div.Scalar true_divide.Tensor atan2 xlogy.Tensor special_xlog1py logaddexp
    logaddexp2 nextafter copysign.Tensor copysign.Scalar"""
BOOL_BINARY = """eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor eq.Scalar ne.Scalar lt.Scalar
    le.Scalar gt.Scalar ge.Scalar logical_and logical_or logical_xor"""
PROMOTE_TERNARY = "addcmul addcdiv lerp.Scalar lerp.Tensor clamp clamp.Tensor"
OPERAND_COUNTS = {"lerp.Scalar": 2}
# Numbers are parameters of these kernels. Other operators make tensors of numbers and broadcast these.
UNARY_WITH_NUMBERS = ("pow.Tensor_Scalar", "clamp_min", "clamp_max", "clamp")


def overloads(packet: str, overload: str) -> list[Any]:
    found = getattr(aten, packet, None)
    return [getattr(found, overload)] if found is not None and overload in found.overloads() else []


def register(names: str, count: int, kind: str) -> None:
    for name in names.split():
        packet, _, overload = name.partition(".")
        swapped = name in SECOND_FIRST.split()
        body = promote_rule(OPERAND_COUNTS.get(name, count), kind, name in UNARY_WITH_NUMBERS, swapped)
        for op in overloads(packet, overload or "default"):
            SHAPE_RULES[op] = body
        for op in overloads(packet + "_", overload or "default"):
            SHAPE_RULES[op] = inplace_rule(body)


for _names, _count, _kind in (
    (FLOAT_UNARY, 1, "float"),
    (SAME_UNARY, 1, "number"),
    ("bitwise_not", 1, "any"),
    (ACTIVATIONS, 1, "floating"),
    (BOOL_UNARY, 1, "bool"),
    (LOGICAL_BINARY, 2, "any"),
    (PROMOTE_BINARY, 2, "number"),
    (FLOAT_PAIRS, 2, "floating"),
    (SECOND_FIRST, 2, "floating"),
    (FLOAT_BINARY, 2, "float"),
    (BOOL_BINARY, 2, "bool"),
    (PROMOTE_TERNARY, 3, "floating"),
):
    register(_names, _count, _kind)


def where(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    condition, left, right = args
    if condition.dtype is not torch.bool:
        return NotImplemented
    return elementwise(args, result_type((left, right)), asis=1)


def div_mode(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if has_bool(args[:2]):
        return NotImplemented
    dtype = result_type(args[:2])
    return elementwise(args[:2], to_float(dtype) if kwargs["rounding_mode"] is None else dtype)


def pow_scalar(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous(args[1].shape, result_type(args[:2]))


def as_the_operand(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For operators that write into `empty_like` of their operand; TensorIterator has another layout."""
    return like(args[0]) if args[0].dtype.is_floating_point else NotImplemented


def reversed_difference(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Eager subtracts in the other order."""
    return promote_rule(2, "number")((args[1], args[0]), kwargs)


def is_infinite(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Eager compares the magnitude, a separate tensor, with a number."""
    magnitude = elementwise(args, torch.bool, args[0].dtype)
    return Spec(magnitude.shape, iterated_strides(magnitude.shape, (magnitude.strides,), False), torch.bool)


SHAPE_RULES[aten.isinf.default] = is_infinite
SHAPE_RULES[aten.where.self] = where
SHAPE_RULES[aten.rsub.Tensor] = reversed_difference
for _op in (
    aten.hardtanh.default,
    aten.nan_to_num.default,
    aten.deg2rad.default,
    aten.rad2deg.default,
    aten._prelu_kernel.default,
):
    SHAPE_RULES[_op] = as_the_operand
SHAPE_RULES[aten.pow.Scalar] = pow_scalar
for _overload in ("Tensor_mode", "Scalar_mode"):
    SHAPE_RULES[getattr(aten.div, _overload)] = div_mode
    SHAPE_RULES[getattr(aten.div_, _overload)] = inplace_rule(div_mode)


def dropout_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return elementwise(args[:2], args[0].dtype) if args[0].dtype.is_floating_point else NotImplemented


SHAPE_RULES[aten.native_dropout_backward.default] = dropout_backward


def prelu_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, tensor, weight = args
    spec = promote_rule(3, "floating")((tensor, weight, grad), kwargs)
    return NotImplemented if spec is NotImplemented else (spec, spec)


SHAPE_RULES[aten._prelu_kernel_backward.default] = prelu_backward


def elu_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Of a gradient, three numbers, whether the tensor is the result, and the tensor."""
    return promote_rule(2, "floating")((args[0], args[5]), kwargs)


SHAPE_RULES[aten.elu_backward.default] = elu_backward


def gelu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    usual = kwargs.get("approximate", "none") in ("none", "tanh")
    return promote_rule(len(args), "floating")(args, kwargs) if usual else NotImplemented


SHAPE_RULES[aten.gelu.default] = SHAPE_RULES[aten.gelu_backward.default] = gelu
