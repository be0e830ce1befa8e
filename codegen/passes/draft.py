"""A kernel before its loops are arranged: statements with the axes they depend on.

In:  `codegen.passes.emit` writes it.
Out: `codegen.passes.axes` splits and merges its axes, `codegen.passes.schedule` makes loops.

    outer (i0)   row statements ..., Phase(axes (r1)): load x[i0*1024 + r1], update max; row statements ..., Phase(...)

Indices are still polynomials (`codegen.index_algebra`), so that axes can be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Union

from codegen import ir
from codegen.index_algebra import Index, Ranges


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


@dataclass(frozen=True, slots=True)
class DraftIndex:
    """The value of an index expression as an i64."""

    number: int
    index: Index


Plain = Union[ir.Op, ir.ConstOp, ir.Check, ir.Accumulator, ir.Update, ir.ReadAccumulator]
Indexed = Union[DraftLoad, DraftStore, DraftIndex]
Statement = Union[Plain, Indexed]
INDEXED = (DraftLoad, DraftStore, DraftIndex)


@dataclass(slots=True)
class Phase:
    """A perfect nest over `axes` inside one iteration of the outer loops."""

    axes: tuple[str, ...]
    body: list[Statement] = field(default_factory=list)

    @property
    def reduces(self) -> bool:
        return any(isinstance(statement, ir.Update) for statement in self.body)


@dataclass(slots=True)
class Draft:
    """`dtypes`: the element type of each value. `buffers`: element type of each buffer, in the order of first use."""

    name: str
    outer: tuple[str, ...]
    ranges: Ranges
    body: list[Statement | Phase] = field(default_factory=list)
    dtypes: dict[int, str] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

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

    def map_indices(self, change: Callable[[Index], Index]) -> None:
        """Replace every index by `change(index)`."""

        def changed(items: list[Statement]) -> list[Statement]:
            return [replace(s, index=change(s.index)) if isinstance(s, INDEXED) else s for s in items]

        body: list[Statement | Phase] = []
        for item in self.body:
            if isinstance(item, Phase):
                item.body = changed(item.body)
                body.append(item)
            else:
                body += changed([item])
        self.body = body
