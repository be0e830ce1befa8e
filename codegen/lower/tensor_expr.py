"""Tensors as definitions: what the element at an index is, before storage is decided.

In:  lowering functions build these, one for each ATen operation.
Out: `codegen.passes` cuts the DAG into kernels and emits each definition at the indices where it is needed.

    y = (x + 1).t()  ->  View(Map("add", (Stored("x"), Fill(1.0))), Affine(permutation 1, 0))

A definition has a shape of `Index` sizes and an element type of loop IR. The arguments of a `Map` have its
shape: broadcasts are views. Nodes compare by identity; a node that is used twice is one node.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from capture_records import dataclass
from codegen.kernel.index_algebra import Index, Ranges, dot, plus, product, row_major, times
from codegen.kernel.ops import TORCH_DTYPES

Shape = tuple[Index, ...]
Indices = tuple[Index, ...]


class TensorExpr:
    """A tensor by its definition. `depth` bounds the recursion of the passes."""

    __slots__ = ("depth", "dtype", "shape")

    def __init__(self, shape: Shape, dtype: str, depth: int = 0) -> None:
        self.shape = shape
        self.dtype = dtype
        self.depth = depth


class Stored(TensorExpr):
    """The elements of a buffer: element at `dot(index, strides) + offset` from its base pointer."""

    __slots__ = ("buffer", "offset", "strides")

    def __init__(
        self, shape: Shape, dtype: str, buffer: str, strides: tuple[Index, ...], offset: Index = 0
    ) -> None:
        super().__init__(shape, dtype)
        self.buffer = buffer
        self.strides = strides
        self.offset = offset

    def element(self, indices: Indices) -> Index:
        return plus(dot(indices, self.strides), self.offset)


class Fill(TensorExpr):
    """The same number everywhere."""

    __slots__ = ("value",)

    def __init__(self, shape: Shape, dtype: str, value: float | int | bool) -> None:
        super().__init__(shape, dtype)
        self.value = value


class Position(TensorExpr):
    """The index along dimension `dim`, as i64."""

    __slots__ = ("dim",)

    def __init__(self, shape: Shape, dim: int) -> None:
        super().__init__(shape, "i64")
        self.dim = dim


class SizeValue(TensorExpr):
    """A zero-dimensional i64 with the value of an index expression over sizes."""

    __slots__ = ("value",)

    def __init__(self, value: Index) -> None:
        super().__init__((), "i64")
        self.value = value


class Map(TensorExpr):
    """`op` of `codegen.kernel.ops` on the elements of `args` at the same index."""

    __slots__ = ("args", "op")

    def __init__(self, op: str, args: tuple[TensorExpr, ...], dtype: str) -> None:
        super().__init__(args[0].shape, dtype, 1 + max(arg.depth for arg in args))
        self.op = op
        self.args = args


class View(TensorExpr):
    """The element of `base` at the transformed index. `aliases`: in eager it shares memory with the base."""

    __slots__ = ("aliases", "base", "transform")

    def __init__(self, base: TensorExpr, shape: Shape, transform: Transform, aliases: bool = True) -> None:
        super().__init__(shape, base.dtype, base.depth + 1)
        self.base = base
        self.transform = transform
        self.aliases = aliases


class Checked(TensorExpr):
    """`value`, after `condition` (b8) was found true at the same index; else the kernel fails."""

    __slots__ = ("condition", "value")

    def __init__(self, value: TensorExpr, condition: TensorExpr) -> None:
        super().__init__(value.shape, value.dtype, 1 + max(value.depth, condition.depth))
        self.value = value
        self.condition = condition


class Reduce(TensorExpr):
    """`combine` of `codegen.kernel.ir.Accumulator` over `dims` of `source`.

    The shape is that of the other dimensions. The index of argmax and argmin is the row-major number of the
    element within the reduced dimensions.
    """

    __slots__ = ("combine", "dims", "source")

    def __init__(self, combine: str, source: TensorExpr, dims: tuple[int, ...]) -> None:
        shape = tuple(size for dim, size in enumerate(source.shape) if dim not in dims)
        dtype = "i64" if combine.startswith("arg") else source.dtype
        super().__init__(shape, dtype, source.depth + 1)
        self.combine = combine
        self.source = source
        self.dims = dims

    @property
    def reduced_shape(self) -> Shape:
        return tuple(self.source.shape[dim] for dim in self.dims)


class PartSum(TensorExpr):
    """Not a tensor: sums of `source` over the positions along `dims` in one part of a kernel's rows.

    `codegen.passes.draft.column_sums` makes it. The shape is that of `source`. The buffer has a dimension for
    the parts and the dimensions that are not in `dims`.
    """

    __slots__ = ("dims", "source")

    def __init__(self, source: TensorExpr, dims: tuple[int, ...]) -> None:
        super().__init__(source.shape, source.dtype, source.depth + 1)
        self.source = source
        self.dims = dims


class Scan(TensorExpr):
    """The elements of `source` along `dim` up to each one, combined and converted to `dtype`.

    `combine` is "sum", "prod", "max" or "min".
    """

    __slots__ = ("combine", "dim", "source")

    def __init__(self, combine: str, source: TensorExpr, dim: int, dtype: str) -> None:
        super().__init__(source.shape, dtype, source.depth + 1)
        self.combine = combine
        self.source = source
        self.dim = dim


class Gather(TensorExpr):
    """The element of `base` at computed coordinates.

    `coordinates[d]` indexes dimension d of the base: the number of a dimension of the result, or an integer
    tensor of the result's shape. `wraps`: negative values count from the end. Values out of range fail the
    kernel; `trusted`: they are known to be in range, or kernels before this one have checked them. `checks`:
    the buffers that these kernels fill.
    """

    __slots__ = ("base", "checks", "coordinates", "trusted", "wraps")

    def __init__(
        self, base: TensorExpr, shape: Shape, coordinates: tuple[int | TensorExpr, ...], wraps: bool
    ) -> None:
        depth = max([base.depth, *(c.depth for c in coordinates if isinstance(c, TensorExpr))])
        super().__init__(shape, base.dtype, depth + 1)
        self.base = base
        self.coordinates = coordinates
        self.wraps = wraps
        self.trusted = False
        self.checks: tuple[str, ...] = ()


class Padded(TensorExpr):
    """`base` moved by `begin` in each dimension, with `fill` around it (negative `begin` crops)."""

    __slots__ = ("base", "begin", "fill")

    def __init__(
        self, base: TensorExpr, shape: Shape, begin: tuple[Index, ...], fill: float | int | bool
    ) -> None:
        super().__init__(shape, base.dtype, base.depth + 1)
        self.base = base
        self.begin = begin
        self.fill = fill


class Scattered(TensorExpr):
    """Not a tensor: the elements of `source`, each written to a computed place of a buffer in turn.

    The shape is that of `source`. `coordinates[d]` indexes dimension d of the buffer (of sizes `into`): the
    number of a dimension of the source, or an integer tensor of the source's shape, as in `Gather` (so are
    `trusted` and `checks`). `combine`: how an element combines with the element in the buffer ("sum", "prod",
    "max", "min"), or None.
    """

    __slots__ = ("checks", "combine", "coordinates", "into", "source", "trusted", "wraps")

    def __init__(
        self,
        source: TensorExpr,
        into: Shape,
        coordinates: tuple[int | TensorExpr, ...],
        wraps: bool,
        combine: str | None,
    ) -> None:
        depth = max([source.depth, *(c.depth for c in coordinates if isinstance(c, TensorExpr))])
        super().__init__(source.shape, source.dtype, depth + 1)
        self.source = source
        self.into = into
        self.coordinates = coordinates
        self.wraps = wraps
        self.combine = combine
        self.trusted = False
        self.checks: tuple[str, ...] = ()


@dataclass(slots=True)
class Assignment:
    """A request to store the elements of `value` at `target`, a place in a buffer."""

    value: TensorExpr
    target: Stored


# --- what definitions are made of -------------------------------------------------------------------------


def _with_coordinates(own: str) -> Callable[[Any], tuple[TensorExpr, ...]]:
    return lambda v: (getattr(v, own), *(c for c in v.coordinates if isinstance(c, TensorExpr)))


#: what a definition of the class directly uses; the other classes use nothing
_CHILDREN: dict[type, Callable[[Any], tuple[TensorExpr, ...]]] = {
    Map: lambda v: v.args,
    View: lambda v: (v.base,),
    Padded: lambda v: (v.base,),
    Reduce: lambda v: (v.source,),
    Scan: lambda v: (v.source,),
    PartSum: lambda v: (v.source,),
    Checked: lambda v: (v.value, v.condition),
    Gather: _with_coordinates("base"),
    Scattered: _with_coordinates("source"),
}


def children(value: TensorExpr) -> tuple[TensorExpr, ...]:
    """The definitions that `value` directly uses."""
    used = _CHILDREN.get(type(value))
    return used(value) if used is not None else ()


def topological(values: list[TensorExpr]) -> list[TensorExpr]:
    """All definitions below `values`, each after the ones it uses."""
    order: list[TensorExpr] = []
    state: set[TensorExpr] = set()
    for value in values:
        stack: list[tuple[TensorExpr, bool]] = [(value, False)]
        while stack:
            item, done = stack.pop()
            if done:
                order.append(item)
            elif item not in state:
                state.add(item)
                stack.append((item, True))
                stack.extend((child, False) for child in reversed(children(item)))
    return order


# --- index transformations of views -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The index along one dimension of the base: start + sum of step * index of the view's `dim`."""

    terms: tuple[tuple[int, Index], ...] = ()
    start: Index = 0


