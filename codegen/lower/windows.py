"""Windows side by side, and their sum: torch.nn.functional.unfold and fold.

In:  the operands of im2col or col2im.
Out: the definition of the result.

    aten.im2col(x, [2, 2], ...)   ->   padded x at (row * stride + i * dilation, column * stride
                                       + j * dilation)
    aten.col2im(y, ...)           ->   the sum over i and j of y, moved to the places of its windows;
                                       y itself if the windows don't overlap
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.index_algebra import plus
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import add
from codegen.lower.tensor_expr import (
    Coordinate,
    Padded,
    TensorExpr,
    affine_view,
    along,
    reshape,
)

aten = torch.ops.aten
# up to this many elements writes to places far apart are not slower than eager (measured)
SIDE_BY_SIDE = 1 << 12
MAX_WINDOW = 25  # elements of a window that are added one by one


def counts(size: Sequence[int], kernel: Any, dilation: Any, padding: Any, stride: Any) -> list[int]:
    """The number of windows in each direction."""
    return [(size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]


@lowering(aten.im2col.default)
def im2col(ctx: Any, value: TensorExpr, kernel: Any, dilation: Any, padding: Any, stride: Any) -> TensorExpr:
    *lead, height, width = value.shape
    if not all(isinstance(size, int) for size in value.shape):
        return NotImplemented
    windows = counts((height, width), kernel, dilation, padding, stride)  # type: ignore[arg-type]
    begin = (*(0 for _ in lead), *padding)
    whole = (*lead, plus(height, 2 * padding[0]), plus(width, 2 * padding[1]))
    padded = Padded(value, whole, begin, 0) if any(padding) else value
    rank = len(lead)
    places = [Coordinate(((rank + i, dilation[i]), (rank + 2 + i, stride[i]))) for i in range(2)]
    shape = (*lead, *kernel, *windows)
    return reshape(
        affine_view(padded, shape, (*map(along, range(rank)), *places), aliases=False),
        ctx.shape,
        aliases=False,
    )


@lowering(aten.col2im.default)
def col2im(
    ctx: Any, value: TensorExpr, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> TensorExpr:
    if not all(isinstance(number, int) for number in (*ctx.shape, *size)):
        return NotImplemented
    lead = ctx.shape[:-2]
    windows = counts(size, kernel, dilation, padding, stride)
    columns = reshape(value, (*lead, *kernel, *windows))
    if tuple(kernel) == tuple(stride) and not any(padding) and tuple(dilation) == (1, 1):
        few = math.prod(ctx.shape) <= SIDE_BY_SIDE
        return _side_by_side(ctx, columns, kernel, windows) if few else NotImplemented
    rounds_each = ctx.dtype not in ("f32", "f64")  # eager adds in the type of the result
    if rounds_each or any(step != 1 for step in stride) or math.prod(kernel) > MAX_WINDOW:
        return NotImplemented
    rank, base = len(lead), ctx.realize(columns) if columns.depth else columns
    total: Any = None
    for i, j in itertools.product(*map(range, kernel)):
        one = affine_view(
            base,
            (*lead, *windows),
            (
                *map(along, range(rank)),
                Coordinate(start=i),
                Coordinate(start=j),
                along(rank),
                along(rank + 1),
            ),
        )
        begin = (*(0 for _ in lead), i * dilation[0] - padding[0], j * dilation[1] - padding[1])
        moved = Padded(one, ctx.shape, begin, 0)
        total = moved if total is None else add(total, moved)
    return total


def _side_by_side(ctx: Any, columns: TensorExpr, kernel: Any, windows: list[int]) -> TensorExpr:
    """(..., i, j, row, column) -> (..., row, i, column, j), with zeros behind the last window."""
    rank = len(ctx.shape) - 2
    shape = (*ctx.shape[:rank], windows[0], kernel[0], windows[1], kernel[1])
    order = (rank + 1, rank + 3, rank, rank + 2)
    turned = affine_view(columns, shape, (*map(along, range(rank)), *map(along, order)), aliases=False)
    area = reshape(turned, (*ctx.shape[:rank], windows[0] * kernel[0], windows[1] * kernel[1]), aliases=False)
    return area if area.shape == ctx.shape else Padded(area, ctx.shape, (0,) * len(ctx.shape), 0)
