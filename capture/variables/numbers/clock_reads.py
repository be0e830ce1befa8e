"""Reads of clocks: `time.time()`, `time.perf_counter()` and their like.

In:  a call of one of them in the frame.
Out: a number that no node of the graph reads (`late_values`). The frame's new code reads the clock: in front
     of the graph if no operation comes before the call in the program, else behind the graph.

    start = time.time(); y = model(x); spent = time.time() - start
        ->   clock_0 = time.time(); y = graph_0(x)[0]; clock_1 = time.time(); spent = clock_1 - clock_0

All reads are made in the order of the program. So a later read is never less than an earlier one, and the
time between two reads has the operations between them. A read between two operations comes behind the graph,
with both of them. What needs the number itself (a decision, a division by it) breaks the graph there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.rules import rule
from capture.variables.numbers.late_values import SAMPLES, LateVariable
from capture_records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from capture.bytecode.dialects import Assembler
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter

SECONDS = (time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time)
NANOSECONDS = (
    time.time_ns,
    time.perf_counter_ns,
    time.monotonic_ns,
    time.process_time_ns,
    time.thread_time_ns,
)


@dataclass(frozen=True)
class Read:
    """`local = function()`, in front of the graph or behind it."""

    local: str
    function: Callable[[], int | float]
    in_front: bool


class ClockVariable(LateVariable):
    """The number that a read gives."""

    def __init__(self, read: Read, kind: type) -> None:
        super().__init__(read.function, [], SAMPLES[kind], None)
        self.read = read

    def describe(self) -> str:
        return f"{self.read.function.__name__}()"

    def reconstruct(self, code: PythonCode) -> None:
        code.load_local(self.read.local)


def _read_clock(function: Any, kind: type) -> Callable[..., Variable]:
    def read_clock(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        if args or kwargs:
            raise GraphBreak("builtin", name=function.__name__, value="arguments that it does not take")
        return ClockVariable(tx.output.inputs.add_clock(function), kind)

    return read_clock


for _function in SECONDS:
    rule(_function)(_read_clock(_function, float))
for _function in NANOSECONDS:
    rule(_function)(_read_clock(_function, int))


def make_reads(code: Assembler, reads: Sequence[Read], in_front: bool) -> None:
    """Emits the reads of one place, in the order of the program."""
    for read in reads:
        if read.in_front is in_front:
            code.load_callable(read.function)
            code.call(0)
            code.store_local(read.local)
