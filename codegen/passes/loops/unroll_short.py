"""Unroll a last axis of two to four elements, so that lanes run across many short rows.

In:  a draft without reductions and with such a short last axis.
Out: the same draft without that axis. Statements that depend on it occur once for each of its positions.

    for i in 1000: for c in 3: y[i*3 + c] = x[i*3 + c] * s[i]
    ->  for i in 1000 vector:
            y[i*3] = x[i*3] * s[i];  y[i*3 + 1] = x[i*3 + 1] * s[i];  y[i*3 + 2] = x[i*3 + 2] * s[i]

Interleaved stores and loads then are whole vectors (`codegen.llvm.interleaved`). Lanes along only one of the
two axes would lie apart in memory.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.kernel import index_algebra as ix
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index, atoms_of
from codegen.passes.draft.draft import (
    INDEXED,
    Draft,
    DraftIndex,
    DraftLoad,
    DraftStore,
    Phase,
    Statement,
)
from codegen.passes.loops.axes import stride_of

LONGEST = 4
ROWS = 8  # the least rows: one vector
MOST_STATEMENTS = 24  # after unrolling


def unroll_short_axis(draft: Draft) -> None:
    """Change the draft in place, if that pays."""
    if len(draft.outer) < 2 or draft.in_order or draft.part_rows or draft.phases():
        return
    rows, short = draft.outer[-2:]
    count, extent = draft.ranges.extents[short], draft.ranges.extents[rows]
    if not isinstance(count, int) or not 1 < count <= LONGEST or not isinstance(extent, int) or extent < ROWS:
        return
    stores = [s for s in draft.statements() if isinstance(s, DraftStore)]
    if any(stride_of(s.index, short) != 1 or stride_of(s.index, rows) != count for s in stores):
        return
    if any(s.combine is not None for s in stores) or len(draft.body) * count > MOST_STATEMENTS:
        return
    body: list[Statement | Phase] = []
    numbers: dict[int, list[int]] = {}  # by value that depends on the axis: a value for each position
    for statement in draft.statements():
        body += _copies(draft, statement, short, count, numbers)
    draft.body, draft.outer = body, draft.outer[:-1]


def _copies(
    draft: Draft, s: Statement, axis: str, count: int, numbers: dict[int, list[int]]
) -> list[Statement]:
    atoms = set(atoms_of(s.index)) if isinstance(s, INDEXED) else set()
    used = {int(atom[1:]) for atom in atoms if atom.startswith("%")} | set(_operands(s))
    if axis not in atoms and used.isdisjoint(numbers):
        return [s]
    copies: list[Statement] = []
    for position in range(count):
        new = {number: copied[position] for number, copied in numbers.items()}
        copies.append(_at(draft, s, {axis: position}, new))
    if isinstance(s, (ir.Op, DraftLoad, DraftIndex)):
        numbers[s.number] = [copy.number for copy in copies]  # type: ignore[union-attr]
    return copies


def _operands(s: Statement) -> tuple[int, ...]:
    if isinstance(s, ir.Op):
        return s.args
    if isinstance(s, ir.Check):
        return (s.condition,)
    if isinstance(s, DraftStore):
        return (s.value,)
    return (s.mask,) if isinstance(s, DraftLoad) and s.mask is not None else ()


def _at(draft: Draft, s: Statement, place: dict[str, Index], new: dict[int, int]) -> Statement:
    """The statement at one position of the axis, with the values of that position."""
    if isinstance(s, ir.Op):
        number = draft.new_value(s.dtype)
        return replace(s, number=number, args=tuple(new.get(arg, arg) for arg in s.args))
    if isinstance(s, ir.Check):
        return replace(s, condition=new.get(s.condition, s.condition))
    assert isinstance(s, INDEXED)
    names = place | {f"%{number}": ix.indirect(other) for number, other in new.items()}
    index = draft.ranges.recombine(draft.ranges.substitute(s.index, names))
    if isinstance(s, DraftStore):
        return replace(s, index=index, value=new.get(s.value, s.value))
    number = draft.new_value(draft.dtypes[s.number])
    if isinstance(s, DraftLoad) and s.mask is not None:
        return replace(s, number=number, index=index, mask=new.get(s.mask, s.mask))
    return replace(s, number=number, index=index)
