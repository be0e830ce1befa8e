"""Pooling over small windows: each element of a window is a shifted view of the input.

In:  the operands of a pooling operator.
Out: the definition of its result.

    max_pool2d(x, 2)   ->   max(x[.., 2h, 2w], x[.., 2h, 2w + 1], x[.., 2h + 1, 2w], x[.., 2h + 1, 2w + 1])
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch

from capture_records import dataclass
from codegen.kernel.index_algebra import plus
from codegen.lower.nodes import sizes_of
from codegen.lower.promotion import compute_dtype, is_float
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import add, apply, compare, mul, where
from codegen.lower.tensor_expr import (
    Affine,
    Coordinate,
    Padded,
    Position,
    Shape,
    Stored,
    TensorExpr,
    View,
    affine_view,
    along,
    cast,
    fill,
)

aten = torch.ops.aten
MAX_WINDOW = 16  # elements; the operator computes larger windows


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the last two dimensions."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def offsets(self) -> list[tuple[int, int]]:
        """The offsets of a window's elements from its corner, in eager's order."""
        rows, columns = ([d * i for i in range(k)] for k, d in zip(self.kernel, self.dilation))
        return list(itertools.product(rows, columns))

    def element(self, base: TensorExpr, shape: Shape, offset: tuple[int, int], around: float) -> TensorExpr:
        """One element of all windows; `around` is the value of the padding."""
        lead = len(shape) - 2
        if any(self.padding):
            padded = tuple(
                plus(size, 2 * pad) if dim >= lead else size
                for dim, (size, pad) in enumerate(zip(base.shape, (0,) * lead + self.padding))
            )
            base = Padded(base, padded, (0,) * lead + self.padding, around)
        places = [Coordinate(((lead + i, self.stride[i]),), offset[i]) for i in range(2)]
        return affine_view(base, shape, (*map(along, range(lead)), *places), aliases=False)

    def position(self, shape: Shape, offset: tuple[int, int], i: int) -> TensorExpr:
        """The row (i = 0) or column (i = 1) of the element in the input; negative in the padding."""
        corner = mul(Position(shape, len(shape) - 2 + i), self.stride[i])
        return add(corner, offset[i] - self.padding[i])


def _pair(value: int | Sequence[int]) -> tuple[int, ...]:
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * 2 if len(values) == 1 else values


def _windows(
    value: TensorExpr, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Windows | None:
    found = Windows(_pair(kernel), _pair(stride or kernel), _pair(padding), _pair(dilation))
    sizes = value.shape[-2:]
    numbers = (*found.kernel, *found.stride, *found.padding, *found.dilation, *sizes)
    if ceil_mode or not all(isinstance(number, int) for number in numbers):
        return None
    return found if is_float(value.dtype) and math.prod(found.kernel) <= MAX_WINDOW else None


def _in_memory(ctx: Any, value: TensorExpr) -> TensorExpr:
    """`value` with elements that cost only a read: a view of memory stays, anything else is stored."""
    is_view = (
        isinstance(value, View) and isinstance(value.transform, Affine) and isinstance(value.base, Stored)
    )
    return value if is_view else ctx.realize(value)


@lowering(aten.max_pool2d_with_indices.default)
def max_pool2d(
    ctx: Any,
    value: TensorExpr,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The first of equal elements; NaN if there is one (then the place of the last NaN), as in eager."""
    windows = _windows(value, kernel, stride, padding, dilation, ceil_mode)
    if windows is None:
        return NotImplemented
    base, shape = _in_memory(ctx, value), sizes_of(ctx.val[0])
    offsets = windows.offsets()
    best: TensorExpr | None = None
    place: TensorExpr | None = None
    for offset in offsets:
        element = cast(windows.element(base, shape, offset, -math.inf), compute_dtype(value.dtype))
        row, column = (windows.position(shape, offset, i) for i in range(2))
        number = add(mul(row, base.shape[-1]), column)
        if best is None or place is None:
            best, place = element, _first_place(windows, shape, base)
        is_new = apply("or", compare("gt", element, best), apply("isnan", element))
        place = where(is_new, number, place)
        best = apply("max", best, element)
    assert best is not None
    return cast(best, value.dtype), place


def _first_place(windows: Windows, shape: Shape, base: TensorExpr) -> TensorExpr:
    """The number of the first element of a window that is in the input: eager's answer if all are -inf."""
    firsts = []
    for i in range(2):
        first = windows.position(shape, (0, 0), i)
        steps = -(-windows.padding[i] // windows.dilation[i])
        for _ in range(steps):
            outside = compare("lt", first, 0)
            first = where(outside, add(first, windows.dilation[i]), first)
        firsts.append(first)
    return add(mul(firsts[0], base.shape[-1]), firsts[1])


@lowering(aten.avg_pool2d.default)
def avg_pool2d(
    ctx: Any,
    value: TensorExpr,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    windows = _windows(value, kernel, stride, padding, 1, ceil_mode)
    if windows is None or (any(windows.padding) and not count_include_pad):
        return NotImplemented
    dtype, base = compute_dtype(value.dtype), _in_memory(ctx, value)
    total: TensorExpr = fill(ctx.shape, dtype, 0.0)
    for offset in windows.offsets():
        total = add(total, cast(windows.element(base, ctx.shape, offset, 0.0), dtype))
    return cast(apply("div", total, float(divisor_override or math.prod(windows.kernel))), value.dtype)