@dataclass(frozen=True, slots=True)
class Affine:
    """One `Coordinate` for each dimension of the base.

    It expresses permute, expand, slice, select, flip, diagonal, unfold, (un)squeeze.
    """

    coordinates: tuple[Coordinate, ...]

    def apply(self, indices: Indices, ranges: Ranges) -> Indices:
        result: list[Index] = []
        for coordinate in self.coordinates:
            total = coordinate.start
            for dim, step in coordinate.terms:
                total = plus(total, times(indices[dim], step))
            result.append(total)
        return tuple(result)


@dataclass(frozen=True, slots=True)
class Reshape:
    """The element with the same row-major number."""

    base_shape: Shape
    shape: Shape

    def apply(self, indices: Indices, ranges: Ranges) -> Indices:
        return ranges.unflatten(flatten(indices, self.shape, ranges), self.base_shape)


Transform = Affine | Reshape


def flatten(indices: Indices, shape: Shape, ranges: Ranges) -> Index:
    """Row-major number of the element."""
    return ranges.recombine(dot(indices, row_major(shape)))


def along(dim: int) -> Coordinate:
    """The coordinate that is the view's index along `dim`."""
    return Coordinate(((dim, 1),))


def affine_view(
    base: TensorExpr, shape: Shape, coordinates: tuple[Coordinate, ...], aliases: bool = True
) -> TensorExpr:
    """A view by affine coordinates; a view of an affine view is one view."""
    if isinstance(base, View) and isinstance(base.transform, Affine) and base.aliases == aliases:
        composed = tuple(_compose(outer, coordinates) for outer in base.transform.coordinates)
        return View(base.base, shape, Affine(composed), aliases)
    return View(base, shape, Affine(coordinates), aliases)


