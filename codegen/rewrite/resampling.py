"""Pooling, padding and resampling: each result element is made of a few elements of the operand, which tables
name dim by dim.

    avg_pool2d(x, 2)   ->   x[:, :, rows, columns] over tables of (taps, outputs) for rows and columns; sum
                            over the taps; divide

A table holds, for each tap and each position of the result, the position in the operand. Backward, the
gradient is added to the same places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from codegen.rewrite.rows import rewriting

aten = torch.ops.aten
#: elements of the larger side up to which this is not slower than eager's kernels (measured, one thread)
PADDING, RESAMPLING, NEAREST, ADAPTIVE_AVERAGE, MASKED_AVERAGE = 1 << 12, 1 << 14, 1 << 26, 1 << 12, 1 << 18
NARROW, LANES = 3000, 8  # elements looked at for results of fewer columns
ADDITIONS = 1 << 16  # of gradients, which run in order: only on one thread also above


@dataclass(frozen=True, slots=True)
class Table:
    """For one dim: `places[tap][position]` in the operand, of `size` elements there. `weights` alike, where
    taps count differently (0: left out).
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
    """A table's numbers as a tensor beside (taps of each dim, positions of each dim)."""
    sizes = [1] * (2 * rank)
    sizes[dim], sizes[rank + dim] = len(values), len(values[0])
    return aten.reshape(torch.tensor(values, dtype=dtype), sizes)


def places(tables: list[Table], lead: int) -> list[torch.Tensor | None]:
    rank = len(tables)
    return [None] * lead + [grid(table.places, dim, rank, torch.int64) for dim, table in enumerate(tables)]


def weighted(tables: list[Table], tensor: torch.Tensor) -> torch.Tensor:
    """`tensor`, which ends in taps and positions, times the weights; where one is 0, 0 whatever the element
    is.
    """
    for dim, table in enumerate(tables):
        if table.weights is not None:
            weights = grid(table.weights, dim, len(tables), tensor.dtype)
            product = tensor if set(sum(table.weights, ())) <= {0.0, 1.0} else aten.mul(tensor, weights)
            left_out = any(0.0 in row for row in table.weights)
            tensor = aten.where(aten.ne(weights, 0), product, 0.0) if left_out else product
    return tensor


def gathered(tensor: torch.Tensor, tables: list[Table]) -> torch.Tensor:
    """(*lead, taps of each dim, positions of each dim)."""
    return aten._unsafe_index(tensor, places(tables, tensor.dim() - len(tables)))


def sampled(tensor: torch.Tensor, tables: list[Table]) -> torch.Tensor:
    """The weighted sum over the taps."""
    lead, rank = tensor.dim() - len(tables), len(tables)
    found = weighted(tables, gathered(tensor, tables))
    return aten.sum(found, list(range(lead, lead + rank)))


def spread_back(grad: torch.Tensor, tables: list[Table]) -> torch.Tensor:
    """The gradient of `sampled`, and of an index where there is one tap."""
    lead, rank = grad.dim() - len(tables), len(tables)
    taps = [table.taps for table in tables]
    values = aten.reshape(grad, [*grad.shape[:lead], *[1] * rank, *grad.shape[lead:]])
    values = aten.expand(values, [*grad.shape[:lead], *taps, *grad.shape[lead:]])
    zeros = aten.new_zeros(grad, [*grad.shape[:lead], *(table.size for table in tables)])
    return aten.index_put(zeros, places(tables, lead), weighted(tables, values), True)


def is_usual(tensor: torch.Tensor, rank: int) -> bool:
    """With one or two dims before those that are pooled, which have elements; row-major, or small and
    channels-last.
    """
    fits = tensor.dim() in (rank + 1, rank + 2) and min(tensor.shape[-rank:]) > 0
    return fits and (tensor.is_contiguous() or (is_channels_last(tensor) and tensor.numel() <= PADDING))


FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def is_channels_last(tensor: torch.Tensor) -> bool:
    form = FORMATS.get(tensor.dim())
    return form is not None and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=form)


