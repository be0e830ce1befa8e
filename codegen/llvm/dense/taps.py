"""The right factor of a convolution: what each element of the kernel meets at each place of the output.

In:  an image and the place of its copy (`images`).
Out: `Taps`: packs strips of neighbouring output places.

A vector may begin in one row of the output and end in the next one. Then each of two loads has its part of
the lanes:

    output of 5 columns, places 3 to 6:   row 0: 3 4 | row 1: 0 1
"""

from __future__ import annotations

from collections.abc import Mapping

from capture_records import dataclass
from codegen.llvm.casts import cast
from codegen.llvm.dense.forms import MatmulForm
from codegen.llvm.dense.images import Image
from codegen.llvm.dense.matrices import Matrices
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.types import register_type, vector


@dataclass(frozen=True, slots=True)
class _Piece:
    """A vector of a strip: where it begins in the copy, from the tap on; the lanes in the first row."""

    place: Number
    in_first_row: str | None


class Taps(Matrices):
    """`copied`: the image, and the pointer to the group's channels in its copy."""

    def __init__(
        self,
        writer: Writer,
        form: MatmulForm,
        values: Mapping[str, Number],
        pointers: dict[str, str],
        place: tuple[Number, Number],
        copied: tuple[Image, str],
    ) -> None:
        super().__init__(writer, form, values, pointers, place)
        self.image, self.copy = copied

    def pack_right(self, column: Number, width: int, target: str) -> None:
        writer, image, dtype = self.writer, self.image, self.form.summed_in
        lanes = self.lanes(width)
        pieces = [self._piece(writer.add(column, first), lanes) for first in range(0, width, lanes)]
        height, across = image.kernel
        inner = self.values["inner"]
        assert isinstance(inner, int)

        def taps_of_row(channel: Number, y: Number) -> None:
            for x in range(across):
                tap = image.tap(writer, channel, y, x)
                row = writer.add(writer.multiply(channel, height), y)
                k = writer.add(writer.multiply(row, across), x)
                for number, piece in enumerate(pieces):
                    there = writer.add(writer.multiply(k, width), number * lanes)
                    writer.store(writer.at(target, dtype, there), dtype, lanes, self._read(piece, tap, lanes))

        writer.loop(
            0,
            inner // (height * across),
            1,
            lambda channel: writer.loop(0, height, 1, lambda y: taps_of_row(channel, y)),
        )

    def kernel_element(self, channel: Number, k: Number, lanes: int) -> str:
        """Element `k` of the kernel of an output channel, in all lanes."""
        writer, dtype = self.writer, self.form.summed_in
        element = writer.load(self.left(channel, k).pointer, self.form.dtype, 1)
        return writer.splat(dtype, cast(writer.code(1), self.form.dtype, dtype, element), lanes)

    def lanes(self, width: int) -> int:
        """The largest power of two that divides `width`, and is no more than a vector or an output row."""
        most = min(self.writer.target.lanes(self.form.summed_in), self.image.output[1])
        lanes = width & -width
        while lanes > most:
            lanes //= 2
        return lanes

    def _piece(self, column: Number, lanes: int) -> _Piece:
        writer, across = self.writer, self.image.output[1]
        row = writer.quotient(column, across)
        within = writer.subtract(column, writer.multiply(row, across))
        place = self.image.place(writer, row, within)
        if across % lanes == 0:
            return _Piece(place, None)
        kind = register_type("i32", lanes)
        left = writer.subtract(across, within)
        narrow = str(left) if isinstance(left, int) else writer.define(f"trunc i64 {left} to i32")
        numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
        last = writer.splat("i32", narrow, lanes)
        return _Piece(place, writer.define(f"icmp slt {kind} <{numbers}>, {last}"))

    def _read(self, piece: _Piece, tap: Number, lanes: int) -> str:
        writer, dtype = self.writer, self.form.summed_in
        place = writer.add(tap, piece.place)
        first = writer.load(writer.at(self.copy, dtype, place), dtype, lanes)
        if piece.in_first_row is None:
            return first
        behind = writer.add(place, self.image.next_row - self.image.output[1])
        second = writer.load(writer.at(self.copy, dtype, behind), dtype, lanes)
        kind = register_type(dtype, lanes)
        return writer.define(
            f"select {vector('i1', lanes)} {piece.in_first_row}, {kind} {first}, {kind} {second}"
        )
