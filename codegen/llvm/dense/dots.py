"""Products with few rows, where k runs along the rows of both factors: dot products.

In:  a tile, the factors, the sizes.
Out: code that reads both factors where they lie: to pack the right one would take longer than the product.

    x[1, k] @ w[n, k].t():   for a few columns at once:  vectors of x times vectors of each row of w

The lanes of a sum are separate chains, added at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from codegen.llvm.dense.matrices import Matrices
from codegen.llvm.dense.tile import Stream, Tile, multiply_add
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.types import FLOATS, constant, register_type
from codegen.llvm.values import mangled

Place = tuple[int, int]


def emit_dots(writer: Writer, tile: Tile, factors: Matrices, values: Mapping[str, Number]) -> None:
    """`tile`: so many rows and columns at once, no more than the output has."""

    def inside(start: Number, width: int, size: Number) -> Number:
        return writer.least(start, writer.subtract(size, width))

    def of_columns(column: Number) -> None:
        moved = inside(column, tile.columns, values["columns"])
        writer.loop(0, values["rows"], tile.rows, lambda row: one(row, moved))

    def one(row: Number, column: Number) -> None:
        moved = inside(row, tile.rows, values["rows"])
        left, right = factors.left(moved, 0), factors.right(0, column)
        for (down, across), value in _sums(writer, tile, factors, (left, right), values["inner"]).items():
            place = (writer.add(moved, down), writer.add(column, across))
            factors.store_vector(factors.with_bias(value, *place, 1), *place, 1)

    writer.loop(0, values["columns"], tile.columns, of_columns)


def _sums(
    writer: Writer, tile: Tile, factors: Matrices, streams: tuple[Stream, Stream], inner: Number
) -> dict[Place, str]:
    dtype = factors.form.summed_in
    lanes = writer.target.lanes(dtype)
    places = [(row, column) for row in range(tile.rows) for column in range(tile.columns)]
    whole = writer.multiply(writer.quotient(inner, lanes), lanes)
    wide = _Chains(writer, dtype, lanes, places)
    writer.loop_if(0, whole, lanes, partial(wide.add, tile, streams))
    single = _Chains(writer, dtype, 1, places)
    writer.loop_if(whole, inner, 1, partial(single.add, tile, streams))
    code = writer.code(1)
    operation = "fadd" if dtype in FLOATS else "add"
    return {place: code.binary(operation, dtype, wide.total(place), single.total(place)) for place in places}


class _Chains:
    """A slot for the sum of each place, in `lanes` lanes."""

    def __init__(self, writer: Writer, dtype: str, lanes: int, places: list[Place]) -> None:
        self.writer = writer
        self.dtype = dtype
        self.lanes = lanes
        self.kind = register_type(dtype, lanes)
        self.slots = {place: writer.variable(self.kind, constant(dtype, 0, lanes)) for place in places}

    def add(self, tile: Tile, streams: tuple[Stream, Stream], k: Number) -> None:
        """The products of `lanes` elements from `k` on."""
        writer = self.writer
        vectors = []
        for stream, count in zip(streams, (tile.rows, tile.columns), strict=True):
            pointer = writer.at(stream.pointer, self.dtype, k)
            vectors.append(
                [
                    writer.load(
                        writer.at(pointer, self.dtype, writer.multiply(number, stream.across)),
                        self.dtype,
                        self.lanes,
                    )
                    for number in range(count)
                ]
            )
        for (row, column), slot in self.slots.items():
            total = writer.get(self.kind, slot)
            total = multiply_add(writer, self.dtype, self.lanes, vectors[0][row], vectors[1][column], total)
            writer.set(self.kind, slot, total)

    def total(self, place: Place) -> str:
        """The sum of the lanes, in any order."""
        value = self.writer.get(self.kind, self.slots[place])
        if self.lanes == 1:
            return value
        scalar = register_type(self.dtype, 1)
        is_float = self.dtype in FLOATS
        name = f"@llvm.vector.reduce.{'fadd' if is_float else 'add'}.{mangled(self.kind)}"
        start = f"{scalar} {constant(self.dtype, 0, 1)}, " if is_float else ""
        kinds = f"{scalar}, {self.kind}" if is_float else self.kind
        self.writer.function.declare(name, f"{scalar} {name}({kinds})")
        flags = "reassoc " if is_float else ""
        return self.writer.define(f"call {flags}{scalar} {name}({start}{self.kind} {value})")
