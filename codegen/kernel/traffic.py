"""The traffic of a kernel, counted from its loops.

In:  loop IR with sizes as numbers.
Out: the buffers whose bytes the kernel moves, and the number of its operations on floats.

    for i in 1000: load x[i]; mul; exp; store out[i]   ->   [x, out], 2000
"""

from __future__ import annotations

from collections.abc import Mapping

from codegen.kernel import ir
from codegen.kernel.ops import FLOATS

NO_SIZES: Mapping[str, ir.Expr] = {}


def buffers_moved(kernel: ir.Kernel) -> list[str]:
    """Each buffer once for its loads and once for its stores.

    A buffer that the kernel stores before it loads is its own scratch memory and does not count.
    """
    loaded, stored, scratch = dict[str, None](), dict[str, None](), set[str]()
    _walk(kernel.body, loaded, stored, scratch)
    return [name for name in (*loaded, *stored) if name not in scratch]


def _walk(body: list[ir.Stmt], loaded: dict[str, None], stored: dict[str, None], scratch: set[str]) -> None:
    for statement in body:
        if isinstance(statement, ir.Loop):
            _walk(statement.body, loaded, stored, scratch)
        elif isinstance(statement, ir.Store):
            stored[statement.buffer] = None
        elif isinstance(statement, ir.Load):
            if statement.buffer in stored and statement.buffer not in loaded:
                scratch.add(statement.buffer)
            loaded[statement.buffer] = None


def flops_of(body: list[ir.Stmt], sizes: Mapping[str, ir.Expr] = NO_SIZES) -> int | None:
    """The number of operations and updates of float type. None where a size is known only at run time.

    `sizes`: the sizes of the kernel.
    """
    total = 0
    dtypes: dict[int, str] = {}
    for statement in body:
        if isinstance(statement, ir.Loop):
            inner, extent = flops_of(statement.body, sizes), statement.extent
            if isinstance(extent, ir.Sym):
                extent = sizes.get(extent.name, extent)
            if inner is None or not isinstance(extent, ir.Const):
                return None
            total += inner * extent.value
        elif isinstance(statement, ir.Op):
            total += statement.dtype in FLOATS and statement.name not in ("cast", "where")
        elif isinstance(statement, ir.Update):
            total += dtypes.get(statement.value, "f32") in FLOATS
        elif isinstance(statement, ir.ScanStep):
            total += statement.dtype in FLOATS
        if isinstance(statement, (ir.Op, ir.Load, ir.ConstOp, ir.IndexOp)):
            dtypes[statement.number] = statement.dtype
    return total
