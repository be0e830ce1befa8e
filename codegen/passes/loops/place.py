"""Put statements into a nest of loops, each at the depth of the innermost axis that it depends on.

In:  statements of a draft with symbolic indices, and the axes of a nest from the outermost to the innermost.
Out: loop IR.

    (i, j):  %0 = load a[i]; %1 = load x[i*8 + j]; store ...   ->   for i: %0; for j: %1; store
"""

from __future__ import annotations

from collections.abc import Iterable

from codegen.kernel import ir
from codegen.kernel.index_algebra import atoms_of
from codegen.kernel.index_notation import to_expr
from codegen.passes.draft.draft import INDEXED, Draft, DraftIndex, DraftLoad, DraftStore, Statement


class Nest:
    """The blocks of one perfect nest. `blocks[d]` runs inside the first d loops.

    `depth_of`: by value, the depth of its definition. An inner nest starts with the values that the outer one
    knows.
    """

    def __init__(self, draft: Draft, axes: tuple[str, ...]) -> None:
        self.draft = draft
        self.axes = axes
        self.blocks: list[list[ir.Stmt]] = [[] for _ in range(len(axes) + 1)]
        self.depth_of: dict[int, int] = {}

    def place(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            self.place_one(statement)

    def place_one(self, statement: Statement) -> None:
        depth = self._depth(statement)
        number = getattr(statement, "number", None)
        if number is not None:
            self.depth_of[number] = depth
        self.blocks[depth].append(_final(statement))

    def _depth(self, statement: Statement) -> int:
        """Values and checks go where their operands are. Changes of memory or accumulators go innermost."""
        if not isinstance(statement, (ir.Op, ir.ConstOp, ir.Check, DraftLoad, DraftIndex)):
            return len(self.axes)
        depth = max((self.depth_of.get(number, 0) for number in _operands(statement)), default=0)
        if isinstance(statement, INDEXED):
            atoms = atoms_of(statement.index)
            for position, name in enumerate(self.axes):
                if name in atoms:
                    depth = max(depth, position + 1)
            for atom in atoms:
                if atom.startswith("%"):
                    depth = max(depth, self.depth_of.get(int(atom[1:]), 0))
        return depth

    def close(self, loops: list[ir.Loop]) -> list[ir.Stmt]:
        """The nest as statements. `loops`: from the outermost to the innermost, with empty bodies."""
        body = self.blocks[-1]
        for loop, block in zip(reversed(loops), reversed(self.blocks[:-1]), strict=True):
            loop.body = body
            body = [*block, loop]
        return body


def _operands(statement: Statement) -> tuple[int, ...]:
    if isinstance(statement, ir.Op):
        return statement.args
    if isinstance(statement, ir.Check):
        return (statement.condition,)
    if isinstance(statement, DraftLoad) and statement.mask is not None:
        return (statement.mask,)
    return ()


def _final(statement: Statement) -> ir.Stmt:
    if isinstance(statement, DraftLoad):
        index = to_expr(statement.index)
        return ir.Load(
            statement.number, statement.buffer, index, statement.dtype, statement.mask, statement.other
        )
    if isinstance(statement, DraftStore):
        return ir.Store(
            statement.buffer, to_expr(statement.index), statement.value, combine=statement.combine
        )
    if isinstance(statement, DraftIndex):
        return ir.IndexOp(statement.number, to_expr(statement.index))
    return statement
