"""Floats that depend on sizes, as arguments of operators.

In:  a sympy expression over size symbols, as torch's SymFloats have it.
Out: `SizeFloat`, which kernels compute in double precision from the sizes that they get.

    2.0 / ToFloat(4*s0)   ->   Map("div", (Fill(2.0), Map("cast", (SizeValue(4*s0),))))

A rule that needs a Python number for such an argument raises TypeError: the graph is then compiled for each
size.
"""

from __future__ import annotations

from typing import Any, NoReturn

from capture_records import dataclass
from codegen.kernel.index_notation import from_sympy
from codegen.lower.scalar_math import apply
from codegen.lower.tensor_expr import SizeValue, TensorExpr, cast, fill

F64 = "f64"
#: by the name of a sympy class: the operation on its two arguments. A sum or product of more arguments has
#: no known order, so it could round differently.
BINARY = {"FloatTrueDiv": "div", "IntTrueDiv": "div", "Add": "add", "Mul": "mul"}


@dataclass(frozen=True, slots=True)
class SizeFloat:
    """`value`: a zero-dimensional f64."""

    value: TensorExpr

    def __bool__(self) -> NoReturn:
        raise TypeError("a float depends on sizes: only a run shows whether it is zero")


def size_float(expression: Any) -> SizeFloat:
    """The SizeFloat of the expression; NotImplementedError if it has no such form."""
    return SizeFloat(_in_double(expression))


def _in_double(expression: Any) -> TensorExpr:
    kind, arguments = type(expression).__name__, expression.args
    if expression.is_number:
        return fill((), F64, float(expression))
    if kind == "ToFloat" or expression.is_integer:
        return _of_size(arguments[0] if kind == "ToFloat" else expression)
    if kind == "OpaqueUnaryFn_sqrt":
        return apply("sqrt", _in_double(arguments[0]))
    if kind in BINARY and len(arguments) == 2:
        return apply(BINARY[kind], *map(_in_double, arguments))
    raise NotImplementedError(f"{expression}: a kernel can't compute this float from sizes")


def _of_size(expression: Any) -> TensorExpr:
    value = from_sympy(expression)
    return fill((), F64, float(value)) if isinstance(value, int) else cast(SizeValue(value), F64)
