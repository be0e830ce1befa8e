"""What a trace costs: `python -m benchmarks.tracing`.

In:  nothing.
Out: for a GPT (forward), a U-Net and a function in three pieces: the share of a capture that is spent on
     events, without a trace (counters and logs) and with one (the recorder); the time of a capture with a
     trace, beside the same capture without one, in turns; the memory of Python objects at the peak. Medians.
     The begin and the end of the trace are not in the times.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

import capture
from benchmarks.measure import Targets, header
from benchmarks.programs.generative import DiffusionUNet
from benchmarks.programs.language import GPT, GPTConfig
from capture.report import observe
from capture.tracing.trace_file import TraceFile
from codegen.kernel import events

TURNS = 11
TARGET, TARGET_OFF = 0.10, 0.01  # more than a capture


def pieces(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    capture.graph_break("one")
    z = (y + x).relu()
    capture.graph_break("two")
    return (z - y).sum()


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    return {
        "GPT of 4 layers": (GPT(GPTConfig()).eval(), (torch.randint(65, (2, 16)),)),
        "U-Net": (DiffusionUNet().eval(), (torch.randn(1, 1, 28, 28), torch.zeros(1))),
        "three pieces": (pieces, (torch.randn(100),)),
    }


class Clock:
    """Adds up the processor time of the calls of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.seconds = 0.0

    def __call__(self, *args: Any) -> None:
        started = time.process_time()
        self.function(*args)
        self.seconds += time.process_time() - started


@contextlib.contextmanager
def clock_of_listener() -> Iterator[Clock]:
    clock = Clock(observe._listener)
    with mock.patch.object(observe, "_listener", clock), mock.patch.object(events, "listener", clock):
        yield clock


@contextlib.contextmanager
def clock_of_recorder() -> Iterator[Clock]:
    clock = Clock(TraceFile.record)
    with mock.patch.object(TraceFile, "record", lambda self, event: clock(self, event)):
        yield clock


@contextlib.contextmanager
def traced(show: list[str]) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, capture.trace(folder, show=show):
        yield


Block = Callable[[], contextlib.AbstractContextManager[None]]


def captured(function: Callable[..., Any], args: tuple[Any, ...], block: Block) -> float:
    """Processor seconds of a capture in the block."""
    capture.reset()
    fast = capture.compile(function)
    with torch.no_grad(), block():
        started = time.process_time()
        fast(*args)
        return time.process_time() - started


def peak(function: Callable[..., Any], args: tuple[Any, ...], block: Block) -> int:
    """Bytes of Python objects at the peak of a capture, beyond those before it."""
    tracemalloc.start()
    try:
        captured(function, args, block)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


Run = Callable[[Block], float]
Clocked = Callable[[], contextlib.AbstractContextManager[Clock]]


def share(run: Run, block: Block, clocked: Clocked) -> float:
    """The clocked time, as a part of the rest of a capture."""
    with clocked() as clock:
        whole = run(block)
    return clock.seconds / (whole - clock.seconds)


def more(run: Run, block: Block) -> float:
    """How much longer than a capture without a trace: the part of it."""
    without = run(contextlib.nullcontext)
    return run(block) / without - 1


def add_rows(table: Targets, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    def run(block: Block) -> float:
        return captured(function, args, block)

    def add(what: str, measure: Callable[[], float], target: float | None) -> None:
        low, middle, high = statistics.quantiles([measure() for _ in range(TURNS)], n=4)
        spread = f"quartiles {low:.2%} to {high:.2%}"
        table.add(f"{name}: {what}", 100 * middle, None if target is None else 100 * target, " %", spread)

    off: Block = contextlib.nullcontext
    for block in (off, lambda: traced([])):
        run(block)
    add("events, no trace", lambda: share(run, off, clock_of_listener), TARGET_OFF)
    add("events, a trace", lambda: share(run, lambda: traced([]), clock_of_recorder), TARGET)
    for show in ([], ["bytecode"], ["bytecode", "loops", "llvm"]):
        with_trace = functools.partial(traced, show)
        run(with_trace)
        what = f"longer with {', '.join(show) or 'a trace'}"
        add(what, functools.partial(more, run, with_trace), None)
    without, within = peak(function, args, off), peak(function, args, lambda: traced([]))
    measured = f"{within / 1e6:.2f} MB, {without / 1e6:.2f} MB without"
    table.add(f"{name}: memory", (within - without) / 1e6, None, " MB more", measured)


def main() -> None:
    header()
    table = Targets("Traces")
    with capture.config.patch(disk_cache=False):
        for name, (function, args) in programs().items():
            add_rows(table, name, function, args)
    table.show()


if __name__ == "__main__":
    main()
