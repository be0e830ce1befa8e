"""From a draft to a kernel: the order of the loops, the loop in lanes, and the axis that threads divide.

In:  a `Draft`.
Out: an `ir.Kernel`.

    rows with contiguous reductions:
        for row parallel: [for column vector: update], [for column vector: store]
    columns (kept axis contiguous):
        for column parallel vector: [for row: update], [for row: store]
    elementwise:
        for i parallel: for j parallel vector: store        (transposed: in tiles)

Long sums are cut into blocks (`codegen.passes.loops.partial_sums`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.grain import may_pay
from codegen.kernel.index_algebra import Index, atoms_of
from codegen.kernel.index_notation import to_expr
from codegen.kernel.ops import FLOATS, OPS, TORCH_DTYPES
from codegen.passes.draft.draft import Draft, DraftIndex, DraftLoad, DraftStore, Phase
from codegen.passes.loops.axes import arrange_axes, stride_of
from codegen.passes.loops.narrow_columns import reduce_blocks_of_rows
from codegen.passes.loops.narrow_indices import narrow_indices
from codegen.passes.loops.partial_sums import add_partial_sums, block_long_sums
from codegen.passes.loops.place import Nest
from codegen.passes.loops.tiles import tile_transposed
from codegen.passes.loops.unroll_short import unroll_short_axis

MIN_LANES = 8  # a shorter vector loop wastes most of its lanes
FEW_LANES = 4  # the same if there is little to compute: then lanes that lie apart in memory cost more
SCATTER = 3  # a scatter costs this many gathers more than a gather
SHORT_SCAN = 32  # floats; measured
CHEAP = 8  # cycles for each element: up to this, memory takes most of the time
HEAVY = 12  # cycles of an iteration: from here on, one vector keeps the processor busy
LIGHT = 6  # cycles for each element: below this, several vectors are in flight
FEW_ROWS = 4  # as many are written one after another (`codegen.llvm.loops`)
LONGEST_CODE = 32  # cycles of an iteration of columns: longer code is no faster, but takes longer to compile


def schedule(draft: Draft) -> ir.Kernel:
    """The kernel. The draft cannot be used again."""
    arrange_axes(draft)
    scans = any(phase.scans for phase in draft.phases())
    blocks_of_rows = [] if draft.part_rows else reduce_blocks_of_rows(draft)
    column = draft.outer[-1] if blocks_of_rows else None if draft.part_rows else _runs_down_columns(draft)
    tile: ir.Expr | None = None
    if column is not None:
        draft.outer = (*(name for name in draft.outer if name != column), column)
        from codegen.passes.loops.row_blocks import row_blocks  # lazy: import time

        blocks = None if scans else row_blocks(draft)
        if blocks is not None:
            return _kernel(draft, _around(draft, blocks.body(_flight(draft) * 2)))
    elif draft.phases():
        for phase in () if scans else draft.phases():
            phase.axes = _long_axis_last(phase.axes, draft)
    else:
        unroll_short_axis(draft)
        draft.outer = _near_axis_last(draft.outer, draft, FEW_LANES if _cost(draft) <= CHEAP else MIN_LANES)
        tile = None if draft.in_order else tile_transposed(draft)
    if not scans:
        block_long_sums(draft, in_lanes=column is not None)
    nest = Nest(draft, draft.outer)
    nest.blocks[-2 if blocks_of_rows else -1] += blocks_of_rows
    for item in draft.body:
        if isinstance(item, Phase):
            nest.blocks[-1] += _phase(draft, item, in_lanes=column is not None)
        else:
            nest.place_one(item)
    vector = draft.outer[-1] if draft.outer and (column is not None or not draft.phases()) else None
    if draft.in_order and vector is not None and not _separates_stores(draft, vector):
        vector = None
    loops = [_outer_loop(draft, name, name == vector) for name in draft.outer]
    if tile is not None:
        loops[-1].extent = tile
    kernel = _kernel(draft, nest.close(loops))
    kernel.split = None if blocks_of_rows else kernel.split  # all threads would share the scratch buffer
    return kernel


def _around(draft: Draft, body: list[ir.Stmt]) -> list[ir.Stmt]:
    """`body` inside of all outer loops except the last one."""
    for name in reversed(draft.outer[:-1]):
        body = [ir.Loop(name, to_expr(draft.ranges.extents[name]), body, parallel=True)]
    return body


def _outer_loop(draft: Draft, name: str, vector: bool) -> ir.Loop:
    unroll = (_columns_in_flight(draft) if draft.phases() else _flight(draft)) if vector else 1
    extent = to_expr(draft.ranges.extents[name])
    if name in draft.part_rows:
        return ir.Loop(name, extent if draft.part_length is None else draft.part_length)
    return ir.Loop(name, extent, parallel=not draft.in_order, vector=vector, unroll=unroll)


def _separates_stores(draft: Draft, axis: str) -> bool:
    """Whether iterations of the loop over `axis` write side by side, whatever the kernel computes."""
    varying = _varying(draft, axis)
    stores = [s for s in draft.statements() if isinstance(s, DraftStore)]
    return all(stride_of(s.index, axis) == 1 and not _computed(s.index) & varying for s in stores)


def _varying(draft: Draft, axis: str) -> set[int]:
    """The values that may differ from one position of the axis to the next."""
    found: set[int] = set()
    for s in draft.statements():
        if isinstance(s, (DraftLoad, DraftIndex)):
            if axis in atoms_of(s.index) or _computed(s.index) & found:
                found.add(s.number)
        elif isinstance(s, ir.Op) and found.intersection(s.args):
            found.add(s.number)
    return found


def _computed(index: Index) -> set[int]:
    """The values of the kernel that are part of the index."""
    return {int(atom[1:]) for atom in atoms_of(index) if atom.startswith("%")}


def _columns_in_flight(draft: Draft) -> int:
    """The number of vectors in flight of a loop over columns.

    It is large, so that each step down a row reads a long piece of memory. But accumulators must stay in
    registers, and the code for a few rows that are written one after another short.
    """
    loads = max(sum(isinstance(s, DraftLoad) for s in phase.body) for phase in draft.phases())
    accumulators = sum(isinstance(s, ir.Accumulator) for s in draft.statements())
    wanted = max(4, 16 // max(1, loads, accumulators)) if _flight(draft) > 1 else 4
    weight = sum(_weight(phase) * _rows_in_a_row(draft, phase) for phase in draft.phases())
    while wanted > 2 and wanted * weight > LONGEST_CODE:
        wanted //= 2
    return wanted


def _rows_in_a_row(draft: Draft, phase: Phase) -> int:
    """The iterations of a phase that stand in the code one after another."""
    count = _product(phase.axes, draft)
    return count if isinstance(count, int) and count <= FEW_ROWS else 1


def _flight(draft: Draft) -> int:
    """The number of vectors in flight of an elementwise loop."""
    return 2 if _cost(draft) < LIGHT else 1


def _cost(draft: Draft) -> int:
    """The cycles of the arithmetic for an element."""
    return sum(OPS[statement.name].cost for statement in draft.statements() if isinstance(statement, ir.Op))


def _phase(draft: Draft, phase: Phase, in_lanes: bool) -> list[ir.Stmt]:
    nest = Nest(draft, phase.axes)
    nest.place(phase.body)
    lanes = not in_lanes and not _is_short_scan(draft, phase)
    loops = [_inner_loop(draft, phase, name, lanes and name == phase.axes[-1]) for name in phase.axes]
    statements = nest.close(loops)
    if phase.block is not None:
        loops[-1].extent = phase.block.length
        add_partial_sums(draft, phase, loops[-2], loops[-1])
    return statements


def _is_short_scan(draft: Draft, phase: Phase) -> bool:
    """Whether a scan is so short that the waiting of lanes costs more than the waiting of single elements."""
    dtypes = {s.dtype for s in phase.body if isinstance(s, ir.ScanStep)}
    limit = SHORT_SCAN if dtypes & FLOATS else MIN_LANES
    return bool(dtypes) and not _at_least(draft.ranges.extents[phase.axes[-1]], limit)


def _inner_loop(draft: Draft, phase: Phase, name: str, vector: bool) -> ir.Loop:
    unroll = _vectors(phase) if vector else 1
    extent = to_expr(draft.ranges.extents[name])
    return ir.Loop(name, extent, parallel=not phase.reduces, vector=vector, unroll=unroll)


def _vectors(phase: Phase) -> int:
    """The number of vectors in flight. That of sums depends on the loop itself (`codegen.llvm.loops`)."""
    return 1 if phase.reduces or _weight(phase) >= HEAVY else 2


def _weight(phase: Phase) -> int:
    """The cycles of an iteration: those of the arithmetic, and one for each access of memory."""
    ops = sum(OPS[statement.name].cost for statement in phase.body if isinstance(statement, ir.Op))
    return ops + sum(isinstance(statement, (DraftLoad, DraftStore)) for statement in phase.body)


# --- which axis runs in lanes -----------------------------------------------------------------------------


def _long_axis_last(axes: tuple[str, ...], draft: Draft, lanes: int = MIN_LANES) -> tuple[str, ...]:
    """The axes with the innermost one last. If it is shorter than `lanes`, the longest axis is last."""
    if len(axes) < 2 or _at_least(draft.ranges.extents[axes[-1]], lanes):
        return axes
    longest = max(axes, key=lambda name: _rank(draft.ranges.extents[name]))
    return _with_last(axes, longest)


def _near_axis_last(axes: tuple[str, ...], draft: Draft, lanes: int) -> tuple[str, ...]:
    """The axes with the innermost one of at least `lanes` iterations last.

    The elements of that axis are nearest to each other. If no axis is that long, the longest one is last.
    """
    near = next((name for name in reversed(axes) if _at_least(draft.ranges.extents[name], lanes)), None)
    return _long_axis_last(axes, draft, lanes) if near is None else _with_last(axes, near)


def _with_last(axes: tuple[str, ...], last: str) -> tuple[str, ...]:
    return (*(name for name in axes if name != last), last)


def _rank(extent: Index) -> int:
    return extent if isinstance(extent, int) else 1 << 40


def _at_least(extent: Index, limit: int) -> bool:
    return not isinstance(extent, int) or extent >= limit


def _runs_down_columns(draft: Draft) -> str | None:
    """The outer axis with stride 1 that should run in lanes, if phases should walk their own axes one by one.

    None: the innermost axis of each phase runs in lanes.
    """
    phases = draft.phases()
    if not phases or not draft.outer:
        return None
    length = _lengths(draft)
    inner_steps = sum(length[phase.axes] * _contiguous(phase, phase.axes, draft) for phase in phases)
    candidates = [name for name in draft.outer if _at_least(draft.ranges.extents[name], MIN_LANES)]
    if not candidates:
        return None
    short = all(not _at_least(_product(phase.axes, draft), MIN_LANES) for phase in phases)
    best = max(
        candidates,
        key=lambda name: sum(
            length[phase.axes] * (_contiguous(phase, (name,), draft) + SCATTER * _stores_beside(phase, name))
            for phase in phases
        ),
    )
    if short:
        scattered = any(phase.scans for phase in phases) and not any(
            _contiguous(phase, (best,), draft) for phase in phases
        )
        return None if scattered else best
    outer_steps = sum(length[phase.axes] * _contiguous(phase, (best,), draft) for phase in phases)
    return best if outer_steps > inner_steps else None


def _lengths(draft: Draft) -> dict[tuple[str, ...], int]:
    """The weight of each nest of a phase: its iterations. If one is not known, all weights are equal."""
    numbers = {phase.axes: _product(phase.axes, draft) for phase in draft.phases()}
    known = {axes: number for axes, number in numbers.items() if isinstance(number, int)}
    return known if len(known) == len(numbers) else dict.fromkeys(numbers, 1)


def _stores_beside(phase: Phase, name: str) -> int:
    """The number of stores with stride 1 along the axis."""
    stores = [s for s in phase.body if isinstance(s, DraftStore)]
    return sum(stride_of(s.index, name) == 1 for s in stores)


def _product(axes: tuple[str, ...], draft: Draft) -> Index:
    return ix.product(draft.ranges.extents[name] for name in axes)


def _contiguous(phase: Phase, axes: tuple[str, ...], draft: Draft) -> int:
    """The number of accesses of the phase with stride 1 along the best of `axes` that is long enough.

    Only the accesses that take the most memory count. Repeated reads (a column's mean) come from the cache
    anyway.
    """
    accesses = [s for s in phase.body if isinstance(s, (DraftLoad, DraftStore))]
    nest = {*draft.outer, *phase.axes}
    depends = _axes_behind(draft)
    reach = {id(s): len(_axes_of(s.index, depends) & nest) for s in accesses}
    furthest = max(reach.values(), default=0)
    accesses = [s for s in accesses if reach[id(s)] == furthest]
    long = [name for name in axes if _at_least(draft.ranges.extents[name], MIN_LANES)]
    return max((sum(stride_of(s.index, name) in (1, -1) for s in accesses) for name in long), default=0)


def _axes_behind(draft: Draft) -> dict[int, set[str]]:
    """The axes that each value of the kernel depends on."""
    found: dict[int, set[str]] = {}
    for s in draft.statements():
        if isinstance(s, (DraftLoad, DraftIndex)):
            found[s.number] = _axes_of(s.index, found)
        elif isinstance(s, ir.Op):
            found[s.number] = set().union(*(found.get(number, set()) for number in s.args))
    return found


def _axes_of(index: Index, depends: dict[int, set[str]]) -> set[str]:
    """The axes in the index, and the axes that its computed places depend on."""
    atoms = atoms_of(index)
    return set(atoms).union(*(depends.get(number, set()) for number in _computed(index)))


# --- the kernel -------------------------------------------------------------------------------------------


def _kernel(draft: Draft, body: list[ir.Stmt]) -> ir.Kernel:
    buffers = tuple(
        ir.Buffer(name, dtype, name in draft.written, TORCH_DTYPES[dtype].itemsize)
        for name, dtype in draft.buffers.items()
    )
    body = renumber(narrow_indices(body))
    kernel = ir.Kernel(draft.name, buffers, _symbols(draft), body)
    # without a split the bounds are numbers, which makes better code
    kernel.split = _split_axis(draft, body) if may_pay(kernel) else None
    return kernel


def _split_axis(draft: Draft, body: list[ir.Stmt]) -> str | None:
    """The axis that threads may divide: the axis of the one loop around everything, if that loop is parallel.

    Row blocks divide the columns instead, because all rows share the sums.
    """
    if any(isinstance(statement, ir.Store) for statement in body):
        return None
    if draft.scratch:
        return draft.outer[-1]
    loops = [statement for statement in body if isinstance(statement, ir.Loop)]
    return loops[0].axis if len(loops) == 1 and loops[0].parallel else None


def _symbols(draft: Draft) -> tuple[str, ...]:
    """The sizes that the kernel needs, sorted."""
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


_RENUMBER: dict[type, Callable[[Any, dict[int, int]], ir.Stmt]] = {
    ir.Loop: _loop,
    ir.Load: _load,
    ir.Op: lambda s, n: ir.Op(_define(s.number, n), s.name, tuple(n[arg] for arg in s.args), s.dtype),
    ir.ConstOp: lambda s, n: ir.ConstOp(_define(s.number, n), s.value, s.dtype),
    ir.IndexOp: lambda s, n: ir.IndexOp(_define(s.number, n), _expr(s.index, n), s.dtype),
    ir.Store: lambda s, n: ir.Store(s.buffer, _expr(s.index, n), n[s.value], s.mask, s.combine),
    ir.Check: lambda s, n: ir.Check(n[s.condition], s.code),
    ir.Accumulator: lambda s, n: s,
    ir.Update: lambda s, n: ir.Update(s.accumulator, n[s.value], None if s.index is None else n[s.index]),
    ir.ScanStep: lambda s, n: ir.ScanStep(_define(s.number, n), s.accumulator, n[s.value], s.dtype),
    ir.ReadAccumulator: lambda s, n: ir.ReadAccumulator(_define(s.number, n), s.accumulator, s.dtype),
}
