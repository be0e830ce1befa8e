"""Pooling: each result element is computed from a window of a few elements of the operand.

In:  a call of a pooling operator, or of its backward.
Out: an index by tables, one for each dim; the backward adds the gradient to the same places.

    avg_pool2d(x, 2)   ->   sum(x[:, :, rows, columns], taps) / 4    rows, columns: tables (taps, outputs)

The tables have the form of `resampling.Table`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.kernel.hints import are_numbers, hint_of
from codegen.rewrite.resampling import (
    Table,
    gathered,
    grid,
    is_usual,
    laid_out_like,
    may_add,
    sampled,
    spread_back,
)
from codegen.rewrite.rows import rewriting

aten = torch.ops.aten
#: limits on the elements of the larger side: up to them this is as fast as eager's kernels (measured, one
#: thread)
ADAPTIVE_AVERAGE, MASKED_AVERAGE = 1 << 12, 1 << 18
NARROW, LANES = 3000, 8  # most elements to read where a row of the result does not fill a vector


def has_tables(tensor: torch.Tensor, rank: int) -> bool:
    return are_numbers(*tensor.shape[-rank:]) and is_usual(tensor, rank)


def pooled_size(size: int, kernel: int, step: int, pad: int, spread: int, ceil: bool) -> int:
    span = size + 2 * pad - spread * (kernel - 1) - 1
    count = (span + (step - 1 if ceil else 0)) // step + 1
    return count - 1 if ceil and (count - 1) * step >= size + pad else count


def window_table(size: int, kernel: int, step: int, pad: int, spread: int, ceil: bool) -> Table:
    """Weight 1 inside of the operand, 0 outside; an outside position is that of the first tap inside."""
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


SMALL_WINDOW = 16  # most elements of a window that is lowered


def is_lowered(tensor: torch.Tensor, rank: int, kernel: Any, ceil: bool) -> bool:
    """`codegen/lower/pooling.py` is faster: it takes shifted views of the operand in place of tables."""
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
        if not has_tables(tensor, rank) or is_lowered_average(tensor, rank, kernel, padding, rest):
            return NotImplemented
        tables, by = averaged(tensor, rank, kernel, stride, padding, rest)
        if hint_of(tensor.numel()) > MASKED_AVERAGE and any(table.weights for table in tables):
            return NotImplemented
        return laid_out_like(aten.div(sampled(tensor, tables), by), tensor)

    def backward(
        grad: torch.Tensor, tensor: torch.Tensor, kernel: Any, stride: Any, padding: Any, *rest: Any
    ) -> Any:
        if not (has_tables(tensor, rank) and has_tables(grad, rank) and may_add(tensor)):
            return NotImplemented
        tables, by = averaged(tensor, rank, kernel, stride, padding, rest)
        return laid_out_like(spread_back(aten.div(grad, by), tables), tensor)

    def adaptive(tensor: torch.Tensor, result: list[int]) -> Any:
        if not (are_numbers(*result) and has_tables(tensor, rank)):
            return NotImplemented
        if hint_of(tensor.numel()) > ADAPTIVE_AVERAGE or 0 in result:
            return NotImplemented
        tables, by = adaptive_average(tensor, result)
        return laid_out_like(aten.div(sampled(tensor, tables), by), tensor)

    def adaptive_backward(grad: torch.Tensor, tensor: torch.Tensor) -> Any:
        if not (has_tables(tensor, rank) and has_tables(grad, rank) and may_add(tensor)):
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
    """The number of each tap at each position, -1 where the tap is left out.

    Among several NaN eager takes the last one.
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
    """Whether a row of the result is too short to fill a vector, and the work is enough to notice it."""
    lead = map(hint_of, tensor.shape[: tensor.dim() - len(tables)])
    windows = math.prod(lead) * math.prod(t.positions for t in tables)
    return tables[-1].positions < LANES and windows * math.prod(t.taps for t in tables) > NARROW


def largest(tensor: torch.Tensor, tables: list[Table]) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest element of each window, and its number within the plane of the operand."""
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
        if not has_tables(tensor, rank) or is_lowered(tensor, rank, kernel, ceil):
            return NotImplemented
        tables = pool_tables(tensor, rank, kernel, stride, padding, dilation, ceil)
        return NotImplemented if is_narrow(tensor, tables) else largest(tensor, tables)

    def backward(grad: torch.Tensor, tensor: torch.Tensor, *settings: Any) -> Any:
        return to_their_places(grad, tensor, settings[-1], rank)

    def adaptive(tensor: torch.Tensor, result: list[int]) -> Any:
        if not (are_numbers(*result) and has_tables(tensor, rank)) or 0 in result:
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
