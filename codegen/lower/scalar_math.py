"""Shorthand for elementwise definitions over tensors of one shape.

In:  definitions, or numbers.
Out: a `Map`.

    where(less(a, b), a, b)  ->  Map("where", (Map("lt", (a, b)), a, b))

Numbers among the arguments become tensors of the type of the other tensors: constants, or values computed
from sizes.
"""

from __future__ import annotations

from typing import Any

from codegen.kernel.index_algebra import Poly
from codegen.kernel.ops import OPS, result_dtype
from codegen.lower.tensor_expr import Checked, Map, SizeValue, TensorExpr, cast, expand, fill

# Arithmetic on b8 registers is logic: True + True is True.
_LOGICAL = {"add": "or", "mul": "and", "max": "or", "min": "and"}


def apply(op: str, *args: Any) -> TensorExpr:
    """`op` of `codegen.kernel.ops` on tensors of one shape and type."""
    model = next(arg for arg in reversed(args) if isinstance(arg, TensorExpr))
    operands = tuple(arg if isinstance(arg, TensorExpr) else _number(arg, model) for arg in args)
    op = _on(model.dtype, op)
    spec = OPS[op]
    dtypes = tuple(operand.dtype for operand in operands)
    return Map(op, operands, result_dtype(op, dtypes, operands[-1].dtype if spec.result != "b8" else "b8"))


def takes(op: str, dtype: str) -> bool:
    """Whether `apply(op, ...)` is defined for tensors of this type."""
    return dtype in OPS[_on(dtype, op)].domain


def _on(dtype: str, op: str) -> str:
    return _LOGICAL.get(op, op) if dtype == "b8" else op


def _number(value: Any, model: TensorExpr) -> TensorExpr:
    if isinstance(value, Poly):
        return expand(cast(SizeValue(value), model.dtype), model.shape)
    return fill(model.shape, model.dtype, value)


def add(left: Any, right: Any) -> TensorExpr:
    return apply("add", left, right)


def sub(left: Any, right: Any) -> TensorExpr:
    return apply("sub", left, right)


def mul(left: Any, right: Any) -> TensorExpr:
    return apply("mul", left, right)


def where(condition: TensorExpr, left: Any, right: Any) -> TensorExpr:
    return apply("where", condition, left, right)


def compare(op: str, left: Any, right: Any) -> TensorExpr:
    """eq ne lt le gt ge."""
    return apply(op, left, right)


def both(left: TensorExpr, right: TensorExpr) -> TensorExpr:
    return apply("and", left, right)


def invert(value: TensorExpr) -> TensorExpr:
    return apply("not", value)


def nonzero(value: TensorExpr) -> TensorExpr:
    """Whether each element is true, as b8; NaN is true."""
    return value if value.dtype == "b8" else compare("ne", value, 0)


def unless_zero(op: str, left: TensorExpr, right: TensorExpr) -> TensorExpr:
    """An integer division that fails the kernel where the divisor is 0 (eager raises)."""
    return Checked(apply(op, left, right), compare("ne", right, 0))
