"""Packing: strips of a factor in the order in which a tile reads them.

In:  a strip: `width` rows of the left factor, or columns of the right one, and `inner` elements of each.
Out: `inner` groups of `width` elements, dense, in the element type of the sums.

    width 2:  a0 a1 a2    ->   a0 b0 a1 b1 a2 b2
              b0 b1 b2

Where the elements of a group lie side by side they are copied as vectors. Where those of a row do, square
blocks are transposed in registers.
"""

from __future__ import annotations

from capture_records import dataclass
from codegen.llvm.casts import cast
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.types import register_type


@dataclass(frozen=True, slots=True)
class Strip:
    """`pointer` to its first element, `across` from one of the `width` to the next, `along` to the next k."""

    pointer: str
    dtype: str
    width: int
    across: Number
    along: Number
    inner: Number


def pack(writer: Writer, strip: Strip, target: str, dtype: str) -> None:
    """Writes the strip to `target` as elements of `dtype`, and perhaps the rest of a vector behind it."""
    lanes = _square(writer, dtype)

    def one_by_one(start: Number = 0) -> None:
        writer.loop_if(start, strip.inner, 1, lambda k: _group(writer, strip, target, dtype, k))

    def transposed() -> None:
        whole = writer.multiply(writer.quotient(strip.inner, lanes), lanes)
        writer.loop_if(0, whole, lanes, lambda k: _transposed_block(writer, strip, target, dtype, k))
        one_by_one(whole)

    def not_side_by_side() -> None:
        if lanes == 1 or strip.width == 1:
            one_by_one()
        else:
            writer.when(writer.holds("eq", strip.along, 1), transposed, one_by_one)

    def copied() -> None:
        writer.loop_if(0, strip.inner, 1, lambda k: _copied_group(writer, strip, target, dtype, k))

    writer.when(writer.holds("eq", strip.across, 1), copied, not_side_by_side)


def _group(writer: Writer, strip: Strip, target: str, dtype: str, k: Number) -> None:
    def element(number: Number) -> None:
        source = writer.add(writer.multiply(k, strip.along), writer.multiply(number, strip.across))
        value = _read(writer, strip, source, 1, dtype)
        writer.store(writer.at(target, dtype, _place(writer, strip, k, number)), dtype, 1, value)

    writer.loop(0, strip.width, 1, element)


def _copied_group(writer: Writer, strip: Strip, target: str, dtype: str, k: Number) -> None:
    number = 0
    while number < strip.width:
        lanes = writer.target.lanes(dtype)
        while lanes > strip.width - number:
            lanes //= 2
        value = _read(writer, strip, writer.add(writer.multiply(k, strip.along), number), lanes, dtype)
        writer.store(writer.at(target, dtype, _place(writer, strip, k, number)), dtype, lanes, value)
        number += lanes


def _square(writer: Writer, dtype: str) -> int:
    """Rows of a block that is transposed. LLVM takes long for the shuffles of larger ones."""
    return min(8, writer.target.lanes(dtype))


def _transposed_block(writer: Writer, strip: Strip, target: str, dtype: str, k: Number) -> None:
    """As many groups as a square has rows. A vector that reaches into the next group is stored before it."""
    lanes = _square(writer, dtype)

    def square(first: Number, count: int) -> None:
        rows = []
        for number in range(count):
            place = writer.add(writer.multiply(writer.add(first, number), strip.across), k)
            rows.append(_read(writer, strip, place, lanes, dtype))
        rows += rows[-1:] * (lanes - count)
        for step, group in enumerate(transpose(writer, dtype, rows)):
            place = _place(writer, strip, writer.add(k, step), first)
            writer.store(writer.at(target, dtype, place), dtype, lanes, group)

    whole = strip.width // lanes * lanes
    if whole < strip.width:
        square(whole, strip.width - whole)
    if whole:
        writer.loop(0, whole, lanes, lambda first: square(first, lanes))


def _place(writer: Writer, strip: Strip, k: Number, number: Number) -> Number:
    return writer.add(writer.multiply(k, strip.width), number)


def _read(writer: Writer, strip: Strip, index: Number, lanes: int, dtype: str) -> str:
    value = writer.load(writer.at(strip.pointer, strip.dtype, index), strip.dtype, lanes)
    return cast(writer.code(lanes), strip.dtype, dtype, value)


def transpose(writer: Writer, dtype: str, rows: list[str]) -> list[str]:
    """The columns of a square of vectors: log2(n) rounds that each exchange halves of two rows."""
    count = len(rows)
    kind = register_type(dtype, count)
    half = count // 2
    while half:
        exchanged = list(rows)
        for first in range(count):
            if first & half:
                continue
            for result, place in ((first, 0), (first + half, half)):
                lanes = [(lane & ~half | place) + (count if lane & half else 0) for lane in range(count)]
                mask = ", ".join(f"i32 {lane}" for lane in lanes)
                exchanged[result] = writer.define(
                    f"shufflevector {kind} {rows[first]}, {kind} {rows[first + half]}, "
                    f"<{count} x i32> <{mask}>"
                )
        rows = exchanged
        half //= 2
    return rows
