"""Column sums of a wide matrix: a few rows at a time over the full width, with all sums in memory.

In:  a draft whose last outer axis runs in lanes over columns, with one phase that adds up rows.
Out: loops that read memory in order. A loop over one strip of columns at a time would jump from row to row,
     at half the speed.

    for j vector: { a = 0; for i in 4096: a += x[i, j];  y[j] = a }
    ->  for j vector: part[j] = 0
        for b in 512: for j vector: { a = 0; for e in 8: a += x[b*8 + e, j];  part[j] += a }
        for j vector: y[j] = part[j]

`part` is a scratch buffer of the kernel. Many blocks are added up in two levels, so that the rounding error
is as small as in eager.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index
from codegen.kernel.index_notation import to_expr
from codegen.kernel.ops import TORCH_DTYPES
from codegen.passes.draft.draft import (
    VALUES,
    Draft,
    DraftLoad,
    DraftStore,
    Phase,
    Statement,
    rename_operands,
)
from codegen.passes.loops.place import Nest

ROWS = (8, 9, 10, 11, 12, 13, 14, 15, 7, 6, 16)  # rows at a time: the processor prefetches that many streams
MIN_ROWS = 32
MIN_WIDTH = 256  # in a narrower matrix, a strip of columns in registers is nearly a whole row
MIN_BYTES = 1 << 18  # less data stays in the cache, where jumps cost nothing
MAX_BLOCKS = 64  # in one sum


class RowBlocks:
    """The loops inside of all outer axes except the last one, which is the column."""

    def __init__(self, draft: Draft, phase: Phase, rows: int, size: int) -> None:
        self.draft = draft
        self.phase = phase
        self.column = draft.outer[-1]
        self.width = to_expr(draft.ranges.extents[self.column])
        at = draft.body.index(phase)
        self.sums = [s for s in draft.body[:at] if isinstance(s, ir.Accumulator)]
        self.before = [s for s in draft.body[:at] if isinstance(s, VALUES)]
        self.after = [s for s in draft.body[at + 1 :] if not isinstance(s, Phase)]
        blocks = rows // size
        parts = next(
            (n for n in range(1, blocks + 1) if blocks % n == 0 and blocks // n <= MAX_BLOCKS), blocks
        )
        self.parts = parts if parts > 1 else 0
        self.axes = self._split_rows(size, blocks // parts, parts)

    def _split_rows(self, size: int, blocks: int, parts: int) -> tuple[str, ...]:
        """The new axes: parts, other axes of the phase, blocks, rows of a block."""
        whole = self.phase.axes[-1]
        names = tuple(f"{whole}_{level}" for level in "pbe")
        self.draft.ranges.extents |= dict(zip(names, (parts, blocks, size)))
        part, block, row = map(ix.axis, names)
        start = ix.plus(ix.times(part, blocks), block) if parts > 1 else block
        index = ix.plus(ix.times(start, size), row)
        split: dict[str, Index] = {whole: index}
        ranges = self.draft.ranges
        self.phase.map_indices(lambda index: ranges.recombine(ranges.substitute(index, split)))
        return (names[0], *self.phase.axes[:-1], names[1], names[2])

    def scratch(self, accumulator: ir.Accumulator, kind: str) -> str:
        name = f"{self.draft.name}_{accumulator.name}_{kind}"
        if name not in self.draft.buffers:
            self.draft.buffers[name] = accumulator.dtype
            self.draft.written.add(name)
            self.draft.scratch[name] = self.draft.ranges.extents[self.column]
        return name

    def columns(self, statements: Iterable[Statement], unroll: int = 2) -> list[ir.Stmt]:
        """A loop over the columns."""
        nest = Nest(self.draft, (self.column,))
        nest.place(statements)
        return nest.close([ir.Loop(self.column, self.width, parallel=True, vector=True, unroll=unroll)])

    def store(self, name: str, value: int) -> DraftStore:
        return DraftStore(name, ix.axis(self.column), value)

    def load(self, name: str, number: int) -> DraftLoad:
        return DraftLoad(number, name, ix.axis(self.column), self.draft.buffers[name])

    def clear(self, kind: str) -> list[ir.Stmt]:
        statements: list[Statement] = []
        for a in self.sums:
            zero = self.draft.new_value(a.dtype)
            statements += [ir.ConstOp(zero, 0.0, a.dtype), self.store(self.scratch(a, kind), zero)]
        return self.columns(statements)

    def add(self, name: str, value: int, dtype: str) -> list[Statement]:
        """name[column] += value"""
        old, new = self.draft.new_value(dtype), self.draft.new_value(dtype)
        return [self.load(name, old), ir.Op(new, "add", (old, value), dtype), self.store(name, new)]

    def add_parts(self) -> list[ir.Stmt]:
        statements: list[Statement] = []
        for a in self.sums:
            part = self.draft.new_value(a.dtype)
            statements += [
                self.load(self.scratch(a, "part"), part),
                *self.add(self.scratch(a, "sum"), part, a.dtype),
            ]
        return self.columns(statements)

    def add_rows(self, unroll: int) -> list[ir.Stmt]:
        """The loops over blocks, columns and the rows of a block."""
        *outer, block, row = self.axes[1:]
        nest = Nest(self.draft, (*outer, block, self.column, row))
        nest.place(self.rows_body())
        loops = [ir.Loop(name, to_expr(self.draft.ranges.extents[name])) for name in nest.axes]
        loops[-2].parallel = loops[-2].vector = True
        loops[-2].unroll = unroll
        statements = nest.close(loops)
        tail: list[ir.Stmt] = []
        for a in self.sums:
            value = self.draft.new_value(a.dtype)
            tail.append(ir.ReadAccumulator(value, a.name, a.dtype))
            inner = Nest(self.draft, ())
            inner.place(self.add(self.scratch(a, "part"), value, a.dtype))
            tail += inner.blocks[0]
        loops[-2].body = [*self.sums, *loops[-2].body, *tail]
        return statements

    def rows_body(self) -> list[Statement]:
        """A copy of the values that the phase needs from before it, then its body, which uses the copy."""
        numbers: dict[int, int] = {}
        copies: list[Statement] = []
        for s in self.before:
            renamed = rename_operands(s, numbers)
            numbers[s.number] = self.draft.new_value(self.draft.dtypes[s.number])
            assert isinstance(renamed, VALUES)
            copies.append(replace(renamed, number=numbers[s.number]))
        return [*copies, *(rename_operands(s, numbers) for s in self.phase.body)]

    def finish(self) -> list[ir.Stmt]:
        """The statements after the sums."""
        kind = "sum" if self.parts else "part"
        names = {a.name: self.scratch(a, kind) for a in self.sums}
        reads = [
            self.load(names[s.accumulator], s.number) if isinstance(s, ir.ReadAccumulator) else s
            for s in self.after
        ]
        return self.columns([*self.before, *reads])

    def body(self, unroll: int) -> list[ir.Stmt]:
        if not self.parts:
            return [*self.clear("part"), *self.add_rows(unroll), *self.finish()]
        runs = ir.Loop(self.axes[0], ir.Const(self.parts))
        runs.body = [*self.clear("part"), *self.add_rows(unroll), *self.add_parts()]
        return [*self.clear("sum"), runs, *self.finish()]


def row_blocks(draft: Draft) -> RowBlocks | None:
    """The loops in row blocks, if they pay. Else None, and the draft does not change."""
    if len(draft.phases()) != 1 or draft.in_order:
        return None
    (phase,) = draft.phases()
    rows, width = draft.ranges.extents[phase.axes[-1]], draft.ranges.extents[draft.outer[-1]]
    if not isinstance(rows, int) or not isinstance(width, int) or rows < MIN_ROWS or width < MIN_WIDTH:
        return None
    size = next((size for size in ROWS if rows % size == 0), None)
    total = ix.product(draft.ranges.extents[name] for name in phase.axes)
    loads = [s for s in phase.body if isinstance(s, DraftLoad)]
    if size is None or not isinstance(total, int) or not loads or not _only_adds(draft, phase):
        return None
    bytes_read = sum(TORCH_DTYPES[s.dtype].itemsize for s in loads) * total * width
    return RowBlocks(draft, phase, rows, size) if bytes_read >= MIN_BYTES else None


def _only_adds(draft: Draft, phase: Phase) -> bool:
    """Whether every accumulator is a sum of f32, and nothing before the end of the sums stores.

    No load may be masked or at a computed place.
    """
    at = draft.body.index(phase)
    before = draft.body[:at]
    sums = [s for s in draft.statements() if isinstance(s, ir.Accumulator)]
    return (
        all(isinstance(s, (ir.Accumulator, *VALUES)) for s in before)
        and all(isinstance(s, (ir.Update, *VALUES)) for s in phase.body)
        and all(s.combine == "sum" and s.dtype == "f32" and s.init is None and s in before for s in sums)
        and not any(_is_computed(s) for s in (*before, *phase.body))
    )


def _is_computed(statement: Statement | Phase) -> bool:
    """Whether it is a masked load, or a load at an index that the kernel computes."""
    if not isinstance(statement, DraftLoad):
        return False
    return statement.mask is not None or any(atom.startswith("%") for atom in ix.atoms_of(statement.index))
