"""What a trace costs: `python -m benchmarks.tracing`.

In:  nothing.
Out: the time of a capture with a trace, beside the same capture without one: a GPT (forward), a U-Net, a
     function in three pieces. The captures take turns; each ratio is of one turn, the median is shown. `off`
     is a capture without a trace beside one whose events nobody hears. Then the memory of Python objects at
     the peak of a capture. The begin and the end of the trace are not in the times.
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
from codegen.kernel import events

TURNS = 11
TURNS_OFF = 31  # what is to be shown is small
TARGET, TARGET_OFF = 1.10, 1.01


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


@contextlib.contextmanager
def nobody_listens() -> Iterator[None]:
    """Events reach neither recorders nor counters nor logs."""
    with (
        mock.patch.object(observe, "_listener", lambda name, fields: None),
        mock.patch.object(events, "listener", None),
    ):
        yield


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


def add_ratio(table: Targets, what: str, run: Run, blocks: tuple[Block, Block], target: float | None) -> None:
    """The first block beside the second one, in turns."""
    ratios, plain = [], []
    for _ in range(TURNS_OFF if target == TARGET_OFF else TURNS):
        plain.append(run(blocks[1]))
        ratios.append(run(blocks[0]) / plain[-1])
    low, middle, high = statistics.quantiles(ratios, n=4)
    measured = f"{statistics.median(plain) * 1e3:.0f} ms without, quartiles {low:.3f} to {high:.3f}"
    table.add(what, middle, target, " of a capture", measured)


def add_rows(table: Targets, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    def run(block: Block) -> float:
        return captured(function, args, block)

    run(contextlib.nullcontext)
    add_ratio(table, f"{name}, off", run, (contextlib.nullcontext, nobody_listens), TARGET_OFF)
    for show in ([], ["bytecode"], ["bytecode", "loops", "llvm"]):
        with_trace = functools.partial(traced, show)
        run(with_trace)
        what = f"{name}, {', '.join(show) or 'as it is'}"
        add_ratio(table, what, run, (with_trace, contextlib.nullcontext), None if show else TARGET)
    without, within = (peak(function, args, block) for block in (contextlib.nullcontext, lambda: traced([])))
    measured = f"{without / 1e6:.2f} MB without, {within / 1e6:.2f} MB with"
    table.add(f"{name}, memory", (within - without) / 1e6, None, " MB more", measured)


def main() -> None:
    header()
    table = Targets("Traces")
    with capture.config.patch(disk_cache=False):
        for name, (function, args) in programs().items():
            add_rows(table, name, function, args)
    table.show()


if __name__ == "__main__":
    main()
