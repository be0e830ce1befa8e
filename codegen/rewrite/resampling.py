"""Padding and resampling: each result element is computed from a few elements of the operand.

In:  a call of a padding or upsampling operator, or of its backward.
Out: an index by tables, one for each dim; the backward adds the gradient to the same places.

    upsample_linear1d(x, 8)   ->   sum(x[:, :, columns] * weights, taps)    columns: a table (taps, outputs)

A table has, for each tap and each position of the result, the position in the operand. So it is for given
sizes: where these are symbols, the operator itself is called.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from capture_records import dataclass
from codegen.kernel.hints import are_numbers, hint_of
from codegen.rewrite.rows import rewriting

aten = torch.ops.aten
#: limits on the elements of the larger side: up to them this is as fast as eager's kernels (measured, one
#: thread)
PADDING, RESAMPLING, NEAREST = 1 << 12, 1 << 14, 1 << 26
ADDITIONS = 1 << 16  # gradients are added in order: larger ones are rewritten only on one thread


@dataclass(frozen=True, slots=True)
class Table:
    """The positions of one dim: `places[tap][position]` is a position in the operand of `size` elements.

    `weights` has the same form, where taps count differently (0: the tap is left out).
    """

    size: int
    places: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float, ...], ...] | None = None

    @property
    def taps(self) -> int:
        return len(self.places)

    @property
    def positions(self) -> int:
        return len(self.places[0])


def grid(values: Any, dim: int, rank: int, dtype: torch.dtype) -> torch.Tensor:
    """The numbers of a table as a tensor that broadcasts over (taps of each dim, positions of each dim)."""
    sizes = [1] * (2 * rank)
    sizes[dim], sizes[rank + dim] = len(values), len(values[0])
    return aten.reshape(torch.tensor(values, dtype=dtype), sizes)


def places(tables: list[Table], lead: int) -> list[torch.Tensor | None]:
    rank = len(tables)
    return [None] * lead + [grid(table.places, dim, rank, torch.int64) for dim, table in enumerate(tables)]


def weighted(tables: list[Table], tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` (its last dims: taps, positions) times the weights; 0 where the weight is 0, even for NaN."""
    for dim, table in enumerate(tables):
        if table.weights is not None:
            weights = grid(table.weights, dim, len(tables), tensor.dtype)
            product = tensor if set(sum(table.weights, ())) <= {0.0, 1.0} else aten.mul(tensor, weights)
            left_out = any(0.0 in row for row in table.weights)
            tensor = aten.where(aten.ne(weights, 0), product, 0.0) if left_out else product
    return tensor


def gathered(tensor: torch.Tensor, tables: list[Table]) -> torch.Tensor:
    """The elements at the positions of the tables: (*lead, taps of each dim, positions of each dim)."""
    return aten._unsafe_index(tensor, places(tables, tensor.dim() - len(tables)))


def sampled(tensor: torch.Tensor, tables: list[Table]) -> torch.Tensor:
    """The weighted sum over the taps; one tap is the element itself, also where it is -0.0."""
    lead, rank = tensor.dim() - len(tables), len(tables)
    found, dims = weighted(tables, gathered(tensor, tables)), list(range(lead, lead + rank))
    return aten.squeeze(found, dims) if all(table.taps == 1 for table in tables) else aten.sum(found, dims)


def spread_back(grad: torch.Tensor, tables: list[Table]) -> torch.Tensor:
    """The gradient of `sampled`; with one tap, the gradient of an index."""
    lead, rank = grad.dim() - len(tables), len(tables)
    taps = [table.taps for table in tables]
    values = aten.reshape(grad, [*grad.shape[:lead], *[1] * rank, *grad.shape[lead:]])
    values = aten.expand(values, [*grad.shape[:lead], *taps, *grad.shape[lead:]])
    zeros = aten.new_zeros(grad, [*grad.shape[:lead], *(table.size for table in tables)])
    return aten.index_put(zeros, places(tables, lead), weighted(tables, values), True)


def is_usual(tensor: torch.Tensor, rank: int) -> bool:
    """Whether one or two dims come before the resampled ones: channels, and samples. Only samples may
    be missing: eager refuses other tensors without elements.

    The tensor is row-major, or small and channels-last.
    """
    fits = tensor.dim() in (rank + 1, rank + 2) and all(size > 0 for size in tensor.shape[-rank - 1 :])
    return fits and (
        tensor.is_contiguous() or (is_channels_last(tensor) and hint_of(tensor.numel()) <= PADDING)
    )


FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def is_channels_last(tensor: torch.Tensor) -> bool:
    form = FORMATS.get(tensor.dim())
    return form is not None and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=form)


