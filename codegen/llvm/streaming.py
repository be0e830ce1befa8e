"""Does a kernel do little but read memory?

In:  a kernel of loop IR.
Out: whether it reduces more than the caches hold with next to no work on each element.

    sum of the rows of 4096 x 2048 f32: 2.0 ms with registers of 64 bytes, 1.8 ms with 32

Such a kernel waits for memory alone, and two loads of half a cache line keep more of it on its way than one of the whole line (measured on Zen; eager's
sums do the same).
"""

from __future__ import annotations

from codegen.ir import Accumulator, Const, Kernel, Load, Loop, Op, Stmt
from codegen.ops import OPS, TORCH_DTYPES

BYTES = 16 << 20  # less may come from the cache
CYCLES = 4  # of work on an element


def only_reads(kernel: Kernel) -> bool:
    accumulators = [s for s in _all(kernel.body) if isinstance(s, Accumulator)]
    work = sum(OPS[s.name].cost for s in _all(kernel.body) if isinstance(s, Op))
    simple = bool(accumulators) and all(a.combine in ("sum", "max", "min") for a in accumulators)
    return simple and work <= CYCLES and _bytes_read(kernel.body) >= BYTES


def _all(body: list[Stmt]) -> list[Stmt]:
    found: list[Stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, Loop):
            found += _all(statement.body)
    return found


def _bytes_read(body: list[Stmt]) -> int:
    """0 for what depends on a size that is not known yet."""
    total = 0
    for statement in body:
        if isinstance(statement, Load):
            total += TORCH_DTYPES[statement.dtype].itemsize
        elif isinstance(statement, Loop) and isinstance(statement.extent, Const):
            total += statement.extent.value * _bytes_read(statement.body)
    return total
