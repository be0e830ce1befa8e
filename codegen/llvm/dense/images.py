"""A copy of an image in which a convolution reads every vector with one or two loads.

In:  the sizes of a convolution; a dense image: channels, height, width.
Out: `Image`: how large the copy is, code that fills it, where it has what a kernel element meets.

    width 5, padding 1, stride 2:   . a b c d e .   ->   . b d .   a c e     (even places, then odd ones)

The copy has the zeros of the padding. Elements that are `stride` apart lie side by side in it. What the
kernel element (channel, y, x) meets at the output place (row, column) is at tap(channel, y, x) + place(row,
column), so a vector of neighbouring output places is a vector of the copy.
"""

from __future__ import annotations

from functools import partial

from capture_records import dataclass
from codegen.llvm.casts import cast
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.types import constant


@dataclass(frozen=True, slots=True)
class Image:
    """`kernel`, `stride`, `padding`, `dilation`: (along the height, along the width)."""

    channels: int
    height: int
    width: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def output(self) -> tuple[int, int]:
        """Height and width of the output; below 1 where the kernel is larger than the padded image."""
        sizes = zip(
            (self.height, self.width), self.kernel, self.stride, self.padding, self.dilation, strict=True
        )
        found = [
            (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
            for size, kernel, stride, padding, dilation in sizes
        ]
        return found[0], found[1]

    @property
    def phase(self) -> int:
        """Elements of one row with the same place modulo the stride."""
        return self.output[1] + (self.kernel[1] - 1) * self.dilation[1] // self.stride[1]

    @property
    def row(self) -> int:
        return self.phase * self.stride[1]

    @property
    def rows(self) -> int:
        return (self.output[0] - 1) * self.stride[0] + (self.kernel[0] - 1) * self.dilation[0] + 1

    def elements(self, lanes: int) -> int:
        """Of the copy. What follows the last row is read by vectors, but no output depends on it."""
        return self.channels * self.rows * self.row + self.next_row + lanes

    @property
    def next_row(self) -> int:
        """From one row of the output to the next."""
        return self.stride[0] * self.row

    def place(self, writer: Writer, row: Number, column: Number) -> Number:
        """Of an output place, from the tap on."""
        return writer.add(writer.multiply(row, self.next_row), column)

    def tap(self, writer: Writer, channel: Number, y: Number, x: int) -> Number:
        place = x * self.dilation[1]
        column = place % self.stride[1] * self.phase + place // self.stride[1]
        row = writer.add(
            writer.multiply(channel, self.rows * self.row), writer.multiply(y, self.dilation[0] * self.row)
        )
        return writer.add(row, column)

    def fill(self, writer: Writer, source: str, dtype: str, target: str, summed_in: str) -> None:
        """Copies the image at `source` to `target`, converted to `summed_in`."""
        lanes = writer.target.lanes(summed_in)
        size = self.elements(lanes)
        zeros = constant(summed_in, 0, lanes)
        writer.loop(
            0,
            size // lanes * lanes,
            lanes,
            lambda place: writer.store(writer.at(target, summed_in, place), summed_in, lanes, zeros),
        )
        first = max(0, self.padding[0])
        stop = min(self.rows, self.height + self.padding[0])

        def copy_row(channel: Number, row: Number) -> None:
            line = writer.add(writer.multiply(channel, self.height), writer.subtract(row, self.padding[0]))
            start = writer.at(source, dtype, writer.multiply(line, self.width))
            place = writer.add(writer.multiply(channel, self.rows), row)
            copy = writer.at(target, summed_in, writer.multiply(place, self.row))
            for phase in range(self.stride[1]):
                self._copy_phase(writer, (start, dtype), (copy, summed_in), phase)

        if first < stop:
            writer.loop(
                0,
                self.channels,
                1,
                lambda channel: writer.loop(first, stop, 1, lambda row: copy_row(channel, row)),
            )

    def _copy_phase(
        self, writer: Writer, source: tuple[str, str], target: tuple[str, str], phase: int
    ) -> None:
        """The elements of a row at places phase, phase + stride, ... of the padded row."""
        step, before = self.stride[1], self.padding[1]
        first = max(0, -(-(before - phase) // step))
        stop = min(self.phase, -(-(self.width + before - phase) // step))

        def copy(lanes: int, place: Number) -> None:
            index = writer.add(writer.multiply(place, step), phase - before)
            value = writer.load(writer.at(*source, index), source[1], lanes)
            value = cast(writer.code(lanes), source[1], target[1], value)
            there = writer.at(*target, writer.add(place, phase * self.phase))
            writer.store(there, target[1], lanes, value)

        lanes = writer.target.lanes(target[1]) if step == 1 else 1
        whole = first + max(0, stop - first) // lanes * lanes
        writer.loop_if(first, whole, lanes, partial(copy, lanes))
        writer.loop_if(whole, stop, 1, partial(copy, 1))
