"""Sums of many floats in blocks. The rounding error grows as slowly as in eager, which adds in a tree.

In:  a draft with ordered axes in its phases.
Out: phases with a `Block`: the innermost loop adds into a partial sum. After each run of that loop, the
     partial sum is added to the sum.

    for i in 10_000_000: a += x[i]
    ->  for b in 2500: { p = 0; for i in 4000: p += x[b*4000 + i];  a (f64) += p }
"""

from __future__ import annotations

from dataclasses import replace

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index
from codegen.kernel.index_notation import to_expr
from codegen.kernel.ops import FLOATS
from codegen.passes.draft.draft import Block, Draft, Phase, Statement

BLOCK = 4096  # elements that lanes add up in one partial sum
BLOCK_SIZES = range(6144, 2047, -1)  # other sizes: a divisor of the extent makes every block full
OPEN_BLOCK = 2048  # the same where the extent is not known: few enough runs of vectors for no cascade
ROW_BLOCK = 256  # the block size if each lane walks down its own column
MIN_RUN = 512  # an innermost loop of at least this length may be a block


def block_long_sums(draft: Draft, in_lanes: bool) -> None:
    """`in_lanes`: the phases run inside a vector loop, and their own axes are not vector loops."""
    for phase in draft.phases():
        sums = _float_sums(draft, phase)
        if not sums:
            continue
        block = _own_block(draft, phase, sums) if not in_lanes else _column_block(draft, phase, sums)
        if block is not None:
            phase.block = block
            if not in_lanes:
                widen(draft, sums)


def _float_sums(draft: Draft, phase: Phase) -> tuple[str, ...]:
    summed = {
        s.name
        for s in draft.statements()
        if isinstance(s, ir.Accumulator) and s.combine == "sum" and s.dtype in FLOATS
    }
    return tuple(s.accumulator for s in phase.body if isinstance(s, ir.Update) and s.accumulator in summed)


def _own_block(draft: Draft, phase: Phase, sums: tuple[str, ...]) -> Block | None:
    extent = draft.ranges.extents[phase.axes[-1]]
    total = ix.product(draft.ranges.extents[name] for name in phase.axes)
    if isinstance(total, int) and total <= BLOCK:
        return None
    if isinstance(extent, int) and extent <= BLOCK_SIZES[0]:
        return Block(sums, to_expr(extent)) if extent >= MIN_RUN and len(phase.axes) > 1 else None
    return _split(draft, phase, sums, _block_size(extent))


def _column_block(draft: Draft, phase: Phase, sums: tuple[str, ...]) -> Block | None:
    longest = draft.ranges.upper(draft.ranges.extents[phase.axes[-1]])
    if isinstance(longest, int) and longest <= 4 * ROW_BLOCK:
        return None
    return _split(draft, phase, sums, ROW_BLOCK)


def _block_size(extent: Index) -> int:
    if isinstance(extent, int):
        return next((size for size in BLOCK_SIZES if extent % size == 0), BLOCK)
    return OPEN_BLOCK


def _split(draft: Draft, phase: Phase, sums: tuple[str, ...], size: int) -> Block:
    """Split the innermost axis into blocks of `size`.

    The last block is shorter if `size` does not divide the axis. Other phases keep the whole axis.
    """
    whole = phase.axes[-1]
    extent = draft.ranges.extents[whole]
    high, low = _fresh(draft, f"{whole}_b"), _fresh(draft, f"{whole}_e")
    start = ix.times(ix.axis(high), size)
    length: ir.Expr = ir.Const(size)
    if not isinstance(extent, int) or extent % size:
        length = ir.Binary("min", ir.Const(size), to_expr(ix.minus(extent, start)))
    draft.ranges.extents[high] = ix.Ranges().floordiv(ix.plus(extent, size - 1), size)
    draft.ranges.extents[low] = size
    split: dict[str, Index] = {whole: ix.plus(start, ix.axis(low))}
    phase.map_indices(lambda index: draft.ranges.recombine(draft.ranges.substitute(index, split)))
    phase.axes = (*phase.axes[:-1], high, low)
    return Block(sums, length)


def _fresh(draft: Draft, name: str) -> str:
    return _fresh(draft, name + "_") if name in draft.ranges.extents else name


def widen(draft: Draft, sums: tuple[str, ...]) -> None:
    """Keep the sum of the partial sums in f64."""
    body: list[Statement | Phase] = []
    for item in draft.body:
        if isinstance(item, ir.Accumulator) and item.name in sums:
            body.append(replace(item, dtype="f64"))
        elif isinstance(item, ir.ReadAccumulator) and item.accumulator in sums and item.dtype != "f64":
            wide = draft.new_value("f64")
            body += [
                ir.ReadAccumulator(wide, item.accumulator, "f64"),
                ir.Op(item.number, "cast", (wide,), item.dtype),
            ]
        else:
            body.append(item)
    draft.body = body


def add_partial_sums(draft: Draft, phase: Phase, runs: ir.Loop, innermost: ir.Loop) -> None:
    """Complete the loops of a blocked phase.

    `innermost` updates the partial sums. The loop `runs` around it declares them and adds them to the sums.
    """
    assert phase.block is not None
    own = set(phase.block.sums)
    dtypes = {s.accumulator: draft.dtypes[s.value] for s in phase.body if isinstance(s, ir.Update)}
    innermost.body = [
        replace(s, accumulator=f"{s.accumulator}_b")
        if isinstance(s, ir.Update) and s.accumulator in own
        else s
        for s in innermost.body
    ]
    head: list[ir.Stmt] = [ir.Accumulator(f"{name}_b", "sum", dtypes[name]) for name in phase.block.sums]
    tail: list[ir.Stmt] = []
    kinds = {s.name: s.dtype for s in draft.statements() if isinstance(s, ir.Accumulator)}
    for name in phase.block.sums:
        number = draft.new_value(dtypes[name])
        tail.append(ir.ReadAccumulator(number, f"{name}_b", dtypes[name]))
        if kinds[name] != dtypes[name]:
            wide = draft.new_value(kinds[name])
            tail.append(ir.Op(wide, "cast", (number,), kinds[name]))
            number = wide
        tail.append(ir.Update(name, number))
    assert runs.body[-1] is innermost
    runs.body = [*runs.body[:-1], *head, innermost, *tail]
