"""Loops that add up many floats.

In:  a loop whose body updates `sum` accumulators of floats.
Out: the loop in a cascade: each run of 16 iterations adds to the accumulator's slot, which is then added to a
     total; each 16 of these runs have a total of their own, and so on.

    for r in 5000: s += x[r]
    ->  for a in 0, 256, ...: {
            for b in a, a + 16, ... a + 256: { for r in b .. b + 16: s += x[r];  t += s;  s = 0 };
            u += t;  t = 0 }
        s = u

The error of one running sum of n terms grows with n. Each level of the cascade adds the error of 16 terms, as
in eager's cascade.
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.kernel.ir import Accumulator, Stmt, Update
from codegen.llvm.blocks import Bound, run_loop
from codegen.llvm.emitter import Emitter
from codegen.llvm.types import FLOATS
from codegen.llvm.values import Code

RUN = 16  # terms that are added up in a row
SHORT = 2 * RUN  # as many make no further level
LEVELS = 3  # of a loop whose length is not known

Slot = tuple[str, int, str]  # dtype, lanes, the stack slot


def sum_slots(emitter: Emitter, body: list[Stmt], lanes: int, copies: int) -> list[Slot]:
    """The slots of float sums that the statements of `body` themselves (not loops in it) add to.

    A sum in double precision of partial sums in single precision is exact enough without blocks.
    """
    own = {statement.name: statement.dtype for statement in body if isinstance(statement, Accumulator)}
    names = {statement.accumulator for statement in body if isinstance(statement, Update)} - set(own)
    slots = []
    for name in sorted(names):
        state = emitter.accumulators[name]
        dtype = state.accumulator.dtype
        widened = dtype == "f64" and set(own.values()) == {"f32"}
        if state.accumulator.combine == "sum" and dtype in FLOATS and not widened:
            slots += [(dtype, lanes, state.slots[lanes, copy][0]) for copy in range(copies)]
    return slots


def run_summing_loop(
    emitter: Emitter,
    start: Bound,
    stop: Bound,
    step: int,
    body: Callable[[str, int], None],
    slots: list[Slot],
    most: int | None = None,
) -> None:
    """As `run_loop`, but in a cascade if there are slots and the loop is, or may be, long.

    `most`: an upper bound of `stop`.
    """
    last = stop if isinstance(stop, int) else most
    count = (last - start) // step if isinstance(start, int) and last is not None else None
    _run_cascade(emitter, start, stop, step, body, slots, _levels(count) if slots else 0)


def _levels(count: int | None) -> int:
    """The levels above the runs of a loop of that many iterations."""
    if count is None:
        return LEVELS
    return 0 if count <= SHORT else 1 + _levels(-(-count // RUN))


def _run_cascade(
    emitter: Emitter,
    start: Bound,
    stop: Bound,
    step: int,
    body: Callable[[str, int], None],
    slots: list[Slot],
    levels: int,
    *,
    nonempty: bool = False,
) -> None:
    if levels == 0:
        run_loop(emitter, start, stop, step, body, nonempty=nonempty)
        return
    totals = [(dtype, lanes, slot, _total_of(emitter, dtype, lanes, slot)) for dtype, lanes, slot in slots]
    size = step * RUN**levels

    def part(text: str, offset: int) -> None:
        code = Code(emitter.function, emitter.target, emitter.function.depth, 1)
        full = code.binary("add nsw", "i64", text, str(offset + size))
        end = code.intrinsic("smin", "i64", full, str(stop))
        _run_cascade(emitter, text, end, step, body, slots, levels - 1, nonempty=True)
        for dtype, lanes, slot, total in totals:
            _move(emitter, dtype, lanes, slot, total)

    run_loop(emitter, start, stop, size, part, nonempty=nonempty)
    for dtype, lanes, slot, total in totals:
        _store(emitter, dtype, lanes, slot, _load(emitter, dtype, lanes, total))


def _code(emitter: Emitter, lanes: int) -> Code:
    return Code(emitter.function, emitter.target, emitter.function.depth, lanes)


def _load(emitter: Emitter, dtype: str, lanes: int, slot: str) -> str:
    return emitter.function.define_here(f"load {_code(emitter, lanes).type(dtype)}, ptr {slot}, align 64")


def _store(emitter: Emitter, dtype: str, lanes: int, slot: str, text: str) -> None:
    emitter.function.line(f"store {_code(emitter, lanes).type(dtype)} {text}, ptr {slot}, align 64")


def _total_of(emitter: Emitter, dtype: str, lanes: int, slot: str) -> str:
    """A new slot with the value of `slot`; `slot` becomes 0."""
    total = emitter.function.stack_slot(_code(emitter, lanes).type(dtype))
    _store(emitter, dtype, lanes, total, _load(emitter, dtype, lanes, slot))
    _store(emitter, dtype, lanes, slot, _code(emitter, lanes).constant(dtype, 0))
    return total


def _move(emitter: Emitter, dtype: str, lanes: int, slot: str, total: str) -> None:
    """total += slot; slot = 0"""
    before, partial = _load(emitter, dtype, lanes, total), _load(emitter, dtype, lanes, slot)
    _store(emitter, dtype, lanes, total, _code(emitter, lanes).binary("fadd", dtype, before, partial))
    _store(emitter, dtype, lanes, slot, _code(emitter, lanes).constant(dtype, 0))
