"""Element types in which ATen computes.

In:  the arguments of an operator: tensors, Python numbers, sizes.
Out: their common type ("f32", ...), the type to compute in, and the arguments as tensors of that type and one
     shape.

    common_dtype([f32 of 4 elements, 2.5 (a Python float)]) -> "f32"        compute_dtype("bf16") -> "f32"
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.index_algebra import Poly
from codegen.kernel.ops import FLOATS, IR_DTYPES, TORCH_DTYPES
from codegen.lower.size_floats import SizeFloat
from codegen.lower.tensor_expr import Shape, SizeValue, TensorExpr, cast, expand, fill

_HALF = frozenset({"bf16", "f16"})


def compute_dtype(dtype: str) -> str:
    """The type to compute in: f32 for bf16 and f16, else the type itself."""
    return "f32" if dtype in _HALF else dtype


def is_float(dtype: str) -> bool:
    return dtype in FLOATS or dtype in _HALF


def _category(dtype: str) -> int:
    return 0 if dtype == "b8" else 2 if is_float(dtype) else 1


def _number_dtype(value: Any) -> str:
    if isinstance(value, bool):
        return "b8"
    if isinstance(value, (float, SizeFloat)):
        return IR_DTYPES[torch.get_default_dtype()]
    return "i64"


def common_dtype(operands: Sequence[Any]) -> str:
    """The type to which ATen promotes these operands.

    Tensors with dimensions come first, then zero-dimensional ones, then numbers. A later class matters only
    if its category is higher (bool < integer < float).
    """
    classes: list[list[str]] = [[], [], []]
    for operand in operands:
        if isinstance(operand, TensorExpr) and not isinstance(operand, SizeValue):
            classes[0 if operand.shape else 1].append(operand.dtype)
        else:
            classes[2].append("i64" if isinstance(operand, SizeValue) else _number_dtype(operand))
    result: str | None = None
    for dtypes in classes:
        if dtypes:
            found = _promote(dtypes)
            result = found if result is None or _category(found) > _category(result) else result
    assert result is not None, "an operator without operands"
    return result


def _promote(dtypes: list[str]) -> str:
    found = dtypes[0]
    for dtype in dtypes[1:]:
        if dtype != found:
            found = IR_DTYPES[torch.promote_types(TORCH_DTYPES[found], TORCH_DTYPES[dtype])]
    return found


def as_operand(operand: Any, dtype: str, shape: Shape, common: str | None = None) -> TensorExpr:
    """`operand` as a tensor of `dtype` and `shape`.

    A tensor of another type is first rounded to `common`, as eager does. A number is converted directly to
    `dtype`, the type of computation.
    """
    if isinstance(operand, TensorExpr):
        rounded = operand if common is None else cast(operand, common)
        return expand(cast(rounded, dtype), shape)
    if isinstance(operand, Poly):
        return expand(cast(SizeValue(operand), dtype), shape)
    if isinstance(operand, SizeFloat):
        return expand(cast(operand.value, dtype), shape)
    return fill(shape, dtype, operand)
