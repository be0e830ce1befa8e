"""A draft: a kernel before its loops are arranged. It has statements and the axes that they depend on.

In:  `codegen.passes.draft.statements` writes it.
Out: `codegen.passes.loops.axes` splits and merges its axes, `codegen.passes.loops.schedule` makes the loops.

    outer (i0)   row statements ..., Phase(axes (r1)): load x[i0*1024 + r1], update max
                 row statements ..., Phase(...)

Indices are still polynomials (`codegen.kernel.index_algebra`), so that the passes can replace axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from capture_records import dataclass
from codegen.kernel import ir
from codegen.kernel.index_algebra import Index, Ranges
from codegen.kernel.index_notation import to_expr
from codegen.kernel.ops import TORCH_DTYPES
from codegen.kernel.program import BufferInfo


@dataclass(frozen=True, slots=True)
class DraftLoad:
    number: int
    buffer: str
    index: Index
    dtype: str
    mask: int | None = None
    other: float | int | bool = 0


@dataclass(frozen=True, slots=True)
class DraftStore:
    buffer: str
    index: Index
    value: int
    combine: str | None = None


@dataclass(frozen=True, slots=True)
class DraftIndex:
    """The value of an index expression as an i64."""

    number: int
    index: Index


Plain = ir.Op | ir.ConstOp | ir.Check | ir.Accumulator | ir.Update | ir.ScanStep | ir.ReadAccumulator
Indexed = DraftLoad | DraftStore | DraftIndex
Statement = Plain | Indexed
INDEXED = (DraftLoad, DraftStore, DraftIndex)
VALUES = (ir.Op, ir.ConstOp, DraftLoad)


@dataclass(frozen=True, slots=True)
class Block:
    """The innermost loop of a phase runs `length` times and adds into partial sums of the accumulators."""

    sums: tuple[str, ...]
    length: ir.Expr


@dataclass(slots=True)
class Phase:
    """A perfect nest over `axes` inside one iteration of the outer loops."""

    axes: tuple[str, ...]
    body: list[Statement] = field(default_factory=list)
    block: Block | None = None

    @property
    def reduces(self) -> bool:
        return any(isinstance(statement, (ir.Update, ir.ScanStep)) for statement in self.body)

    @property
    def scans(self) -> bool:
        """Whether its iterations must run in the order of their axes."""
        return any(isinstance(statement, ir.ScanStep) for statement in self.body)

    def map_indices(self, change: Callable[[Index], Index]) -> None:
        """Replace every index by `change(index)`."""
        self.body = [_with_index(statement, change) for statement in self.body]


def _with_index(statement: Statement, change: Callable[[Index], Index]) -> Statement:
    return replace(statement, index=change(statement.index)) if isinstance(statement, INDEXED) else statement


@dataclass(slots=True)
class Draft:
    """A kernel as statements with symbolic indices.

    dtypes:       the element type of each value
    buffers:      by name, the element type; in the order of first use
    part_rows:    the last outer axes, if their iterations add to the same sums; these axes run in order
    part_length:  the number of rows in a part, if the last part is shorter
    in_order:     iterations may write to one place, so they run in order
    scratch:      the kernel's own buffers, and their lengths
    """

    name: str
    outer: tuple[str, ...]
    ranges: Ranges
    body: list[Statement | Phase] = field(default_factory=list)
    dtypes: dict[int, str] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    part_rows: tuple[str, ...] = ()
    part_length: ir.Expr | None = None
    in_order: bool = False
    scratch: dict[str, Index] = field(default_factory=dict)

    def new_value(self, dtype: str) -> int:
        number = len(self.dtypes)
        self.dtypes[number] = dtype
        return number

    def phases(self) -> list[Phase]:
        return [item for item in self.body if isinstance(item, Phase)]

    def statements(self) -> Iterator[Statement]:
        for item in self.body:
            if isinstance(item, Phase):
                yield from item.body
            else:
                yield item

    def indexed(self) -> list[Indexed]:
        return [statement for statement in self.statements() if isinstance(statement, INDEXED)]

    def rename_buffers(self, names: Mapping[str, str]) -> None:
        """`names`: the new names by the old ones."""
        if names.keys().isdisjoint(self.buffers):
            return

        def renamed(statement: Statement) -> Statement:
            if isinstance(statement, (DraftLoad, DraftStore)):
                return replace(statement, buffer=names.get(statement.buffer, statement.buffer))
            return statement

        self.buffers = {names.get(name, name): dtype for name, dtype in self.buffers.items()}
        self.written = {names.get(name, name) for name in self.written}
        for phase in self.phases():
            phase.body = list(map(renamed, phase.body))
        self.body = [item if isinstance(item, Phase) else renamed(item) for item in self.body]

    def map_indices(self, change: Callable[[Index], Index]) -> None:
        """Replace every index by `change(index)`."""
        for phase in self.phases():
            phase.map_indices(change)
        self.body = [item if isinstance(item, Phase) else _with_index(item, change) for item in self.body]

    def scratch_buffers(self) -> dict[str, BufferInfo]:
        """By name: the buffers that the kernel of a scheduled draft needs for itself."""
        found = {}
        for name, length in self.scratch.items():
            shape, strides = (to_expr(length),), (ir.Const(1),)
            dtype = TORCH_DTYPES[self.buffers[name]]
            found[name] = BufferInfo(name, "temp", dtype, shape, strides, ir.Const(0))
        return found


def rename_operands(statement: Statement, numbers: dict[int, int]) -> Statement:
    if isinstance(statement, ir.Op):
        return replace(statement, args=tuple(numbers.get(n, n) for n in statement.args))
    if isinstance(statement, ir.Update):
        return replace(statement, value=numbers.get(statement.value, statement.value))
    return statement
