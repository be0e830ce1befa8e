"""Reductions down the columns of a narrow matrix, with several rows as one long row.

In:  a draft with one phase that reduces over contiguous rows of few elements.
Out: the loop that reduces blocks of rows into a scratch buffer. The draft then only reduces that buffer and
     the last rows.

    for j in 3: { a = 0; for i in 1000: a += x[i*3 + j];  y[j] = a }
    ->  for f in 48 vector: { p = 0; for b in 62: p += x[b*48 + f];  part[f] = p }
        for j in 3 vector: { a = 0; for k in 16: a += part[k*3 + j];
                             for t in 8: a += x[(992 + t)*3 + j];  y[j] = a }

A load of every third element would be a gather, and a row of three would fill a fifth of a vector. With
blocks, whole vectors read the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index, atoms_of
from codegen.kernel.index_notation import to_expr
from codegen.kernel.ops import TORCH_DTYPES
from codegen.passes.draft.draft import VALUES, Draft, DraftLoad, Phase, Statement, rename_operands
from codegen.passes.loops.axes import stride_of
from codegen.passes.loops.partial_sums import BLOCK, widen
from codegen.passes.loops.place import Nest

LANES = 16  # of the widest vector: blocks of rows are a multiple of it
MAX_WIDTH = 64  # of a row; a longer row fills its vectors well enough
FEW = 4  # vectors in a block, if its rows would otherwise fill only one
MIN_BLOCKS = 4  # of rows
IN_FLIGHT = (8, 7, 6, 5, 4, 3)  # numbers of vectors in flight, the best first
COMBINES = ("sum", "prod", "max", "min")
DTYPES = ("f32", "f64", "i64", "i32")


def reduce_blocks_of_rows(draft: Draft) -> list[ir.Stmt]:
    """The loop over the blocks. If the columns are not narrow, it is empty and the draft does not change."""
    if len(draft.phases()) != 1 or draft.in_order or not draft.outer:
        return []
    (phase,) = draft.phases()
    column, row = draft.outer[-1], phase.axes[-1]
    width, rows = draft.ranges.extents[column], draft.ranges.extents[row]
    if not isinstance(width, int) or not 1 < width < MAX_WIDTH:
        return []
    accumulators = (s for s in draft.statements() if isinstance(s, ir.Accumulator))
    lanes = min((_lanes(s.dtype) for s in accumulators), default=LANES)
    size = _rows_of_block(width, lanes)
    if (
        size == 1
        or (isinstance(rows, int) and rows < MIN_BLOCKS * size)
        or not _is_one_walk(draft, phase, column, row, width)
    ):
        return []
    return _Blocks(draft, phase, size).loops()


def _lanes(dtype: str) -> int:
    return LANES * TORCH_DTYPES["f32"].itemsize // TORCH_DTYPES[dtype].itemsize


def _rows_of_block(width: int, lanes: int) -> int:
    """Enough rows to fill vectors. A block has several vectors: a single one would wait for itself."""
    size = LANES // math.gcd(width, LANES)
    return size * FEW * lanes // LANES if size * width == LANES else size


def _is_one_walk(draft: Draft, phase: Phase, column: str, row: str, width: int) -> bool:
    """Whether the phase only reduces contiguous rows."""
    accumulators = {s.name: s for s in draft.statements() if isinstance(s, ir.Accumulator)}
    before = draft.body[: draft.body.index(phase)]
    updates = [s for s in phase.body if isinstance(s, ir.Update)]
    loads = [s for s in phase.body if isinstance(s, DraftLoad)]
    return (
        len(phase.axes) == 1
        and bool(loads)
        and all(isinstance(s, (ir.Update, *VALUES)) for s in phase.body)
        and all(isinstance(s, (ir.Accumulator, ir.Op, ir.ConstOp)) for s in before)
        and {s.accumulator for s in updates} == set(accumulators)
        and all(a.combine in COMBINES and a.dtype in DTYPES and a.init is None for a in accumulators.values())
        and all(
            s.mask is None
            and stride_of(s.index, column) == 1
            and stride_of(s.index, row) == width
            and not any(atom.startswith("%") for atom in atoms_of(s.index))
            for s in loads
        )
    )


class _Blocks:
    def __init__(self, draft: Draft, phase: Phase, size: int) -> None:
        self.draft = draft
        self.phase = phase
        self.size = size
        self.column, self.row = draft.outer[-1], phase.axes[-1]
        width, rows = draft.ranges.extents[self.column], draft.ranges.extents[self.row]
        assert isinstance(width, int)
        self.width = width
        self.blocks, self.rest = ix.Ranges().divide(rows, size)
        self.flat, self.block, self.part, self.last = (f"{self.row}_{level}" for level in "fbpt")
        extents: tuple[Index, ...] = (size * width, self.blocks, size, self.rest)
        draft.ranges.extents |= dict(zip((self.flat, self.block, self.part, self.last), extents))
        at = draft.body.index(phase)
        self.wide: set[str] = set()
        self.before = [s for s in draft.body[:at] if isinstance(s, VALUES)]
        self.accumulators = [s for s in draft.body[:at] if isinstance(s, ir.Accumulator)]

    def loops(self) -> list[ir.Stmt]:
        found = self._over_blocks()
        # the sum of many partial sums is kept in f64
        if not isinstance(self.blocks, int) or self.blocks * self.size > BLOCK:
            sums = tuple(a.name for a in self.accumulators if a.combine == "sum" and a.dtype == "f32")
            widen(self.draft, sums)
            self.wide = set(sums)
        at = self.draft.body.index(self.phase)
        phases = [self._over_parts()]
        if self.rest != 0:
            start = ix.times(self.blocks, self.size)
            places = {self.row: ix.plus(ix.axis(self.last), start)}
            rows = [part for s in self._copied(self.phase.body, {}, places) for part in self._in_its_type(s)]
            phases.append(Phase((self.last,), rows))
        self.draft.body[at : at + 1] = phases
        return found

    def _in_its_type(self, statement: Statement) -> list[Statement]:
        """The statement. An update gets a value of the accumulator's type."""
        if not isinstance(statement, ir.Update) or statement.accumulator not in self.wide:
            return [statement]
        value = self.draft.new_value("f64")
        return [ir.Op(value, "cast", (statement.value,), "f64"), replace(statement, value=value)]

    def _copied(
        self, statements: Iterable[Statement], numbers: dict[int, int], places: dict[str, Index]
    ) -> Iterable[Statement]:
        for s in statements:
            renamed = rename_operands(s, numbers)
            if isinstance(renamed, VALUES):
                own = self.draft.new_value(self.draft.dtypes[renamed.number])
                numbers[renamed.number] = own
                renamed = replace(renamed, number=own)
            if isinstance(renamed, DraftLoad):
                renamed = replace(renamed, index=self.draft.ranges.substitute(renamed.index, places))
            yield renamed

    def _scratch(self, accumulator: ir.Accumulator) -> str:
        name = f"{self.draft.name}_{accumulator.name}_part"
        self.draft.buffers[name] = accumulator.dtype
        self.draft.written.add(name)
        self.draft.scratch[name] = self.size * self.width
        return name

    def _over_blocks(self) -> list[ir.Stmt]:
        numbers: dict[int, int] = {}
        places = {self.row: ix.times(ix.axis(self.block), self.size), self.column: ix.axis(self.flat)}
        statements = [
            replace(s, accumulator=f"{s.accumulator}_p") if isinstance(s, ir.Update) else s
            for s in self._copied([*self.before, *self.phase.body], numbers, places)
        ]
        nest = Nest(self.draft, (self.flat, self.block))
        nest.place(statements)
        vectors = self.size * self.width // min(_lanes(a.dtype) for a in self.accumulators)
        flight = next((n for n in IN_FLIGHT if vectors % n == 0), IN_FLIGHT[2])
        loops = [
            ir.Loop(self.flat, ir.Const(self.size * self.width), parallel=True, vector=True, unroll=flight),
            ir.Loop(self.block, to_expr(self.blocks)),
        ]
        found = nest.close(loops)
        tail: list[ir.Stmt] = []
        for a in self.accumulators:
            value = self.draft.new_value(a.dtype)
            tail.append(ir.ReadAccumulator(value, f"{a.name}_p", a.dtype))
            tail.append(ir.Store(self._scratch(a), to_expr(ix.axis(self.flat)), value))
        own = [replace(a, name=f"{a.name}_p") for a in self.accumulators]
        loops[0].body = [*own, *loops[0].body, *tail]
        return found

    def _over_parts(self) -> Phase:
        statements: list[Statement] = []
        index = ix.plus(ix.times(ix.axis(self.part), self.width), ix.axis(self.column))
        for a in self.accumulators:
            value = self.draft.new_value(a.dtype)
            load = DraftLoad(value, self._scratch(a), index, a.dtype)
            statements += [load, *self._in_its_type(ir.Update(a.name, value))]
        return Phase((self.part,), statements)
