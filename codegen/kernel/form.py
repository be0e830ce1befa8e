"""The form of a kernel: what it does, without the names of its buffers, sizes and axes.

In:  a Kernel of loop IR.
Out: `KernelForm`. Two kernels with equal `key` do the same, except for some `numbers`. Two kernels with equal
     `whole` have the same text.

    k0: for i_0 in 4096: p0[i_0] = g0[i_0] + 1
    k7: for i_2 in 4096: t3[i_2] = x[i_2] + 1   ->   same `whole`: they are compiled once
    k1: for i_0 in 64: p1[i_0] = g1[i_0] + 1    ->   same `key`, another number: a row of one table
                                                     (`codegen.passes.steps.tables`)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel import ir


def constant_end(index: ir.Expr) -> tuple[ir.Expr, int]:
    """The index without its constant term, and that constant term."""
    if isinstance(index, ir.Const):
        return ir.Const(0), index.value
    if isinstance(index, ir.Binary) and index.op == "add" and isinstance(index.right, ir.Const):
        return index.left, index.right.value
    return index, 0


class KernelForm:
    """`numbers`: constant extents of loops and the constant terms of indices, in the order of the text."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.numbers: list[int] = []
        self._buffers = {buffer.name: place for place, buffer in enumerate(kernel.buffers)}
        self._sizes = {name: place for place, name in enumerate(kernel.sizes)}
        self._axes: dict[str, int] = {}
        kinds = tuple(
            (b.dtype, b.writable, b.alignment, self._buffers.get(b.alias_of or "")) for b in kernel.buffers
        )
        self.key: Any = (kinds, len(kernel.sizes), self._block(kernel.body))
        self._split = self._axes.get(kernel.split or "")

    @property
    def whole(self) -> Any:
        return self.key, tuple(self.numbers), self._split

    def _block(self, body: list[ir.Stmt]) -> tuple[Any, ...]:
        return tuple(_KEYS[type(statement)](self, statement) for statement in body)

    def _loop(self, loop: ir.Loop) -> Any:
        axis = self._axes.setdefault(loop.axis, len(self._axes))
        if isinstance(loop.extent, ir.Const):
            extent = None
            self.numbers.append(loop.extent.value)
        else:
            extent = self._expr(loop.extent)
        return "loop", axis, extent, loop.parallel, loop.vector, loop.unroll, self._block(loop.body)

    def _expr(self, index: ir.Expr) -> Any:
        if isinstance(index, ir.AxisVar):
            return "axis", self._axes[index.name]
        if isinstance(index, ir.Sym):
            return "size", self._sizes[index.name], index.signed
        if isinstance(index, ir.Binary):
            return index.op, self._expr(index.left), self._expr(index.right)
        return index

    def _place(self, buffer: str, index: ir.Expr) -> Any:
        rest, offset = constant_end(index)
        self.numbers.append(offset)
        return self._buffers[buffer], self._expr(rest)

    def _load(self, load: ir.Load) -> Any:
        return load.number, self._place(load.buffer, load.index), load.dtype, load.mask, repr(load.other)

    def _store(self, store: ir.Store) -> Any:
        return self._place(store.buffer, store.index), store.value, store.mask, store.combine


_KEYS: dict[type, Callable[[KernelForm, Any], Any]] = {
    ir.Loop: KernelForm._loop,
    ir.Load: KernelForm._load,
    ir.Store: KernelForm._store,
    ir.IndexOp: lambda shape, s: (s.number, shape._expr(s.index), s.dtype),
    # 0.0 and -0.0 are two constants, nan is one
    ir.ConstOp: lambda shape, s: (s.number, repr(s.value), s.dtype),
    ir.Accumulator: lambda shape, s: (s.name, s.combine, s.dtype, repr(s.init)),
    ir.Op: lambda shape, s: s,
    ir.Check: lambda shape, s: s,
    ir.Update: lambda shape, s: s,
    ir.ScanStep: lambda shape, s: s,
    ir.ReadAccumulator: lambda shape, s: s,
}