def _compose(outer: Coordinate, inner: tuple[Coordinate, ...]) -> Coordinate:
    steps: dict[int, Index] = {}
    start = outer.start
    for dim, step in outer.terms:
        start = plus(start, times(step, inner[dim].start))
        for inner_dim, inner_step in inner[dim].terms:
            steps[inner_dim] = plus(steps.get(inner_dim, 0), times(step, inner_step))
    return Coordinate(tuple(steps.items()), start)


def expand(base: TensorExpr, shape: Shape) -> TensorExpr:
    """Broadcasts to `shape`: adds missing leading dimensions, repeats sizes of 1."""
    if base.shape == shape:
        return base
    if isinstance(base, Fill):
        return Fill(shape, base.dtype, base.value)
    lead = len(shape) - len(base.shape)
    coordinates = tuple(
        Coordinate() if size == 1 else along(lead + dim) for dim, size in enumerate(base.shape)
    )
    return affine_view(base, shape, coordinates)


def size_value(value: Index, shape: Shape) -> Any:
    return value if isinstance(value, int) else expand(SizeValue(value), shape)


def reshape(base: TensorExpr, shape: Shape, aliases: bool = True) -> TensorExpr:
    """The same elements in row-major order. If only sizes of 1 are added or removed, it is an affine view."""
    if base.shape == shape:
        return base
    if isinstance(base, Fill):
        return Fill(shape, base.dtype, base.value)
    kept = [dim for dim, size in enumerate(shape) if size != 1]
    if tuple(shape[dim] for dim in kept) == tuple(size for size in base.shape if size != 1):
        remaining = iter(kept)
        coordinates = tuple(Coordinate() if size == 1 else along(next(remaining)) for size in base.shape)
        return affine_view(base, shape, coordinates, aliases)
    if isinstance(base, View) and isinstance(base.transform, Reshape) and base.aliases == aliases:
        return reshape(base.base, shape, aliases)
    return View(base, shape, Reshape(base.shape, shape), aliases)


