"""Which matrix products call BLAS directly, and how.

In:  an ExternStep of mm, addmm or bmm, and the layouts of its buffers.
Out: a `MatmulLaunch`. None where BLAS cannot read the layouts: then the plan calls the operator.

    mm(x[64, 128], w.t()[128, 10])   ->   left x: rows 128 apart; right w: transposed, rows 128 apart
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch

from capture_records import dataclass
from codegen.kernel.program import ExternStep, Ref

aten = torch.ops.aten
MAX_INT = 2**31 - 1  # BLAS counts in int32
# A batch of MANY or more products with fewer than SMALL multiplications each: torch's own loop is faster than
# BLAS calls. (In float32, native/graph/small_product.c is faster.)
SMALL, MANY = 400, 128


class HasLayout(Protocol):
    """A buffer's dtype, and its sizes and strides as numbers."""

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def strides(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix for BLAS.

    `leading`: elements from one row to the next (`transposed`: from one column to the next). `step`: elements
    from one matrix of the batch to the next.
    """

    name: str
    transposed: int
    leading: int
    step: int


@dataclass(frozen=True, slots=True)
class MatmulLaunch:
    """output = alpha * left @ right + beta * output. `bias` is first broadcast into the output."""

    output: str
    left: Matrix
    right: Matrix
    dtype: torch.dtype
    rows: int
    columns: int
    inner: int
    batch: int = 1
    bias: str | None = None
    bias_strides: tuple[int, int] = (0, 0)
    alpha: float = 1.0
    beta: float = 0.0


def matrix_of(name: str, layout: HasLayout) -> Matrix | None:
    """The last two dims as BLAS sees them. None where neither is dense."""
    rows, columns = layout.shape[-2:]
    row_stride, column_stride = layout.strides[-2:]
    step = layout.strides[0] if len(layout.shape) == 3 else 0
    if (column_stride == 1 or columns == 1) and (row_stride >= columns or rows == 1):
        return Matrix(name, 0, max(row_stride, columns) if rows > 1 else columns, step)
    if (row_stride == 1 or rows == 1) and (column_stride >= rows or columns == 1):
        return Matrix(name, 1, max(column_stride, rows) if columns > 1 else rows, step)
    return None


def product(
    step: ExternStep, left: Any, right: Any, layouts: Mapping[str, HasLayout], rank: int
) -> MatmulLaunch | None:
    (output,) = step.outputs
    if output is None or not isinstance(left, Ref) or not isinstance(right, Ref):
        return None
    first, second, result = layouts[left.name], layouts[right.name], layouts[output]
    same = first.dtype is second.dtype is result.dtype and first.dtype in (torch.float32, torch.float64)
    sizes = (*first.shape, *second.shape)
    if (
        not same
        or len(first.shape) != rank
        or len(second.shape) != rank
        or any(size == 0 or size > MAX_INT for size in sizes)  # `max` would compare open numbers
    ):
        return None
    if not is_row_major(result):
        return None
    a, b = matrix_of(left.name, first), matrix_of(right.name, second)
    if a is None or b is None or a.leading > MAX_INT or b.leading > MAX_INT:
        return None
    rows, inner, columns = first.shape[-2], first.shape[-1], second.shape[-1]
    return MatmulLaunch(
        output, a, b, first.dtype, rows, columns, inner, batch=first.shape[0] if rank == 3 else 1
    )


def is_row_major(layout: HasLayout) -> bool:
    expected = 1
    for size, stride in zip(reversed(layout.shape), reversed(layout.strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def with_bias(step: ExternStep, layouts: Mapping[str, HasLayout]) -> MatmulLaunch | None:
    bias, left, right = step.args
    launch = product(step, left, right, layouts, 2)
    if launch is None or not isinstance(bias, Ref) or layouts[bias.name].dtype is not launch.dtype:
        return None
    layout = layouts[bias.name]
    missing = 2 - len(layout.shape)
    shape, strides = (1,) * missing + layout.shape, (0,) * missing + layout.strides
    steps = tuple(0 if size == 1 else stride for size, stride in zip(shape, strides))
    alpha, beta = step.kwargs.get("alpha", 1), step.kwargs.get("beta", 1)
    if not all(isinstance(factor, (int, float)) for factor in (alpha, beta)):  # a symbol
        return None
    if beta == 0:  # NaN in the bias must not count, so BLAS does not read the output
        return MatmulLaunch(**{**fields_of(launch), "alpha": float(alpha)})
    return MatmulLaunch(
        **{
            **fields_of(launch),
            "bias": bias.name,
            "bias_strides": steps,
            "alpha": float(alpha),
            "beta": float(beta),
        }
    )


def fields_of(launch: MatmulLaunch) -> dict[str, Any]:
    return {name: getattr(launch, name) for name in MatmulLaunch.__dataclass_fields__}


def native_matmul(step: ExternStep, layouts: Mapping[str, HasLayout]) -> MatmulLaunch | None:
    """How BLAS computes the step. None if it cannot."""
    if step.op is aten.mm.default:
        return product(step, step.args[0], step.args[1], layouts, 2)
    if step.op is aten.bmm.default:
        launch = product(step, step.args[0], step.args[1], layouts, 3)
        return None if launch is not None and _are_many_small(launch) else launch
    if step.op is aten.addmm.default and len(step.args) == 3:
        return with_bias(step, layouts)
    return None


def _are_many_small(launch: MatmulLaunch) -> bool:
    small = launch.rows * launch.columns * launch.inner < SMALL
    return launch.dtype is not torch.float32 and launch.batch >= MANY and small