def laid_out_like(result: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    form = FORMATS[tensor.dim()] if is_channels_last(tensor) else torch.contiguous_format
    return aten.clone(result, memory_format=form)


def may_add(tensor: torch.Tensor) -> bool:
    return torch.get_num_threads() == 1 or tensor.numel() <= ADDITIONS


# --- padding ----------------------------------------------------------------------------------------------


def reflected(size: int, left: int, right: int) -> tuple[int, ...]:
    return tuple(size - 1 - abs(size - 1 - abs(i)) for i in range(-left, size + right))


def replicated(size: int, left: int, right: int) -> tuple[int, ...]:
    return tuple(min(max(i, 0), size - 1) for i in range(-left, size + right))


def padding_tables(tensor: torch.Tensor, padding: list[int], rule: Any) -> list[Table]:
    """`padding` names the last dim first."""
    rank = len(padding) // 2
    sizes = tensor.shape[tensor.dim() - rank :]
    pairs = [padding[2 * (rank - 1 - dim) : 2 * (rank - dim)] for dim in range(rank)]
    return [Table(size, (rule(size, *pair),)) for size, pair in zip(sizes, pairs)]


def register_padding(name: str, rank: int, rule: Any) -> None:
    def forward(tensor: torch.Tensor, padding: list[int]) -> Any:
        if not is_usual(tensor, rank) or tensor.numel() > PADDING:
            return NotImplemented
        return laid_out_like(sampled(tensor, padding_tables(tensor, padding, rule)), tensor)

    def backward(grad: torch.Tensor, tensor: torch.Tensor, padding: list[int]) -> Any:
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
    """Two neighbours, weighted by the distance."""
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
    """Four neighbours, those behind the borders as the last ones."""
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
    """Keys' kernel with a = -0.75, within a distance of 1 and beyond."""
    a = real(-0.75)
    if is_near:
        return ((a + real(2)) * x - (a + real(3))) * x * x + real(1)
    return ((a * x - real(5) * a) * x + real(8) * a) * x - real(4) * a


REAL = {torch.float32: np.float32, torch.float64: np.float64}


def register_resampling(rank: int, linear: str) -> None:
    def nearest(shift: float) -> Any:
        def tables(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
            return [nearest_table(*item, shift) for item in zip(sizes, results, factors)]

        return tables

    def linearly(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
        return [linear_table(*item, options[0], REAL[dtype]) for item in zip(sizes, results, factors)]

    register_pair(f"upsample_nearest{rank}d", rank, nearest(0.0), 0, NEAREST)
    register_pair(f"_upsample_nearest_exact{rank}d", rank, nearest(0.5), 0, NEAREST)
    register_pair(linear, rank, linearly, 1, RESAMPLING)


def cubically(sizes: Any, results: Any, factors: Any, options: Any, dtype: Any) -> list[Table]:
    return [cubic_table(*item, options[0], REAL[dtype]) for item in zip(sizes, results, factors)]


def register_pair(name: str, rank: int, tables: Any, options: int, limit: int) -> None:
    """`options`: how many arguments stand between the sizes and the factors. `limit`: of the elements of the
    result.
    """

    def forward(tensor: torch.Tensor, result: list[int], *rest: Any) -> Any:
        if not is_usual(tensor, rank) or math.prod((*tensor.shape[:-rank], *result)) > limit:
            return NotImplemented
        factors = (*rest[options:], *[None] * rank)[:rank]
        made = sampled(tensor, tables(tensor.shape[2:], result, factors, rest[:options], tensor.dtype))
        return laid_out_like(made, tensor)

    def backward(grad: torch.Tensor, result: list[int], size: list[int], *rest: Any) -> Any:
        if not (is_usual(grad, rank) and may_add(grad)) or 0 in size:
            return NotImplemented
        factors = (*rest[options:], *[None] * rank)[:rank]
        return laid_out_like(
            spread_back(grad, tables(size[2:], result, factors, rest[:options], grad.dtype)), grad
        )

    rewriting(getattr(aten, name).default, any_size=True)(forward)
    rewriting(getattr(aten, name + "_backward").default, any_size=True)(backward)


for _rank, _linear in ((1, "upsample_linear1d"), (2, "upsample_bilinear2d"), (3, "upsample_trilinear3d")):
    register_resampling(_rank, _linear)
register_pair("upsample_bicubic2d", 2, cubically, 1, RESAMPLING)


# --- windows ----------------------------------------------------------------------------------------------


def pooled_size(size: int, kernel: int, step: int, pad: int, spread: int, ceil: bool) -> int:
    span = size + 2 * pad - spread * (kernel - 1) - 1
    count = (span + (step - 1 if ceil else 0)) // step + 1
    return count - 1 if ceil and (count - 1) * step >= size + pad else count


def window_table(size: int, kernel: int, step: int, pad: int, spread: int, ceil: bool) -> Table:
    """Weight 1 inside of the operand, 0 outside, where the place is that of the first tap that is inside."""
    starts = [i * step - pad for i in range(pooled_size(size, kernel, step, pad, spread, ceil))]
    return table_of_windows(size, [[start + tap * spread for tap in range(kernel)] for start in starts])


def adaptive_table(size: int, result: int) -> Table:
    ranges = [range(i * size // result, -(-(i + 1) * size // result)) for i in range(result)]
    longest = max(map(len, ranges))
    return table_of_windows(size, [[*r, *[size] * (longest - len(r))] for r in ranges])


def table_of_windows(size: int, windows: list[list[int]]) -> Table:
    inside = [[0 <= place < size for place in window] for window in windows]
    first = [window[flags.index(True)] for window, flags in zip(windows, inside)]
    rows = [
        [place if ok else other for place, ok in zip(window, flags)]
        for window, flags, other in zip(windows, inside, first)
    ]
    weights = tuple(tuple(float(flags[tap]) for flags in inside) for tap in range(len(windows[0])))
    found = tuple(tuple(row[tap] for row in rows) for tap in range(len(windows[0])))
    return Table(size, found, None if all(0.0 not in row for row in weights) else weights)


def each(values: Any, rank: int, default: Any = None) -> list[int]:
    values = list(values) or list(default)
    return values * rank if len(values) == 1 else values


def pool_tables(
    tensor: torch.Tensor, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> list[Table]:
    kernel = each(kernel, rank)
    settings = zip(
        tensor.shape[-rank:], kernel, each(stride, rank, kernel), each(padding, rank), each(dilation, rank)
    )
    return [window_table(*item, ceil) for item in settings]


def divisor(tensor: torch.Tensor, tables: list[Table], counts: list[list[int]]) -> torch.Tensor:
    total: Any = torch.tensor(counts[0], dtype=tensor.dtype)
    for row in counts[1:]:
        total = aten.mul(aten.unsqueeze(total, -1), torch.tensor(row, dtype=tensor.dtype))
    return total


SMALL_WINDOW = 16  # elements


def is_lowered(tensor: torch.Tensor, rank: int, kernel: Any, ceil: bool) -> bool:
    """`codegen/lower/pooling.py` does better: shifted views of the operand in place of tables."""
    small = rank == 2 and math.prod(each(kernel, rank)) <= SMALL_WINDOW
    return small and not ceil and tensor.is_floating_point()


def is_lowered_average(
    tensor: torch.Tensor, rank: int, kernel: Any, padding: Any, rest: tuple[Any, ...]
) -> bool:
    """`rest`: ceil_mode, count_include_pad, divisor_override, as far as given."""
    ceil = rest[0] if rest else False
    with_padding = rest[1] if len(rest) > 1 else True
    whole = with_padding or not any(each(padding, rank))
    return whole and is_lowered(tensor, rank, kernel, ceil) and rest[2:] != (0,)


def averaged(
    tensor: torch.Tensor, rank: int, kernel: Any, stride: Any, padding: Any, rest: tuple[Any, ...]
) -> Any:
    """(tables, what to divide by) of `avg_pool`."""
    defaults: list[Any] = [False, True, None]
    ceil, with_padding, override = [*rest, *defaults[len(rest) :]]
    if override == 0:
        raise RuntimeError("divisor must be not zero")
    tables = pool_tables(tensor, rank, kernel, stride, padding, [1], ceil)
    if override is not None:
        return tables, override
    counts = []
    sizes = zip(tables, each(kernel, rank), each(stride, rank, each(kernel, rank)), each(padding, rank))
    for table, width, step, pad in sizes:
        ends = [
            (i * step - pad, min(i * step - pad + width, table.size + pad)) for i in range(table.positions)
        ]
        limits = [(s, e) if with_padding else (max(s, 0), min(e, table.size)) for s, e in ends]
        counts.append([end - start for start, end in limits])
    return tables, divisor(tensor, tables, counts)


def register_average(rank: int) -> None:
    def forward(tensor: torch.Tensor, kernel: Any, stride: Any = (), padding: Any = (0,), *rest: Any) -> Any:
        if not is_usual(tensor, rank) or is_lowered_average(tensor, rank, kernel, padding, rest):
            return NotImplemented
        tables, by = averaged(tensor, rank, kernel, stride, padding, rest)
        if tensor.numel() > MASKED_AVERAGE and any(table.weights for table in tables):
            return NotImplemented
        return laid_out_like(aten.div(sampled(tensor, tables), by), tensor)

    def backward(
        grad: torch.Tensor, tensor: torch.Tensor, kernel: Any, stride: Any, padding: Any, *rest: Any
    ) -> Any:
        if not (is_usual(tensor, rank) and is_usual(grad, rank) and may_add(tensor)):
            return NotImplemented
        tables, by = averaged(tensor, rank, kernel, stride, padding, rest)
        return laid_out_like(spread_back(aten.div(grad, by), tables), tensor)

    def adaptive(tensor: torch.Tensor, result: list[int]) -> Any:
        if not is_usual(tensor, rank) or tensor.numel() > ADAPTIVE_AVERAGE or 0 in result:
            return NotImplemented
        tables, by = adaptive_average(tensor, result)
        return laid_out_like(aten.div(sampled(tensor, tables), by), tensor)

    def adaptive_backward(grad: torch.Tensor, tensor: torch.Tensor) -> Any:
        if not (is_usual(tensor, rank) and is_usual(grad, rank) and may_add(tensor)):
            return NotImplemented
        tables, by = adaptive_average(tensor, grad.shape[-rank:])
        return laid_out_like(spread_back(aten.div(grad, by), tables), tensor)

    def adaptive_average(tensor: torch.Tensor, result: Any) -> Any:
        tables = [adaptive_table(*pair) for pair in zip(tensor.shape[-rank:], result)]
        counts = [
            [sum(row[i] != 0 for row in table.weights or table.places) if table.weights else table.taps
             for i in range(table.positions)]
            for table in tables
        ]  # fmt: skip
        return tables, divisor(tensor, tables, counts)

    rewriting(getattr(aten, f"avg_pool{rank}d").default, any_size=True)(forward)
    rewriting(getattr(aten, f"avg_pool{rank}d_backward").default, any_size=True)(backward)
    rewriting(getattr(aten, f"_adaptive_avg_pool{rank}d").default, any_size=True)(adaptive)
    rewriting(getattr(aten, f"_adaptive_avg_pool{rank}d_backward").default, any_size=True)(adaptive_backward)


def numbered(tables: list[Table]) -> torch.Tensor:
    """The number of each tap beside all positions of the result, -1 where it is left out: of several NaN
    eager takes the last.
    """
    taps, rank = [table.taps for table in tables], len(tables)
    count = math.prod(taps)
    numbers: Any = aten.reshape(aten.arange(count, dtype=torch.int64), [count] + [1] * rank)
    for dim, table in enumerate(tables):
        if table.weights is not None:
            inside = grid(table.weights, dim, rank, torch.bool)
            inside = aten.expand(inside, [*taps, *inside.shape[rank:]])
            numbers = aten.where(aten.reshape(inside, [count, *inside.shape[rank:]]), numbers, -1)
    return numbers


def is_narrow(tensor: torch.Tensor, tables: list[Table]) -> bool:
    """Too few results side by side to fill a vector, and enough work that it shows."""
    windows = math.prod(tensor.shape[: tensor.dim() - len(tables)]) * math.prod(t.positions for t in tables)
    return tables[-1].positions < LANES and windows * math.prod(t.taps for t in tables) > NARROW


def largest(tensor: torch.Tensor, tables: list[Table]) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest element of each window, and its number within the operand's plane."""
    lead, rank = tensor.dim() - len(tables), len(tables)
    taps = [table.taps for table in tables]
    windows = gathered(tensor, [Table(table.size, table.places) for table in tables])
    results = list(windows.shape[lead + rank :])
    flat = aten.reshape(windows, [*tensor.shape[:lead], math.prod(taps), *results])
    values, tap = aten.max(flat, lead)
    if tensor.is_floating_point():
        last = aten.amax(aten.where(aten.isnan(flat), numbered(tables), -1), [lead])
        tap = aten.where(aten.ge(last, 0), last, tap)
    number: Any = 0
    for dim, table in enumerate(tables):
        behind = math.prod(taps[dim + 1 :])
        digit = torch.tensor([i // behind % taps[dim] for i in range(math.prod(taps))], dtype=torch.int64)
        positions = aten.arange(table.positions, dtype=torch.int64)
        positions = aten.reshape(positions, [-1, *[1] * (rank - 1 - dim)])
        place = aten._unsafe_index(
            torch.tensor(table.places, dtype=torch.int64), [aten._unsafe_index(digit, [tap]), positions]
        )
        number = aten.add(place, aten.mul(number, table.size)) if dim else place
    return laid_out_like(values, tensor), laid_out_like(number, tensor)


def to_their_places(grad: torch.Tensor, tensor: torch.Tensor, indices: torch.Tensor, rank: int) -> Any:
    if not (is_usual(tensor, rank) and is_usual(grad, rank) and may_add(tensor)):
        return NotImplemented
    planes = math.prod(tensor.shape[:-rank])
    zeros = aten.new_zeros(grad, [planes, math.prod(tensor.shape[-rank:])])
    flat = [aten.reshape(value, [planes, -1]) for value in (indices, grad)]
    made = aten.scatter_add(zeros, 1, flat[0], flat[1])
    return laid_out_like(aten.reshape(made, list(tensor.shape)), tensor)


def register_maximum(rank: int) -> None:
    def forward(
        tensor: torch.Tensor,
        kernel: Any,
        stride: Any = (),
        padding: Any = (0,),
        dilation: Any = (1,),
        ceil: bool = False,
    ) -> Any:
        if not is_usual(tensor, rank) or is_lowered(tensor, rank, kernel, ceil):
            return NotImplemented
        tables = pool_tables(tensor, rank, kernel, stride, padding, dilation, ceil)
        return NotImplemented if is_narrow(tensor, tables) else largest(tensor, tables)

    def backward(grad: torch.Tensor, tensor: torch.Tensor, *settings: Any) -> Any:
        return to_their_places(grad, tensor, settings[-1], rank)

    def adaptive(tensor: torch.Tensor, result: list[int]) -> Any:
        if not is_usual(tensor, rank) or 0 in result:
            return NotImplemented
        tables = [adaptive_table(*pair) for pair in zip(tensor.shape[-rank:], result)]
        return NotImplemented if is_narrow(tensor, tables) else largest(tensor, tables)

    def adaptive_backward(grad: torch.Tensor, tensor: torch.Tensor, indices: torch.Tensor) -> Any:
        return to_their_places(grad, tensor, indices, rank)

    rewriting(getattr(aten, f"max_pool{rank}d_with_indices").default, any_size=True)(forward)
    rewriting(getattr(aten, f"max_pool{rank}d_with_indices_backward").default, any_size=True)(backward)
    rewriting(getattr(aten, f"adaptive_max_pool{rank}d").default, any_size=True)(adaptive)
    rewriting(getattr(aten, f"adaptive_max_pool{rank}d_backward").default, any_size=True)(adaptive_backward)


for _rank in (2, 3):
    register_average(_rank)
    register_maximum(_rank)
