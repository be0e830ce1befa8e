"""Draft -> Kernel: which loops run in which order, which one in lanes, which may be divided between threads.

In:  a `Draft` with its axes arranged.
Out: `ir.Kernel`.

    rows with contiguous reductions:   for row parallel: [for column vector: update], [for column vector: store]
    columns (kept axis contiguous):    for column parallel vector: [for row: update], [for row: store]
    long sums:                         for block: { for i in 5000 vector: update inner }; update outer with inner

A sum of floats longer than `BLOCK` adds up blocks, so that the rounding error grows as slowly as eager's.
"""

from __future__ import annotations

from codegen import index_algebra as ix
from codegen import ir
from codegen.index_algebra import Index, atoms_of, to_expr
from codegen.ops import FLOATS, OPS, TORCH_DTYPES
from codegen.passes.axes import arrange_axes, stride_of
from codegen.passes.draft import Draft, DraftLoad, DraftStore, Phase
from codegen.passes.place import Nest

MIN_LANES = 8  # a vector loop shorter than this wastes most of its lanes
BLOCK = 16384  # elements after which a float sum starts a new partial sum
MAX_BLOCK_CANDIDATES = range(16384, 1023, -1)
LIGHT = 24  # cycles an element below which several vectors are kept in flight


def schedule(draft: Draft) -> ir.Kernel:
    """The kernel; `draft` is used up."""
    arrange_axes(draft)
    column = _runs_down_columns(draft)
    if column is not None:
        draft.outer = (*(name for name in draft.outer if name != column), column)
    elif not draft.phases():
        draft.outer = _long_axis_last(draft.outer, draft)
    nest = Nest(draft, draft.outer)
    for item in draft.body:
        if isinstance(item, Phase):
            nest.blocks[-1] += _phase(draft, item, nest, in_lanes=column is not None)
        else:
            nest.place_one(item)
    vector = draft.outer[-1] if draft.outer and (column is not None or not draft.phases()) else None
    body = nest.close([_outer_loop(draft, name, name == vector) for name in draft.outer])
    return _kernel(draft, renumber(body))


def _outer_loop(draft: Draft, name: str, vector: bool) -> ir.Loop:
    unroll = (4 if draft.phases() else _flight(draft)) if vector else 1
    return ir.Loop(name, to_expr(draft.ranges.extents[name]), parallel=True, vector=vector, unroll=unroll)


def _flight(draft: Draft) -> int:
    """Vectors in flight of an elementwise loop."""
    cost = sum(OPS[statement.name].cost for statement in draft.statements() if isinstance(statement, ir.Op))
    return 2 if cost < LIGHT else 1


def _phase(draft: Draft, phase: Phase, outside: Nest, in_lanes: bool) -> list[ir.Stmt]:
    axes = phase.axes if in_lanes else _long_axis_last(phase.axes, draft)
    block = None if in_lanes else _split_long_sum(draft, phase, axes)
    if block is not None:
        axes = (*axes[:-1], *block)
    nest = Nest(draft, axes)
    nest.place(phase.body)
    loops = [_inner_loop(draft, phase, name, not in_lanes and name == axes[-1]) for name in axes]
    statements = nest.close(loops)
    return statements if block is None else _with_partial_sums(statements, loops[-2], draft)


def _inner_loop(draft: Draft, phase: Phase, name: str, vector: bool) -> ir.Loop:
    unroll = 4 if vector and phase.reduces else 2 if vector else 1
    extent = to_expr(draft.ranges.extents[name])
    return ir.Loop(name, extent, parallel=not phase.reduces, vector=vector, unroll=unroll)


# --- which axis runs in lanes ---------------------------------------------------------------------------------------------------


def _long_axis_last(axes: tuple[str, ...], draft: Draft) -> tuple[str, ...]:
    """The innermost axis, or where that is short, the longest one, last."""
    if len(axes) < 2 or _at_least(draft.ranges.extents[axes[-1]], MIN_LANES):
        return axes
    longest = max(axes, key=lambda name: _rank(draft.ranges.extents[name]))
    return (*(name for name in axes if name != longest), longest)


