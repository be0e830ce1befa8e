"""The grain of a kernel: whether several threads pay off, and how long each part must be.

In:  loop IR, sizes as numbers.
Out: an estimate of the time on one thread. It gives the number of iterations of the divided axis that one
     thread must have at least.

    for i in 1_000_000: load x[i]; exp; store out[i]
        ->   56 units an iteration, 175 us   ->   parts of at least 17_857 iterations

Measured with AVX-512 on two cores, best of many calls. A parallel region costs 2 us while the threads are
still awake from the last one, so x + y gains from about 10 us on. A sleeping thread takes 10 to 50 us to
wake. On a machine with busy cores it takes a whole time slice of the scheduler: 4 to 40 ms. Eager takes that
risk for every operation on `EAGER_ELEMENTS` or more. So we divide a kernel over that many elements as soon as
it gains with awake threads. Then a graph has no more parallel regions than eager has. On fewer elements eager
uses one thread, and a kernel needs more work before we divide it.

The estimate assumes a fast processor with the data in its cache. For most kernels it is 0.6 to 1 of the
measured time, so a doubtful kernel runs on one thread. A kernel that can be divided is not slower on one
thread (0.97 to 1.03 of the time, in 70 kernels of `benchmarks.kernel_cases`). The estimate is int arithmetic
without comparisons. So one plan for open sizes (`codegen.kernel.open_numbers`) holds for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel import ir
from codegen.kernel.ops import OPS, TORCH_DTYPES

# The unit is about 3 ps: the time to read a byte from the cache. A cycle has 64 units. An operation of a
# vector loop takes a 16th of its cycles for each element.
CYCLE = 64
LANES = 16
PART = 1_000_000  # the least work of a thread: estimated as 3 us, in most kernels it takes 5
EAGER_ELEMENTS = 1 << 15  # at::internal::GRAIN_SIZE
ASLEEP = 7  # a thread needs this many times more work where eager would not wake the threads: 25 us

Number = Callable[[ir.Expr], Any]


def grain_of(kernel: ir.Kernel, extent: Any, number: Number) -> Any:
    """The least number of iterations of a part. All `extent` iterations do the whole work.

    `number` gives the value of a size.
    """
    return extent * _part(elements_of(kernel, number)) // (work_of(kernel, number) + 1) + 1


def grain_of_rows(work: list[Any], elements: Any) -> Any:
    """The least rows of a table for one thread. `work`: of each row. `elements`: of the largest row."""
    return len(work) * _part(elements) // (sum(work) + 1) + 1


def may_pay(kernel: ir.Kernel) -> bool:
    """Whether the work may be enough for two threads. Unknown sizes count as large."""

    def number(size: ir.Expr) -> int:
        return size.value if isinstance(size, ir.Const) else 1 << 40

    return bool(work_of(kernel, number) >= 2 * _part(elements_of(kernel, number)))


def _part(elements: Any) -> Any:
    """The least work of a thread."""
    missing = EAGER_ELEMENTS // (elements + 1)
    return PART * (1 + ASLEEP * (2 * missing // (missing + 1)))  # the last factor is 0 for 0, else 1


def elements_of(kernel: ir.Kernel, number: Number) -> Any:
    """The iterations of the longest nest of loops: the elements of the largest operand."""
    return _elements(kernel.body, number)


def _elements(body: list[ir.Stmt], number: Number) -> Any:
    loops = [statement for statement in body if isinstance(statement, ir.Loop)]
    return max((_elements(loop.body, number) * iterations(loop.extent, number) for loop in loops), default=1)


def work_of(kernel: ir.Kernel, number: Number) -> Any:
    """The work of the whole kernel, in units."""
    return _work(kernel.body, {buffer.name: buffer.dtype for buffer in kernel.buffers}, number, CYCLE)


def _work(body: list[ir.Stmt], dtypes: dict[str, str], number: Number, cycle: int) -> Any:
    total: Any = 0
    for statement in body:
        if isinstance(statement, ir.Loop):
            inner = _work(statement.body, dtypes, number, CYCLE // LANES if statement.vector else cycle)
            total = total + inner * iterations(statement.extent, number)
        elif isinstance(statement, ir.Op):
            total += OPS[statement.name].cost * cycle
        elif isinstance(statement, (ir.Update, ir.ScanStep)):
            total += cycle
        elif isinstance(statement, (ir.Load, ir.Store)):
            total += cycle + TORCH_DTYPES[dtypes[statement.buffer]].itemsize
    return total


def iterations(extent: ir.Expr, number: Number) -> Any:
    """The iterations of a loop. A loop over blocks (min(block, rest)) counts as a whole block."""
    if isinstance(extent, ir.Binary) and extent.op == "min":
        return min(iterations(side, number) for side in (extent.left, extent.right) if not _varies(side))
    return number(extent)


def _varies(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Binary):
        return _varies(expr.left) or _varies(expr.right)
    return isinstance(expr, (ir.AxisVar, ir.Indirect))