def copy_of(value: TensorExpr) -> TensorExpr:
    """The same elements in separate memory."""
    return View(value, value.shape, Affine(tuple(map(along, range(len(value.shape))))), aliases=False)


def cast(base: TensorExpr, dtype: str) -> TensorExpr:
    """`base` with elements of `dtype`."""
    if base.dtype == dtype:
        return base
    if isinstance(base, Fill):
        return fill(base.shape, dtype, base.value)
    return Map("cast", (base,), dtype)


def fill(shape: Shape, dtype: str, value: float | int | bool) -> Fill:
    """A constant, rounded to a value of `dtype` (as eager converts the number)."""
    return Fill(shape, dtype, representable(value, dtype))


def representable(value: float | int | bool, dtype: str) -> float | int | bool:
    """`value` converted to `dtype`, as a Python number."""
    if dtype == "f64":
        return float(value)
    if dtype == "f32":
        return ctypes.c_float(value).value
    if dtype == "b8":
        return bool(value)
    if dtype == "i64" and isinstance(value, int):
        return int(value)
    exact = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    return exact.to(TORCH_DTYPES[dtype]).item()


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """The common shape to which tensors of these shapes are expanded; tracing has checked that they fit."""
    result: list[Index] = []
    for shape in shapes:
        missing: list[Index] = [1] * (len(shape) - len(result))
        result = missing + result
        for dim in range(-len(shape), 0):
            if shape[dim] != 1:
                result[dim] = shape[dim]
    return tuple(result)


def have_common_shape(shapes: Sequence[Shape]) -> bool:
    """Whether they are known to broadcast. Tracing does not check it for every operator."""
    longest = max(map(len, shapes), default=0)
    return all(
        len({shape[-dim] for shape in shapes if len(shape) >= dim} - {1}) <= 1
        for dim in range(1, longest + 1)
    )


def expands(shape: Shape, wanted: Shape) -> bool:
    """Whether a tensor of this shape is known to expand to `wanted`."""
    pairs = zip(reversed(shape), reversed(wanted))
    return len(shape) <= len(wanted) and all(size in (1, size_wanted) for size, size_wanted in pairs)


def numel(shape: Shape) -> Index:
    return product(shape)