def _rank(extent: Index) -> int:
    return extent if isinstance(extent, int) else 1 << 40


def _at_least(extent: Index, limit: int) -> bool:
    return not isinstance(extent, int) or extent >= limit


def _runs_down_columns(draft: Draft) -> str | None:
    """The outer axis whose neighbours lie side by side in memory, if the phases should take it as lanes and walk their own axes one by
    one; None: the innermost axis of each phase runs in lanes."""
    phases = draft.phases()
    if not phases or not draft.outer:
        return None
    inner_steps = sum(_contiguous(phase, phase.axes, draft) for phase in phases)
    candidates = [name for name in draft.outer if _at_least(draft.ranges.extents[name], MIN_LANES)]
    if not candidates:
        return None
    short = all(not _at_least(_product(phase.axes, draft), MIN_LANES) for phase in phases)
    best = max(candidates, key=lambda name: sum(_contiguous(phase, (name,), draft) for phase in phases))
    if short:
        return best
    outer_steps = sum(_contiguous(phase, (best,), draft) for phase in phases)
    return best if outer_steps > inner_steps else None


def _product(axes: tuple[str, ...], draft: Draft) -> Index:
    return ix.product(draft.ranges.extents[name] for name in axes)


def _contiguous(phase: Phase, axes: tuple[str, ...], draft: Draft) -> int:
    """How many accesses of the phase have stride 1 along the best of `axes` that is long enough."""
    accesses = [s for s in phase.body if isinstance(s, (DraftLoad, DraftStore))]
    long = [name for name in axes if _at_least(draft.ranges.extents[name], MIN_LANES)]
    return max((sum(stride_of(s.index, name) in (1, -1) for s in accesses) for name in long), default=0)


# --- long sums --------------------------------------------------------------------------------------------------------------------


