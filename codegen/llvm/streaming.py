"""Kernels that wait for memory.

In:  a kernel of loop IR.
Out: whether it reduces more than the caches hold with almost no work on each element; what to prefetch before
     it is gathered; which results bypass the caches.

    sum of the rows of 4096 x 2048 f32: 2.0 ms with registers of 64 bytes, 1.8 ms with 32
    gather in the rows of 2048 x 1024 f32: 3.1 ms; 2.0 ms if the next row is prefetched meanwhile
    x * y of 4 million f32, memory that is mapped already: 2.5 ms; 1.6 ms if the result bypasses the caches
    x * y of 16 million f32, new memory: 15.9 ms and 14.3 ms

A kernel that only reads waits for memory alone. Two loads of half a cache line keep more memory requests in
flight than one load of the whole line (measured on Zen; eager's sums do the same). If a row is read at
scattered places, the processor does not see that the next row follows. A store first reads its cache line,
unless the store bypasses the caches. A result of this size has left the caches anyway before anybody reads
it.
"""

from __future__ import annotations

from codegen.kernel.ir import (
    Accumulator,
    AxisVar,
    Const,
    Expr,
    Indirect,
    Kernel,
    Load,
    Loop,
    Op,
    Stmt,
    Store,
    add,
    mul,
)
from codegen.kernel.ops import OPS, TORCH_DTYPES
from codegen.llvm.index import terms_of

BYTES = 16 << 20  # fewer bytes may come from the cache
CYCLES = 4  # of work on an element
ROWS_BYTES = 1 << 20  # size of the gathered tensor; a smaller one is in the cache after the first call
LINE = 64  # bytes of a cache line
RESULT_BYTES = 16 << 20  # of a result that bypasses the caches (measured with caches of 32 MiB)
RUN_BYTES = 2048  # contiguous bytes that such a loop writes: tiles of a transposed copy took twice as long


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
    """The number of bytes; 0 if it depends on a size that is not known yet."""
    total = 0
    for statement in body:
        if isinstance(statement, Load):
            total += TORCH_DTYPES[statement.dtype].itemsize
        elif isinstance(statement, Loop) and isinstance(statement.extent, Const):
            total += statement.extent.value * _bytes_read(statement.body)
    return total


def written_past_caches(kernel: Kernel) -> set[str]:
    """Buffers of at least that many bytes that the kernel only writes, each element by itself."""
    names = {buffer.name: buffer.alias_of or buffer.name for buffer in kernel.buffers}
    stores = [s for s in _all(kernel.body) if isinstance(s, Store)]
    spared = {names[s.buffer] for s in _all(kernel.body) if isinstance(s, Load)}
    spared |= {names[s.buffer] for s in stores if s.mask is not None or s.combine is not None}
    sizes = {buffer.name: TORCH_DTYPES[buffer.dtype].itemsize for buffer in kernel.buffers}
    return {
        name
        for name in {s.buffer for s in stores}
        if names[name] not in spared and sizes[name] * _stores_to(name, kernel.body) >= RESULT_BYTES
    }


def _stores_to(name: str, body: list[Stmt]) -> int:
    """The number of stores; 0 if it depends on a size that is not known yet."""
    total = 0
    for statement in body:
        if isinstance(statement, Store):
            total += statement.buffer == name
        elif isinstance(statement, Loop) and isinstance(statement.extent, Const):
            total += statement.extent.value * _stores_to(name, statement.body)
    return total


def rows_ahead(kernel: Kernel) -> dict[int, Expr]:
    """The loads that gather within a row, by number: each with the place in the next row to prefetch."""
    found: dict[int, Expr] = {}
    pending: list[tuple[list[Stmt], list[Loop]]] = [(kernel.body, [])]
    while pending:
        body, around = pending.pop()
        for loop in body:
            if isinstance(loop, Loop):
                pending.append((loop.body, [*around, loop]))
                if loop.vector and around:
                    loads = [statement for statement in loop.body if isinstance(statement, Load)]
                    places = {load.number: _next_row(load, loop, around) for load in loads}
                    found.update((number, place) for number, place in places.items() if place is not None)
    return found


def _next_row(load: Load, columns: Loop, around: list[Loop]) -> Expr | None:
    rows, size = around[-1], TORCH_DTYPES[load.dtype].itemsize
    computed = {s.number for s in columns.body if isinstance(s, (Op, Load))}
    place: Expr = Const(0)
    gathered, length = False, 0
    for term in terms_of(load.index):
        inside = isinstance(term.atom, Indirect) and term.atom.value in computed
        if inside and not gathered and term.factor == Const(1):
            gathered, place = True, add(place, AxisVar(columns.axis))
            continue
        if not isinstance(term.atom, AxisVar | None) or term.atom == AxisVar(columns.axis):
            return None
        if term.atom == AxisVar(rows.axis) and isinstance(term.factor, Const):
            length = term.factor.value
            place = add(place, term.factor)
        place = add(place, term.factor if term.atom is None else mul(term.factor, term.atom))
    extents = [loop.extent.value for loop in (*around, columns) if isinstance(loop.extent, Const)]
    if not gathered or length * size < LINE or len(extents) <= len(around):
        return None
    total = length * size
    for extent in extents[:-1]:
        total *= extent
    return place if 2 * extents[-1] >= length and total >= ROWS_BYTES else None
