"""The loops of a matrix product around its tiles.

In:  a plan, and `Factors`: how to reach, pack and store elements.
Out: the code of one product.

    for a block of columns:      pack the right factor's columns
      for a block of rows:
        for a block of k:        pack the left factor's block
          for each tile of the block:  sums += left @ right; behind the last k: store

The strip of the right factor stays in the first cache while the tiles go down its columns; the left block
stays in the second. The sums of a block wait in the workspace for those of the next k, so the output is
written once. Sums of short blocks are also more exact than one long chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from codegen.llvm.dense.blocking import Plan, Workspace, block_of, packed
from codegen.llvm.dense.tile import Stream, Sums, Tile
from codegen.llvm.dense.writer import Number, Writer


class Factors(Protocol):
    """What a product reads and writes. Rows, columns and k are numbers from the begin of the product."""

    def left(self, row: Number, k: Number) -> Stream:
        """The left factor where it lies, from that element on."""

    def right(self, k: Number, column: Number) -> Stream:
        """The right factor where it lies, from that element on."""

    def pack_left(self, row: Number, width: int, k: Number, inner: Number, target: str) -> None:
        """Packs `inner` elements of `width` rows."""

    def pack_right(self, column: Number, width: int, target: str) -> None:
        """Packs all elements of `width` columns."""

    def begin(self, sums: Sums, row: Number, column: Number) -> None:
        """Adds the bias to the sums of the first block of k."""

    def store(self, sums: Sums, row: Number, column: Number) -> None:
        """Writes a finished tile to the output."""


class Product:
    """`values`: rows, columns and inner; none of the first two is 0 or less than the tile's."""

    def __init__(
        self,
        writer: Writer,
        plan: Plan,
        factors: Factors,
        values: Mapping[str, Number],
        dtype: str,
        space: Workspace,
    ) -> None:
        self.writer = writer
        self.plan = plan
        self.tile = plan.tile
        self.factors = factors
        self.rows, self.columns, self.inner = values["rows"], values["columns"], values["inner"]
        self.dtype = dtype
        self.packed_left = writer.at("%workspace", dtype, space.left)
        self.packed_right = writer.at("%workspace", dtype, space.right)
        self.waiting = writer.at("%workspace", dtype, space.sums)
        self.block = block_of(writer, self.inner)
        self.in_blocks = self.block != self.inner
        self.packs_left, self.packs_right = packed(writer, plan, values)
        #: the last one, of one vector, where no more columns are left
        self.tiles = [self.tile]
        if self.tile.vectors > 1 and isinstance(self.columns, str):
            self.tiles.append(Tile(self.tile.rows, 1, self.tile.lanes))
        self.sums = {tile: Sums(writer, tile, dtype) for tile in self.tiles}

    def emit(self) -> None:
        self.writer.loop(0, self.columns, self.plan.columns, self._columns)

    def _columns(self, start: Number) -> None:
        """A block of columns."""
        writer, tile = self.writer, self.tile
        stop = writer.least(writer.add(start, self.plan.columns), self.columns)

        def pack_strip(column: Number) -> None:
            place = writer.multiply(writer.subtract(column, start), self.inner)
            moved = self._inside(column, tile.columns, self.columns)
            target = writer.at(self.packed_right, self.dtype, place)
            self.factors.pack_right(moved, tile.columns, target)

        writer.when(self.packs_right, lambda: writer.loop(start, stop, tile.columns, pack_strip))
        writer.loop(0, self.rows, self.plan.rows, lambda row: self._rows(row, start, stop))

    def _rows(self, start: Number, first_column: Number, last_column: Number) -> None:
        """A block of rows of a block of columns."""
        stop = self.writer.least(self.writer.add(start, self.plan.rows), self.rows)
        inner, block = (self.inner, self.block) if self.in_blocks else (1, 1)
        columns = (first_column, last_column)
        self.writer.loop(0, inner, block, lambda k: self._inner((start, stop), columns, k))

    def _inner(self, rows: tuple[Number, Number], columns: tuple[Number, Number], k: Number) -> None:
        """A block of k of these rows and columns."""
        writer, tile = self.writer, self.tile
        count = writer.least(self.block, writer.subtract(self.inner, k)) if self.in_blocks else self.inner

        def pack_strip(row: Number) -> None:
            place = writer.multiply(writer.subtract(row, rows[0]), count)
            moved = self._inside(row, tile.rows, self.rows)
            target = writer.at(self.packed_left, self.dtype, place)
            self.factors.pack_left(moved, tile.rows, k, count, target)

        writer.when(self.packs_left, lambda: writer.loop(*rows, tile.rows, pack_strip))
        writer.loop(
            *columns,
            tile.columns,
            lambda column: writer.loop(
                *rows, tile.rows, lambda row: self._tile(row, column, (rows[0], columns[0]), k, count)
            ),
        )

    def _inside(self, start: Number, width: int, size: Number) -> Number:
        """The begin of a tile that would reach over the edge, moved back."""
        if isinstance(size, int) and size % width == 0:
            return start
        return self.writer.least(start, self.writer.subtract(size, width))

    def _tile(
        self, row: Number, column: Number, block: tuple[Number, Number], k: Number, count: Number
    ) -> None:
        """The sums of one tile over `count` k."""
        left = self.writer.subtract(self.columns, column)

        def by(first: Tile, *smaller: Tile) -> None:
            def here() -> None:
                self._by_tile(first, row, column, block, k, count)

            fits = [self.writer.holds("sge", tile.columns, left) for tile in smaller]
            self.writer.when(fits[0], lambda: by(*smaller), here) if smaller else here()

        by(*self.tiles)

    def _by_tile(
        self, tile: Tile, row: Number, column: Number, block: tuple[Number, Number], k: Number, count: Number
    ) -> None:
        writer, sums = self.writer, self.sums[tile]
        down, right = writer.subtract(row, block[0]), writer.subtract(column, block[1])
        place = writer.add(
            writer.multiply(right, writer.rounded_up(writer.least(self.rows, self.plan.rows), tile.rows)),
            writer.multiply(down, self.tile.columns),
        )
        waiting = writer.at(self.waiting, self.dtype, place)
        moved = (self._inside(row, tile.rows, self.rows), self._inside(column, tile.columns, self.columns))
        sums.clear()
        sums.add_products(self._left(moved[0], down, k, count), self._right(moved[1], right, k, tile), count)
        if not self.in_blocks:
            self.factors.begin(sums, *moved)
            self.factors.store(sums, *moved)
            return
        first = writer.holds("eq", k, 0)
        writer.when(first, lambda: self.factors.begin(sums, *moved), lambda: sums.add(waiting))
        last = writer.holds("sge", writer.add(k, self.block), self.inner)
        writer.when(last, lambda: self.factors.store(sums, *moved), lambda: sums.store(waiting))

    def _left(self, row: Number, down: Number, k: Number, count: Number) -> Stream:
        place = self.writer.multiply(down, count)
        strip = Stream(self.writer.at(self.packed_left, self.dtype, place), 1, self.tile.rows)
        return self._chosen(self.packs_left, strip, lambda: self.factors.left(row, k))

    def _right(self, column: Number, right: Number, k: Number, tile: Tile) -> Stream:
        """A smaller tile has the last columns of a strip."""
        writer, before = self.writer, self.tile.columns - tile.columns
        place = writer.add(writer.multiply(right, self.inner), writer.multiply(k, self.tile.columns))
        place = writer.add(place, before)
        strip = Stream(writer.at(self.packed_right, self.dtype, place), 1, self.tile.columns)
        return self._chosen(self.packs_right, strip, lambda: self.factors.right(k, column))

    def _chosen(self, packed: bool | str, strip: Stream, in_place: Callable[[], Stream]) -> Stream:
        if packed is True:
            return strip
        other = in_place()
        return Stream(
            self.writer.choose_pointer(packed, strip.pointer, other.pointer),
            self.writer.choose(packed, strip.across, other.across),
            self.writer.choose(packed, strip.along, other.along),
        )