def _split_long_sum(draft: Draft, phase: Phase, axes: tuple[str, ...]) -> tuple[str, str] | None:
    """Split the innermost axis into blocks where a float sum runs over many elements; the names of the two axes."""
    extent = draft.ranges.extents[axes[-1]]
    if not isinstance(extent, int) or extent <= BLOCK or not _sums_floats(draft, phase):
        return None
    size = next((size for size in MAX_BLOCK_CANDIDATES if extent % size == 0), None)
    if size is None:
        return None
    high, low = f"{axes[-1]}_b", axes[-1]
    draft.ranges.extents |= {high: extent // size, low: size}
    split = {low: ix.plus(ix.times(ix.axis(high), size), ix.axis(low))}
    part = Draft(draft.name, (), draft.ranges, [Phase(axes, phase.body)])
    part.map_indices(lambda index: draft.ranges.recombine(draft.ranges.substitute(index, split)))
    phase.body = part.phases()[0].body
    return high, low


def _sums_floats(draft: Draft, phase: Phase) -> bool:
    summed = {s.name for s in draft.statements() if isinstance(s, ir.Accumulator) and s.combine == "sum" and s.dtype in FLOATS}
    return any(isinstance(s, ir.Update) and s.accumulator in summed for s in phase.body)


def _with_partial_sums(statements: list[ir.Stmt], blocks: ir.Loop, draft: Draft) -> list[ir.Stmt]:
    """Inside the loop over blocks, updates go to accumulators of the block, which are added up after it."""
    inner = blocks.body[-1]
    assert isinstance(inner, ir.Loop)
    declared = {s.name: s for s in draft.statements() if isinstance(s, ir.Accumulator)}
    partial = [s for s in inner.body if isinstance(s, ir.Update)]
    own = {s.accumulator for s in partial if declared[s.accumulator].combine == "sum"}
    inner.body = [
        ir.Update(f"{s.accumulator}_b", s.value, s.index) if isinstance(s, ir.Update) and s.accumulator in own else s
        for s in inner.body
    ]
    head: list[ir.Stmt] = [ir.Accumulator(f"{name}_b", "sum", declared[name].dtype) for name in sorted(own)]
    tail: list[ir.Stmt] = []
    for name in sorted(own):
        number = len(draft.dtypes)
        draft.dtypes[number] = declared[name].dtype
        tail += [ir.ReadAccumulator(number, f"{name}_b", declared[name].dtype), ir.Update(name, number)]
    blocks.body = [*blocks.body[:-1], *head, inner, *tail]
    return statements


# --- the kernel -------------------------------------------------------------------------------------------------------------------


def _kernel(draft: Draft, body: list[ir.Stmt]) -> ir.Kernel:
    buffers = tuple(
        ir.Buffer(name, dtype, name in draft.written, TORCH_DTYPES[dtype].itemsize) for name, dtype in draft.buffers.items()
    )
    loops = [statement for statement in body if isinstance(statement, ir.Loop)]
    return ir.Kernel(draft.name, buffers, _symbols(draft), body, splittable=len(loops) == 1 and loops[0].parallel)


def _symbols(draft: Draft) -> tuple[str, ...]:
    """Sizes that the kernel needs, sorted."""
    names: set[str] = set()
    for extent in draft.ranges.extents.values():
        names |= {atom for atom in atoms_of(extent) if atom.startswith("$")}
    for statement in draft.indexed():
        names |= {atom for atom in atoms_of(statement.index) if atom.startswith("$")}
    return tuple(sorted(name[1:] for name in names))


def renumber(body: list[ir.Stmt]) -> list[ir.Stmt]:
    """Number the values in the order of the text."""
    numbers: dict[int, int] = {}
    return [_renumbered(statement, numbers) for statement in body]


def _renumbered(statement: ir.Stmt, numbers: dict[int, int]) -> ir.Stmt:
    return _RENUMBER[type(statement)](statement, numbers)


def _define(number: int, numbers: dict[int, int]) -> int:
    return numbers.setdefault(number, len(numbers))


def _expr(index: ir.Expr, numbers: dict[int, int]) -> ir.Expr:
    if isinstance(index, ir.Indirect):
        return ir.Indirect(numbers[index.value])
    if isinstance(index, ir.Binary):
        return ir.Binary(index.op, _expr(index.left, numbers), _expr(index.right, numbers))
    return index


def _loop(loop: ir.Loop, numbers: dict[int, int]) -> ir.Loop:
    loop.body = [_renumbered(statement, numbers) for statement in loop.body]
    return loop


def _load(s: ir.Load, n: dict[int, int]) -> ir.Load:
    mask = None if s.mask is None else n[s.mask]
    index = _expr(s.index, n)
    return ir.Load(_define(s.number, n), s.buffer, index, s.dtype, mask, s.other)


_RENUMBER = {
    ir.Loop: _loop,
    ir.Load: _load,
    ir.Op: lambda s, n: ir.Op(_define(s.number, n), s.name, tuple(n[arg] for arg in s.args), s.dtype),
    ir.ConstOp: lambda s, n: ir.ConstOp(_define(s.number, n), s.value, s.dtype),
    ir.IndexOp: lambda s, n: ir.IndexOp(_define(s.number, n), _expr(s.index, n), s.dtype),
    ir.Store: lambda s, n: ir.Store(s.buffer, _expr(s.index, n), n[s.value], s.mask, s.atomic_add),
    ir.Check: lambda s, n: ir.Check(n[s.condition], s.code),
    ir.Accumulator: lambda s, n: s,
    ir.Update: lambda s, n: ir.Update(s.accumulator, n[s.value], None if s.index is None else n[s.index]),
    ir.ReadAccumulator: lambda s, n: ir.ReadAccumulator(_define(s.number, n), s.accumulator, s.dtype),
}
