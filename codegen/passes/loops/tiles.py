"""Tiles for elementwise kernels with a transposed operand.

In:  a draft without phases. Its last axis runs in lanes, but a load is contiguous along another axis.
Out: the last axis in blocks of a few positions, with the other axis inside of the block. So the kernel uses
     whole cache lines before they leave the cache.

    for i in 1024: for j in 1024 vector: out[i*1024 + j] = x[j*1024 + i]
    ->  for i_s in 16: for j_b in 128: for i_r in 64: for j_e in 8 vector:
            i = i_s*64 + i_r;  out[i*1024 + j_b*8 + j_e] = x[j_b*8192 + j_e*1024 + i]
"""

from __future__ import annotations

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index
from codegen.kernel.index_notation import to_expr
from codegen.passes.draft.draft import Draft, DraftLoad
from codegen.passes.loops.axes import stride_of

TILE = 8  # cache lines in flight: with power-of-two strides, all fall into one set of an 8-way cache
TILES = (8, 16, 10, 12, 14, 6)
STRIPS = (64, 56, 48, 40, 32)
MIN_EXTENT = 16


def tile_transposed(draft: Draft) -> ir.Expr | None:
    """Split and reorder the outer axes if that pays. Returns the length of the new innermost loop."""
    across = _axis_across(draft)
    if across is None:
        return None
    whole = draft.outer[-1]
    extent = draft.ranges.extents[whole]
    size = next((size for size in TILES if isinstance(extent, int) and extent % size == 0), TILE)
    high, low = f"{whole}_b", f"{whole}_e"
    start = ix.times(ix.axis(high), size)
    length: ir.Expr = ir.Const(size)
    if not isinstance(extent, int) or extent % size:
        length = ir.Binary("min", ir.Const(size), to_expr(ix.minus(extent, start)))
    draft.ranges.extents |= {high: ix.Ranges().floordiv(ix.plus(extent, size - 1), size), low: size}
    split: dict[str, Index] = {whole: ix.plus(start, ix.axis(low))}
    draft.map_indices(lambda index: draft.ranges.recombine(draft.ranges.substitute(index, split)))
    others = (name for name in draft.outer[:-1] if name != across)
    draft.outer = (*others, *_in_strips(draft, across, high), low)
    return length


def _in_strips(draft: Draft, across: str, high: str) -> tuple[str, ...]:
    """The loop over `across` inside of the loop over tiles, in strips.

    A tile fills its cache lines in part. They are still in the cache when the next tile fills the rest.
    """
    extent = draft.ranges.extents[across]
    if not isinstance(extent, int):
        return high, across
    size = next((size for size in STRIPS if extent > size and extent % size == 0), None)
    if size is None:
        return high, across
    strip, row = f"{across}_s", f"{across}_r"
    draft.ranges.extents |= {strip: extent // size, row: size}
    split: dict[str, Index] = {across: ix.plus(ix.times(ix.axis(strip), size), ix.axis(row))}
    draft.map_indices(lambda index: draft.ranges.recombine(draft.ranges.substitute(index, split)))
    return strip, high, row


def _axis_across(draft: Draft) -> str | None:
    """An axis along which some load is contiguous, if that load jumps along the last axis."""
    if len(draft.outer) < 2 or not _long(draft, draft.outer[-1]):
        return None
    lanes = draft.outer[-1]
    for statement in draft.statements():
        if isinstance(statement, DraftLoad) and stride_of(statement.index, lanes) not in (0, 1, -1):
            for name in draft.outer[:-1]:
                if stride_of(statement.index, name) == 1 and _long(draft, name):
                    return name
    return None


def _long(draft: Draft, name: str) -> bool:
    extent = draft.ranges.extents[name]
    return not isinstance(extent, int) or extent >= MIN_EXTENT
