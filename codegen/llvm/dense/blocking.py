"""Which tiles a matrix product is computed in, and which blocks stay in the caches.

In:  a form and a target.
Out: `Plan`s: the tile, the sizes of the blocks, which factors are packed.

    x86-64-v4, f32, 512 x 512 x 512   ->   tiles of 14 rows and 2 vectors of 16 lanes, both factors packed

A tile that would reach over the edge moves back and computes some elements twice, so no tile has a ragged
edge; in exchange a tile is never larger than the output. Open sizes get several plans, the largest tile
first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from capture_records import dataclass
from codegen.llvm.dense.forms import MatmulForm
from codegen.llvm.dense.tile import Tile
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.target import Target
from codegen.llvm.types import SIZES

#: vector registers by architecture; AVX-512 has twice as many
_REGISTERS = {"x86_64": 16, "aarch64": 32, "armv7": 16, "riscv64": 32, "wasm32": 16}
#: a multiply-add takes so many turns until its result is there, and two begin in each turn
_LATENCY, _ISSUED = 4, 2
_INNER = 192  # k of a block: its strip of a tile's width stays in the first cache
_BLOCK_BYTES = 128 * 1024  # of the left factor: it stays in the second cache, beside the sums of its rows
_BLOCK_COLUMNS = 512
#: so many rows are worth packing the right factor: for a short inner size, and for a long one
_ROWS_WITHOUT_DOTS, _LONG_INNER = (8, 32), 256
_IN_PLACE_BYTES = 64 * 1024  # a factor of fewer bytes is read where it lies


@dataclass(frozen=True, slots=True)
class Plan:
    """`rows`, `columns`: the largest block, in multiples of the tile's.

    A factor that is not packed is read where it lies. None: that is decided at run time. `dots`: the sums are
    dot products (`dots`), the tile has single lanes, and there are no blocks.
    """

    tile: Tile
    rows: int
    columns: int
    packs_left: bool | None
    packs_right: bool | None
    dots: bool = False

    def packing_right(self) -> Plan:
        return dataclasses.replace(self, packs_right=True)


def plans(form: MatmulForm, target: Target, dots: bool = True) -> list[Plan]:
    """From the largest tile to the smallest; one of them fits whatever the open sizes are, if none is 0.

    `dots`: dot products may be among them.
    """
    heights = [form.rows] if form.rows is not None else [None, 4, 1]
    widths = [form.columns] if form.columns is not None else [None, target.lanes(form.summed_in), 1]
    found = []
    for height in heights:
        few_rows = height is not None and height < _ROWS_WITHOUT_DOTS[(form.inner or 0) >= _LONG_INNER]
        for width in widths:
            if dots and height and few_rows and _along_both_rows(form):
                found.append(_dots_plan(height, width, target))
            else:
                found.append(_plan(form, _best_tile(height, width, form, target), target))
    return found


def registers(target: Target) -> int:
    return 32 if target.avx512 else _REGISTERS.get(target.architecture, 16)


def _best_tile(rows: int | None, columns: int | None, form: MatmulForm, target: Target) -> Tile:
    """The tile of least cost for so many rows and columns; None: very many."""
    candidates = _candidates(rows, columns, target.lanes(form.summed_in), target)
    return min(candidates, key=lambda tile: _cost(tile, rows or 1000, columns or 10000, form.inner or 256))


def _candidates(rows: int | None, columns: int | None, lanes: int, target: Target) -> Iterator[Tile]:
    spare = 1 if target.fma else 2  # for the repeated left element, and a product
    width = lanes
    while width:
        for vectors in range(1, 9):
            for height in range(1, 17):
                fits = height * vectors + vectors + spare <= registers(target)
                inside = height <= (rows or height) and vectors * width <= (columns or vectors * width)
                if fits and inside:
                    yield Tile(height, vectors, width)
        width //= 2


def _cost(tile: Tile, rows: int, columns: int, inner: int) -> float:
    """Turns of the processor for the whole product."""
    count = -(-rows // tile.rows) * -(-columns // tile.columns)
    sums = tile.rows * tile.vectors
    step = max(sums / _ISSUED, _LATENCY, (tile.rows + tile.vectors) / _ISSUED)
    return count * (step * inner + 2 * sums + 10)


def _plan(form: MatmulForm, tile: Tile, target: Target) -> Plan:
    numbers = form.numbers()
    size = SIZES[form.summed_in]
    rows = max(1, _BLOCK_BYTES // (_INNER * size) // tile.rows) * tile.rows
    columns = max(1, _BLOCK_COLUMNS // tile.columns) * tile.columns
    narrow = form.dtype == form.summed_in
    small_left = _bytes(form.rows, form.inner, size) <= _IN_PLACE_BYTES
    small_right = _bytes(form.columns, form.inner, size) <= _IN_PLACE_BYTES or tile.rows < 4
    known = numbers["left_row"] is not None and numbers["left_column"] is not None
    side_by_side = numbers["right_column"] == 1 or tile.columns == 1
    return Plan(
        tile,
        rows,
        columns,
        packs_left=not (narrow and known and small_left),
        packs_right=not (narrow and side_by_side and small_right),
    )


def block_of(writer: Writer, inner: Number) -> Number:
    """k of a block. Its sums are one chain of additions, and the sums of the blocks are added in turn.

    These are the chains of MKL for float32, so the results are those of torch.mm wherever it has them too.
    """
    halves = writer.choose(writer.holds("slt", inner, 2 * _INNER), writer.quotient(inner, 2), _INNER)
    return writer.choose(writer.holds("sge", _INNER, inner), inner, halves)


def packed(writer: Writer, plan: Plan, values: Mapping[str, Number]) -> tuple[bool | str, bool | str]:
    """Whether the left and the right factor are packed."""
    if plan.packs_left is not None and plan.packs_right is not None:
        return plan.packs_left, plan.packs_right
    most = _IN_PLACE_BYTES // 4
    few_columns = writer.holds("sge", 2 * plan.tile.columns, values["columns"])
    few_rows = writer.holds("sge", 2 * plan.tile.rows, values["rows"])
    small_left = writer.holds("sge", most, writer.multiply(values["rows"], values["inner"]))
    small_right = writer.holds("sge", most, writer.multiply(values["columns"], values["inner"]))
    side_by_side = writer.holds("eq", values["right_column"], 1)
    left_in_place = writer.either(few_columns, small_left)
    right_in_place = writer.both(side_by_side, writer.either(few_rows, small_right))
    return writer.negated(left_in_place), writer.negated(right_in_place)


def _dots_plan(rows: int, columns: int | None, target: Target) -> Plan:
    height = min(rows, 4)
    width = max(1, min(columns or 8, 8, registers(target) // 2 // height))
    return Plan(Tile(height, width, 1), 0, 0, packs_left=False, packs_right=False, dots=True)


def _along_both_rows(form: MatmulForm) -> bool:
    """Whether k runs along the rows of the left factor and of the right one's transpose."""
    numbers = form.numbers()
    return form.dtype == form.summed_in and numbers["left_column"] == 1 and numbers["right_row"] == 1


