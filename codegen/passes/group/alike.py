"""Which definitions are the same computation on different memory.

In:  definitions. Each comes after its operands.
Out: a number for each. Equal numbers mean that the definitions differ only in the memory that they read, and
     in how other kernels fill that memory.

    p0 - g0 * 0.1   and   p1 - g1 * 0.1   ->   the same form, if the four buffers have one layout

Roots of one form on separate memory do not share a loop body. Otherwise one body would hold every buffer of
an optimizer step, or the sums of every layer. Their kernels have one text, and those that are small become
one kernel that runs over a table of buffers (`codegen.passes.steps.tables`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel.index_algebra import Index
from codegen.lower.tensor_expr import (
    Affine,
    Checked,
    Fill,
    Gather,
    Map,
    Padded,
    Position,
    Reduce,
    Scan,
    Scattered,
    SizeValue,
    Stored,
    TensorExpr,
    Transform,
    View,
)


class Forms:
    """The form of each definition that was visited. A definition comes after its operands."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._found: dict[TensorExpr, int] = {}

    def of(self, value: TensorExpr) -> int:
        return self._found[value]

    def visit(self, value: TensorExpr, parts: tuple[TensorExpr, ...]) -> None:
        """`parts`: the operands of the definition."""
        below = tuple(self._found[part] for part in parts)
        self._note(value, (type(value), value.dtype, value.shape, *_OWN[type(value)](value), below))

    def store(self, value: TensorExpr, strides: tuple[Index, ...]) -> None:
        """From here on the definition is memory for its users: it does not matter how it was computed."""
        self._note(value, (Stored, value.dtype, value.shape, strides, 0, ()))

    def _note(self, value: TensorExpr, key: tuple[Any, ...]) -> None:
        self._found[value] = self._numbers.setdefault(key, len(self._numbers))


def _walk(transform: Transform) -> Any:
    """How a view walks through its base, without the start: parts of one tensor are different memory."""
    return tuple(c.terms for c in transform.coordinates) if isinstance(transform, Affine) else transform


def _kinds(coordinates: tuple[int | TensorExpr, ...]) -> tuple[int | None, ...]:
    return tuple(item if isinstance(item, int) else None for item in coordinates)


_OWN: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Stored: lambda v: (v.strides, v.offset),
    Fill: lambda v: (repr(v.value),),
    Position: lambda v: (v.dim,),
    SizeValue: lambda v: (v.value,),
    Map: lambda v: (v.op,),
    View: lambda v: (_walk(v.transform),),
    Checked: lambda v: (),
    Reduce: lambda v: (v.combine, v.dims),
    Scan: lambda v: (v.combine, v.dim),
    Gather: lambda v: (v.wraps, v.trusted, _kinds(v.coordinates)),
    Padded: lambda v: (v.begin, repr(v.fill)),
    Scattered: lambda v: (v.combine, v.into, v.wraps, v.trusted, _kinds(v.coordinates)),
}
