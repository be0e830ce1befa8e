"""The matrices of a product in memory: how a product reads, packs and writes them.

In:  a form, its numbers, pointers.
Out: `Matrices`, the `product.Factors` of a matrix product.
"""

from __future__ import annotations

from collections.abc import Mapping

from codegen.llvm.casts import cast
from codegen.llvm.dense.forms import MatmulForm
from codegen.llvm.dense.panels import Strip, pack
from codegen.llvm.dense.tile import Stream, Sums
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.types import FLOATS, constant, register_type

Values = Mapping[str, Number]


class Matrices:
    """`product.Factors` that are matrices in memory.

    `pointers`: the begin of "output", "left", "right", "bias". `place`: the batch and the first row that the
    epilogue is told.
    """

    def __init__(
        self,
        writer: Writer,
        form: MatmulForm,
        values: Values,
        pointers: dict[str, str],
        place: tuple[Number, Number],
    ) -> None:
        self.writer = writer
        self.form = form
        self.values = values
        self.pointers = pointers
        self.batch, self.first_row = place

    def _place(self, matrix: str, row: Number, column: Number) -> str:
        writer, values = self.writer, self.values
        index = writer.add(
            writer.multiply(row, values[f"{matrix}_row"]), writer.multiply(column, values[f"{matrix}_column"])
        )
        return writer.at(self.pointers[matrix], self.form.dtype, index)

    def left(self, row: Number, k: Number) -> Stream:
        return Stream(self._place("left", row, k), self.values["left_row"], self.values["left_column"])

    def right(self, k: Number, column: Number) -> Stream:
        return Stream(self._place("right", k, column), self.values["right_column"], self.values["right_row"])

    def pack_left(self, row: Number, width: int, k: Number, inner: Number, target: str) -> None:
        source = self.left(row, k)
        strip = Strip(source.pointer, self.form.dtype, width, source.across, source.along, inner)
        pack(self.writer, strip, target, self.form.summed_in)

    def pack_right(self, column: Number, width: int, target: str) -> None:
        source = self.right(0, column)
        inner = self.values["inner"]
        strip = Strip(source.pointer, self.form.dtype, width, source.across, source.along, inner)
        pack(self.writer, strip, target, self.form.summed_in)

    def begin(self, sums: Sums, row: Number, column: Number) -> None:
        """The bias, or 0, is added to the sums of the first block, as BLAS does it: no sum is -0."""

        def add() -> None:
            for down, right in sums.places():
                at = (self.writer.add(row, down), self.writer.add(column, right))
                sums.set((down, right), self.with_bias(sums.get((down, right)), *at, sums.tile.lanes))

        def add_zero() -> None:
            dtype, lanes = self.form.summed_in, sums.tile.lanes
            zero, code = constant(dtype, 0, lanes), self.writer.code(lanes)
            for place in sums.places() if dtype in FLOATS else ():
                sums.set(place, code.binary("fadd", dtype, sums.get(place), zero))

        is_there: bool | str = self.form.bias is not None
        if self.form.bias_is_optional:
            is_there = self.writer.define("icmp ne ptr %bias, null")
        self.writer.when(is_there, add, add_zero)

    def with_bias(self, value: str, row: Number, column: Number, lanes: int) -> str:
        if self.form.bias is None:
            return value
        dtype = self.form.summed_in
        operation = "fadd" if dtype in FLOATS else "add"
        bias = self._read_bias(row, column, lanes)
        return self.writer.code(lanes).binary(operation, dtype, value, bias)

    def store(self, sums: Sums, row: Number, column: Number) -> None:
        for down, right in sums.places():
            at = (self.writer.add(row, down), self.writer.add(column, right))
            self.store_vector(sums.get((down, right)), *at, sums.tile.lanes)

    def store_vector(self, value: str, row: Number, column: Number, lanes: int) -> None:
        """Applies the epilogue to finished sums, and writes the result."""
        writer, form = self.writer, self.form
        if form.epilogue is not None:
            place = (self.batch, writer.add(self.first_row, row), column)
            value = form.epilogue(writer.code(lanes), value, *place)
        value = cast(writer.code(lanes), form.summed_in, form.dtype, value)
        self._write(row, column, lanes, value)

    def _read_bias(self, row: Number, column: Number, lanes: int) -> str:
        writer, dtype = self.writer, self.form.dtype
        step = self.values["bias_column"]
        if step == 1:
            value = writer.load(self._place("bias", row, column), dtype, lanes)
        elif step == 0:
            value = writer.splat(dtype, writer.load(self._place("bias", row, column), dtype, 1), lanes)
        else:
            value = constant(dtype, 0, lanes)
            for lane in range(lanes):
                element = writer.load(self._place("bias", row, writer.add(column, lane)), dtype, 1)
                value = self._with_lane(value, element, lanes, lane)
        return cast(writer.code(lanes), dtype, self.form.summed_in, value)

    def _with_lane(self, value: str, element: str, lanes: int, lane: int) -> str:
        if lanes == 1:
            return element
        kind, scalar = register_type(self.form.dtype, lanes), register_type(self.form.dtype, 1)
        return self.writer.define(f"insertelement {kind} {value}, {scalar} {element}, i64 {lane}")

    def _write(self, row: Number, column: Number, lanes: int, value: str) -> None:
        writer, dtype = self.writer, self.form.dtype
        if self.values["output_column"] == 1:
            writer.store(self._place("output", row, column), dtype, lanes, value)
            return
        for lane in range(lanes):
            element = writer.lane(dtype, value, lanes, lane)
            writer.store(self._place("output", row, writer.add(column, lane)), dtype, 1, element)
