"""The innermost loop of a matrix product: one tile of the output in registers.

In:  `Tile`, a shape; where the factors lie; a function that takes the finished sums.
Out: code that reads each element of the two factors once.

    rows 2, 2 vectors of 8:   s00 s01    s_rv += left[row r, k] * right[k, vector v]    for all k
                              s10 s11

A left element is repeated in all lanes; the right ones are vectors of neighbouring columns. Each sum is one
chain in the order of k.
"""

from __future__ import annotations

from capture_records import dataclass
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.types import FLOATS, constant, register_type

_UNROLLED = 4  # steps of k in one turn of the loop


@dataclass(frozen=True, slots=True)
class Tile:
    """`rows` rows and `vectors` vectors of `lanes` columns, each a power of two."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


@dataclass(frozen=True, slots=True)
class Stream:
    """A factor: `pointer` to its element (0, 0), `across` to the next row (column), `along` to the next k."""

    pointer: str
    across: Number
    along: Number


class Sums:
    """The sums of a tile: a slot for each row and vector."""

    def __init__(self, writer: Writer, tile: Tile, dtype: str) -> None:
        self.writer = writer
        self.tile = tile
        self.dtype = dtype
        self.kind = register_type(dtype, tile.lanes)
        self._slots = {place: writer.function.stack_slot(self.kind) for place in self.places()}

    def places(self) -> list[tuple[int, int]]:
        """(row, first column) of each vector."""
        tile = self.tile
        return [(row, vector * tile.lanes) for row in range(tile.rows) for vector in range(tile.vectors)]

    def get(self, place: tuple[int, int]) -> str:
        return self.writer.get(self.kind, self._slots[place])

    def set(self, place: tuple[int, int], value: str) -> None:
        self.writer.set(self.kind, self._slots[place], value)

    def clear(self) -> None:
        for place in self.places():
            self.set(place, constant(self.dtype, 0, self.tile.lanes))

    def add(self, pointer: str) -> None:
        """Adds sums that `store` has written."""
        for place in self.places():
            other = self.writer.load(self._at(pointer, place), self.dtype, self.tile.lanes)
            operation = "fadd" if self.dtype in FLOATS else "add"
            self.set(
                place,
                self.writer.code(self.tile.lanes).binary(operation, self.dtype, other, self.get(place)),
            )

    def store(self, pointer: str) -> None:
        for place in self.places():
            self.writer.store(self._at(pointer, place), self.dtype, self.tile.lanes, self.get(place))

    def _at(self, pointer: str, place: tuple[int, int]) -> str:
        return self.writer.at(pointer, self.dtype, place[0] * self.tile.columns + place[1])

    def add_products(self, left: Stream, right: Stream, inner: Number) -> None:
        """Adds left[r, k] * right[k, c] for all k below `inner`. The columns of `right` lie side by side."""
        writer = self.writer
        pointers = [writer.variable("ptr", left.pointer), writer.variable("ptr", right.pointer)]

        def steps(count: int) -> None:
            here = [writer.get("ptr", slot) for slot in pointers]
            sums = {place: self.get(place) for place in self.places()}
            for step in range(count):
                sums = self._step(sums, left, right, here, step)
                if not (isinstance(left.along, int) and isinstance(right.along, int)):
                    here = self._advanced(here, left, right, 1)
            for place, value in sums.items():
                self.set(place, value)
            if isinstance(left.along, int) and isinstance(right.along, int):
                here = self._advanced(here, left, right, count)
            for slot, pointer in zip(pointers, here, strict=True):
                writer.set("ptr", slot, pointer)

        whole = writer.multiply(writer.quotient(inner, _UNROLLED), _UNROLLED)
        writer.loop_if(0, whole, _UNROLLED, lambda _: steps(_UNROLLED))
        writer.loop_if(whole, inner, 1, lambda _: steps(1))

    def _advanced(self, here: list[str], left: Stream, right: Stream, steps: int) -> list[str]:
        writer = self.writer
        return [
            writer.at(pointer, self.dtype, writer.multiply(steps, stream.along))
            for pointer, stream in zip(here, (left, right), strict=True)
        ]

    def _step(
        self, sums: dict[tuple[int, int], str], left: Stream, right: Stream, here: list[str], step: int
    ) -> dict[tuple[int, int], str]:
        """The sums after one more k; `here` points to k, or `step` before it if the steps are numbers."""
        writer, lanes = self.writer, self.tile.lanes
        before = [
            step * stream.along
            if isinstance(left.along, int) and isinstance(right.along, int) and isinstance(stream.along, int)
            else 0
            for stream in (left, right)
        ]
        columns = {
            column: writer.load(writer.at(here[1], self.dtype, before[1] + column), self.dtype, lanes)
            for column in range(0, self.tile.columns, lanes)
        }
        found = {}
        for row in range(self.tile.rows):
            place = writer.add(writer.multiply(row, left.across), before[0])
            element = writer.splat(
                self.dtype, writer.load(writer.at(here[0], self.dtype, place), self.dtype, 1), lanes
            )
            for column, vector in columns.items():
                found[row, column] = multiply_add(
                    writer, self.dtype, lanes, element, vector, sums[row, column]
                )
        return found


def multiply_add(writer: Writer, dtype: str, lanes: int, left: str, right: str, addend: str) -> str:
    """left * right + addend; rounds once where that is one instruction."""
    code = writer.code(lanes)
    if dtype in FLOATS:
        return code.multiply_add(dtype, left, right, addend)
    return code.binary("add", dtype, code.binary("mul", dtype, left, right), addend)
