"""A convolution with one input channel a group: sums in registers, straight from the copy of the image.

In:  the taps of one group.
Out: code that writes its output channels.

    for each output row, vector of columns:   sum of kernel[y, x] * copy[tap(y, x) + place]
"""

from __future__ import annotations

from codegen.llvm.dense.taps import Taps
from codegen.llvm.dense.tile import multiply_add
from codegen.llvm.dense.writer import Number
from codegen.llvm.types import constant, register_type

_VECTORS = 4  # neighbouring vectors share the loads of the kernel


def emit_depthwise(taps: Taps) -> None:
    """Writes the output channels of one group."""
    writer, image = taps.writer, taps.image
    height, width = image.output
    lanes = taps.lanes(1 << 16)
    vectors = min(_VECTORS, width // lanes)
    columns = lanes * vectors

    def tile(channel: Number, row: Number, column: Number) -> None:
        if width % columns:
            column = writer.least(column, width - columns)
        place = image.place(writer, row, column)
        sums = _sums(taps, channel, place, lanes, vectors)
        output = writer.add(writer.multiply(row, width), column)
        for number, value in enumerate(sums):
            there = writer.add(output, number * lanes)
            taps.store_vector(taps.with_bias(value, channel, there, lanes), channel, there, lanes)

    def channel_of(channel: Number) -> None:
        writer.loop(
            0,
            height,
            1,
            lambda row: writer.loop(0, width, columns, lambda column: tile(channel, row, column)),
        )

    writer.loop(0, taps.values["rows"], 1, channel_of)


def _sums(taps: Taps, channel: Number, place: Number, lanes: int, vectors: int) -> list[str]:
    writer, image, dtype = taps.writer, taps.image, taps.form.summed_in
    kind = register_type(dtype, lanes)
    zero = constant(dtype, 0, lanes)
    slots = [writer.variable(kind, zero) for _ in range(vectors)]

    def kernel_row(y: Number) -> None:
        for x in range(image.kernel[1]):
            element = taps.kernel_element(channel, writer.add(writer.multiply(y, image.kernel[1]), x), lanes)
            for number, slot in enumerate(slots):
                there = writer.add(image.tap(writer, 0, y, x), writer.add(place, number * lanes))
                value = writer.load(writer.at(taps.copy, dtype, there), dtype, lanes)
                total = multiply_add(writer, dtype, lanes, element, value, writer.get(kind, slot))
                writer.set(kind, slot, total)

    writer.loop(0, image.kernel[0], 1, kernel_row)
    return [writer.get(kind, slot) for slot in slots]