def laid_out_like(result: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    form = FORMATS[tensor.dim()] if is_channels_last(tensor) else torch.contiguous_format
    return aten.clone(result, memory_format=form)


def may_add(tensor: torch.Tensor) -> bool:
    return torch.get_num_threads() == 1 or hint_of(tensor.numel()) <= ADDITIONS


# --- padding ----------------------------------------------------------------------------------------------


def reflected(size: int, left: int, right: int) -> tuple[int, ...]:
    return tuple(size - 1 - abs(size - 1 - abs(i)) for i in range(-left, size + right))


def replicated(size: int, left: int, right: int) -> tuple[int, ...]:
    return tuple(min(max(i, 0), size - 1) for i in range(-left, size + right))


def padding_tables(tensor: torch.Tensor, padding: list[int], rule: Any) -> list[Table]:
    """`padding` begins with the last dim."""
    rank = len(padding) // 2
    sizes = tensor.shape[tensor.dim() - rank :]
    pairs = [padding[2 * (rank - 1 - dim) : 2 * (rank - dim)] for dim in range(rank)]
    return [Table(size, (rule(size, *pair),)) for size, pair in zip(sizes, pairs)]


def register_padding(name: str, rank: int, rule: Any) -> None:
    def forward(tensor: torch.Tensor, padding: list[int]) -> Any:
        fits = are_numbers(*tensor.shape[-rank:], *padding) and is_usual(tensor, rank)
        if not fits or hint_of(tensor.numel()) > PADDING:
            return NotImplemented
        return laid_out_like(sampled(tensor, padding_tables(tensor, padding, rule)), tensor)

    def backward(grad: torch.Tensor, tensor: torch.Tensor, padding: list[int]) -> Any:
        if not are_numbers(*tensor.shape[-rank:], *padding):
            return NotImplemented
        if not (is_usual(tensor, rank) and is_usual(grad, rank) and may_add(grad)):
            return NotImplemented
        return laid_out_like(spread_back(grad, padding_tables(tensor, padding, rule)), tensor)

    rewriting(getattr(aten, f"{name}{rank}d").default, any_size=True)(forward)
    rewriting(getattr(aten, f"{name}{rank}d_backward").default, any_size=True)(backward)


for _rank in (1, 2, 3):
    register_padding("reflection_pad", _rank, reflected)
    register_padding("replication_pad", _rank, replicated)


# --- resampling -------------------------------------------------------------------------------------------


def scale_of(size: int, result: int, factor: float | None) -> Any:
    return (
        np.float32(1.0 / factor)
        if factor is not None and factor > 0
        else np.float32(size) / np.float32(result)
    )


def nearest_table(size: int, result: int, factor: float | None, shift: float) -> Table:
    scale = scale_of(size, result, factor)
    found = [int(np.floor((np.float32(i) + np.float32(shift)) * scale)) for i in range(result)]
    return Table(size, (tuple(min(place, size - 1) for place in found),))


def linear_table(size: int, result: int, factor: float | None, align_corners: bool, real: Any) -> Table:
    """Two neighbours, weighted by their distance. Eager does not look at the factor where the size stays."""
    if result == size:
        factor = None
    if align_corners:
        sources = [
            real(i) * (real(size - 1) / real(result - 1) if result > 1 else real(0)) for i in range(result)
        ]
    else:
        given = factor is not None and factor > 0
        scale = real(1.0 / factor) if given else real(size) / real(result)  # type: ignore[operator]
        sources = [max(scale * (real(i) + real(0.5)) - real(0.5), real(0)) for i in range(result)]
    first = [min(int(source), size - 1) for source in sources]
    second = [place + (place < size - 1) for place in first]
    far = [min(max(source - place, real(0)), real(1)) for source, place in zip(sources, first)]
    return Table(
        size, (tuple(first), tuple(second)), (tuple(float(1 - w) for w in far), tuple(map(float, far)))
    )


def cubic_table(size: int, result: int, factor: float | None, align_corners: bool, real: Any) -> Table:
    """Four neighbours; a neighbour outside the border is the last element inside."""
    if align_corners:
        scale = real(size - 1) / real(result - 1) if result > 1 else real(0)
        sources = [real(i) * scale for i in range(result)]
    else:
        given = factor is not None and factor > 0
        scale = real(1.0 / factor) if given else real(size) / real(result)  # type: ignore[operator]
        sources = [scale * (real(i) + real(0.5)) - real(0.5) for i in range(result)]
    first = [min(int(np.floor(source)), size - 1) for source in sources]
    far = [min(max(source - place, real(0)), real(1)) for source, place in zip(sources, first)]
    found = [tuple(min(max(place + tap - 1, 0), size - 1) for place in first) for tap in range(4)]
    one = real(1)
    distances = [(t + one, t, one - t, one - t + one) for t in far]
    weights = [tuple(float(cubic(of[tap], tap in (1, 2), real)) for of in distances) for tap in range(4)]
    return Table(size, tuple(found), tuple(weights))


def cubic(x: Any, is_near: bool, real: Any) -> Any:
    """Keys' kernel with a = -0.75: one formula within a distance of 1, another beyond."""
    a = real(-0.75)
    if is_near:
        return ((a + real(2)) * x - (a + real(3))) * x * x + real(1)
    return ((a * x - real(5) * a) * x + real(8) * a) * x - real(4) * a


def is_short_way(size: int, result: int, factor: float | None) -> bool:
    """Whether eager's kernels for 2 dims, and those of the gradients, ignore the factor: the size stays or
    doubles. In the forward for 3 dims, some of them do.
    """
    return factor is not None and result in (size, 2 * size)


REAL = {torch.float32: np.float32, torch.float64: np.float64}


def register_resampling(rank: int, linear: str) -> None:
    def nearest(shift: float, *, has_short_ways: bool = False) -> Any:
        def tables(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
            if has_short_ways:
                factors = [None if is_short_way(*item) else item[2] for item in zip(sizes, results, factors)]
            return [nearest_table(*item, shift) for item in zip(sizes, results, factors)]

        return tables

    def linearly(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
        return [linear_table(*item, options[0], REAL[dtype]) for item in zip(sizes, results, factors)]

    back = nearest(0.0, has_short_ways=True)
    register_pair(f"upsample_nearest{rank}d", rank, back if rank == 2 else nearest(0.0), 0, NEAREST, back)
    register_pair(f"_upsample_nearest_exact{rank}d", rank, nearest(0.5), 0, NEAREST)
    register_pair(linear, rank, linearly, 1, RESAMPLING)


def cubically(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
    return [cubic_table(*item, options[0], REAL[dtype]) for item in zip(sizes, results, factors)]


def cubic_back(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
    """Eager's backward copies the gradient where no size changes; the forward does not."""
    stays = list(sizes) == list(results)
    return cubically(sizes, results, [None] * len(sizes) if stays else factors, options, dtype)


#: operators whose gradients are row-major for any gradient of the result
IN_ROWS = ("upsample_bicubic2d", "upsample_nearest3d", "_upsample_nearest_exact3d")


def register_pair(
    name: str, rank: int, tables: Any, options: int, limit: int, tables_back: Any = None
) -> None:
    """`options`: number of arguments between sizes and factors. `limit`: most elements of a result."""
    tables_back = tables_back or tables

    op = getattr(aten, name).default

    def forward(tensor: torch.Tensor, result: list[int], *rest: Any) -> Any:
        if not are_numbers(*tensor.shape[-rank:], *result):
            return torch._decomp.decomposition_table[op](tensor, result, *rest)
        if not is_usual(tensor, rank):
            return NotImplemented
        if math.prod(map(hint_of, (*tensor.shape[:-rank], *result))) > limit:
            return NotImplemented
        factors = (*rest[options:], *[None] * rank)[:rank]
        if (
            rank == 3
            and is_channels_last(tensor)
            and any(map(is_short_way, tensor.shape[2:], result, factors))
        ):
            return NotImplemented
        made = sampled(tensor, tables(tensor.shape[2:], result, factors, rest[:options], tensor.dtype))
        return laid_out_like(made, tensor)

    def backward(grad: torch.Tensor, result: list[int], size: list[int], *rest: Any) -> Any:
        if not are_numbers(*result, *size[2:]):
            return NotImplemented
        if not (is_usual(grad, rank) and may_add(grad)) or 0 in size:
            return NotImplemented
        factors = (*rest[options:], *[None] * rank)[:rank]
        made = spread_back(grad, tables_back(size[2:], result, factors, rest[:options], grad.dtype))
        return aten.clone(made) if name in IN_ROWS else laid_out_like(made, grad)

    rewriting(op, any_size=True)(forward)
    rewriting(getattr(aten, name + "_backward").default, any_size=True)(backward)


for _rank, _linear in ((1, "upsample_linear1d"), (2, "upsample_bilinear2d"), (3, "upsample_trilinear3d")):
    register_resampling(_rank, _linear)
register_pair("upsample_bicubic2d", 2, cubically, 1, RESAMPLING, cubic_back)