def _bytes(across: int | None, inner: int | None, size: int) -> float:
    return float("inf") if across is None or inner is None else across * inner * size


# --- the workspace ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Workspace:
    """Elements of the sums' type from the begin of the workspace to each part, and in all of it."""

    left: Number
    right: Number
    sums: Number
    elements: Number


def workspace(writer: Writer, form: MatmulForm, plan: Plan, values: Mapping[str, Number]) -> Workspace:
    """The parts that a plan needs for these sizes: packed left block, packed right columns, sums."""
    if plan.dots:
        return Workspace(0, 0, 0, 0)
    vector = writer.target.lanes(form.summed_in)
    rows = writer.rounded_up(writer.least(values["rows"], plan.rows), plan.tile.rows)
    columns = writer.rounded_up(writer.least(values["columns"], plan.columns), plan.tile.columns)

    def part(across: Number, along: Number, needed: bool) -> Number:
        """Elements, a vector more that packing may write, up to the next 64 bytes."""
        elements = writer.add(writer.multiply(across, along), vector)
        return writer.rounded_up(elements, 64 // SIZES[form.summed_in]) if needed else 0

    inner = values["inner"]
    left = part(rows, block_of(writer, inner), plan.packs_left is not False)
    right = part(columns, inner, plan.packs_right is not False)
    sums = part(rows, columns, not isinstance(inner, int) or inner > _INNER)
    behind_left = left
    behind_right = writer.add(left, right)
    return Workspace(0, behind_left, behind_right, writer.add(behind_right, sums))


def most_workspace(form: MatmulForm, target: Target) -> tuple[int, int]:
    """(a, b): a + b * inner elements of the sums' type are enough for all sizes of the form."""
    size = 64 // SIZES[form.summed_in]
    spare = 3 * (target.lanes(form.summed_in) + size)  # of the three parts, for whole vectors and lines
    fixed = along_inner = 0
    for plan in plans(form, target):
        if not plan.dots:
            fixed = max(fixed, plan.rows * (_INNER + plan.columns) + spare)
            along_inner = max(along_inner, plan.columns)
    return fixed, along_inner
