"""The grain of a kernel: is it worth several threads?

In:  loop IR, sizes as numbers.
Out: an estimate of its time on one thread; from that, how many iterations of the axis that is divided are
     worth a thread.

    for i in 1_000_000: load x[i]; exp; store out[i]   ->   56 units an iteration, 175 us   ->   parts of at
        least 17_857 iterations

Measured (AVX-512, two cores, best of many calls): a region whose threads are still awake from the last one
costs 2 us, so x + y gains from some 10 us on. A thread that sleeps takes 10 to 50 us to wake, on a machine
whose cores are busy a whole slice of its scheduler: 4 to 40 ms. Eager takes that risk for every operation on
`EAGER_ELEMENTS` and more. So a kernel over as many elements is divided once it gains with threads that are
awake: there are no more regions than in eager. On fewer elements eager has one thread, and a kernel has to be
worth more.

The estimate is of a quick processor with the data in its cache: 0.6 to 1 of what was measured for most
kernels, so that what is in doubt runs on one thread. That a kernel may be divided costs it nothing on one
thread (0.97 to 1.03 of the time in 70 kernels of `benchmarks.kernel_cases`). All of it is arithmetic of ints
without comparisons: a plan for sizes that are open (`codegen.kernel.open_numbers`) is one for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel import ir
from codegen.kernel.ops import OPS, TORCH_DTYPES

# The unit is some 3 ps: what a byte takes from the cache. A cycle has 64 of them; an operation of a vector
# has a 16th of its cycles for each element.
CYCLE = 64
LANES = 16
PART = 1_000_000  # the least work that a thread gets: 3 us, of most kernels 5
EAGER_ELEMENTS = 1 << 15  # at::internal::GRAIN_SIZE
ASLEEP = 7  # times more where eager would not have woken the threads: 25 us

Number = Callable[[ir.Expr], Any]


def grain_of(kernel: ir.Kernel, extent: Any, number: Number) -> Any:
    """The iterations of the shortest part, where `extent` of them do all the work. `number` gives the value
    of a size.
    """
    return extent * _part(elements_of(kernel, number)) // (work_of(kernel, number) + 1) + 1


def grain_of_rows(work: list[Any], elements: Any) -> Any:
    """The fewest rows of a table that are worth a thread, from the work of each. `elements`: of the largest
    row.
    """
    return len(work) * _part(elements) // (sum(work) + 1) + 1


def may_pay(kernel: ir.Kernel) -> bool:
    """Whether there is work enough for two threads, as far as that is known before the sizes are."""

    def number(size: ir.Expr) -> int:
        return size.value if isinstance(size, ir.Const) else 1 << 40

    return bool(work_of(kernel, number) >= 2 * _part(elements_of(kernel, number)))


def _part(elements: Any) -> Any:
    """The least work that is worth a thread."""
    missing = EAGER_ELEMENTS // (elements + 1)
    return PART * (1 + ASLEEP * (2 * missing // (missing + 1)))  # the last factor is 0 for 0, else 1


def elements_of(kernel: ir.Kernel, number: Number) -> Any:
    """The iterations of the longest nest of loops: the elements of the largest operand."""
    return _elements(kernel.body, number)


def _elements(body: list[ir.Stmt], number: Number) -> Any:
    loops = [statement for statement in body if isinstance(statement, ir.Loop)]
    return max((_elements(loop.body, number) * _iterations(loop.extent, number) for loop in loops), default=1)


def work_of(kernel: ir.Kernel, number: Number) -> Any:
    """In units."""
    return _work(kernel.body, {buffer.name: buffer.dtype for buffer in kernel.buffers}, number, CYCLE)


def _work(body: list[ir.Stmt], dtypes: dict[str, str], number: Number, cycle: int) -> Any:
    total: Any = 0
    for statement in body:
        if isinstance(statement, ir.Loop):
            inner = _work(statement.body, dtypes, number, CYCLE // LANES if statement.vector else cycle)
            total = total + inner * _iterations(statement.extent, number)
        elif isinstance(statement, ir.Op):
            total += OPS[statement.name].cost * cycle
        elif isinstance(statement, (ir.Update, ir.ScanStep)):
            total += cycle
        elif isinstance(statement, (ir.Load, ir.Store)):
            total += cycle + TORCH_DTYPES[dtypes[statement.buffer]].itemsize
    return total


def _iterations(extent: ir.Expr, number: Number) -> Any:
    """Of a block whose last one is shorter (min(block, what is left)): those of a whole block."""
    if isinstance(extent, ir.Binary) and extent.op == "min":
        return min(_iterations(side, number) for side in (extent.left, extent.right) if not _varies(side))
    return number(extent)


def _varies(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Binary):
        return _varies(expr.left) or _varies(expr.right)
    return isinstance(expr, (ir.AxisVar, ir.Indirect))
