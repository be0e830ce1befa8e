"""Reductions of many elements to one: in parts, which threads can divide.

In:  a definition, all of whose dimensions are reduced.
Out: the reduction of the reductions of its parts.

    sum of x[1000, 1000]   ->   Reduce("sum", Reduce("sum", x as [50, 20, 1000], (1, 2)), (0,))

The number of parts does not depend on the threads, so the result does not depend on them either. The
dimension with the largest stride is cut: then each part is contiguous.
"""

from __future__ import annotations

from codegen.kernel.index_algebra import Index, row_major
from codegen.lower.tensor_expr import Affine, Checked, Map, Reduce, Stored, TensorExpr, View, numel, reshape

LONG = 1 << 16  # elements from which parts can pay; on one thread they cost 3 % there (10 % for a bare amax)
PARTS = range(64, 7, -1)


def reduce_whole(combine: str, value: TensorExpr) -> TensorExpr:
    """`combine` is one whose results can be combined: not an argmax."""
    dim = _cut(value)
    if dim is None:
        return Reduce(combine, value, tuple(range(len(value.shape))))
    extent = value.shape[dim]
    assert isinstance(extent, int)
    parts = _parts_of(extent)
    split = reshape(value, (*value.shape[:dim], parts, extent // parts, *value.shape[dim + 1 :]))
    others = tuple(other for other in range(len(split.shape)) if other != dim)
    return Reduce(combine, Reduce(combine, split, others), (0,))


def _cut(value: TensorExpr) -> int | None:
    """The dimension to cut; None: there is little to do, or no dimension has equal parts."""
    size = numel(value.shape)
    if not isinstance(size, int) or size < LONG:
        return None
    steps = _steps(value)
    outermost = sorted(range(len(steps)), key=lambda dim: -steps[dim])
    return next((dim for dim in outermost if _parts_of(value.shape[dim])), None)


def _parts_of(extent: Index) -> int:
    """The number of equal parts; 0 if there are none."""
    return next((n for n in PARTS if isinstance(extent, int) and extent % n == 0), 0)


def _steps(value: TensorExpr) -> tuple[int, ...]:
    """The stride of each dimension in memory.

    For a value computed from several tensors: the strides of the tensor with the largest strides.
    """
    if isinstance(value, Stored):
        return tuple(map(_known, value.strides))
    if isinstance(value, Map):
        return max((_steps(arg) for arg in value.args), key=sum)
    if isinstance(value, Checked):
        return _steps(value.value)
    if isinstance(value, View) and isinstance(value.transform, Affine):
        base, found = _steps(value.base), [0] * len(value.shape)
        for coordinate, step in zip(value.transform.coordinates, base, strict=True):
            for dim, factor in coordinate.terms:
                found[dim] += step * abs(_known(factor))
        return tuple(found)
    return tuple(map(_known, row_major(value.shape)))


def _known(number: Index) -> int:
    return number if isinstance(number, int) else 0
