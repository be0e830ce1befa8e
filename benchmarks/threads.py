"""One thread and several, compared with eager on the same number of threads.

In:  `python -m benchmarks.threads [--threads N] [--sizes 0 1 2] [NAME ...]`.
Out: for each kernel of `benchmarks.kernel_cases` and size the times with one and with several threads, the
     speedup of several threads (1: none), and the time with several threads relative to eager's. A line is
     marked if it is slower than eager by a tenth.

The times are wall-clock times, since a second thread's time counts too: the best of many calls, in turns. So
the threads of the pool are awake, as in a loop that does nothing else. On a machine with other work the
figures for several threads measure its scheduler: use a larger `--seconds`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.table import Table

import capture
from benchmarks.kernel_cases import CASES, Case
from benchmarks.kernels import contender
from benchmarks.measure import console, geometric_mean, pretty

CALLS = 10  # in a turn, after one call that is not measured
LIMIT = 1.1
COLUMNS = (
    "kernel",
    "size",
    "eager 1",
    "capture 1",
    "eager N",
    "capture N",
    "eager gains",
    "capture gains",
    "of eager",
)


def best(function: Callable[[], Any]) -> float:
    function()
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def measure(case: Case, size: Any, threads: int, seconds: float) -> list[float]:
    """Times of eager and capture on one thread, then on several."""
    torch.manual_seed(0)
    capture.reset()
    arguments = case.inputs(size)
    functions = [contender(f, case, arguments) for f in (case.function, capture.compile(case.function))]
    contenders = [(number, function) for number in (1, threads) for function in functions]
    times = [float("inf")] * len(contenders)
    stop = time.perf_counter() + seconds
    turns = 0
    while turns < 3 or time.perf_counter() < stop:
        for place, (number, function) in enumerate(contenders):
            torch.set_num_threads(number)
            times[place] = min(times[place], best(function))
        turns += 1
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="of measuring, for each line")
    parser.add_argument("--sizes", type=int, nargs="*", default=[0, 1, 2], help="which of the three sizes")
    parser.add_argument("names", nargs="*", help="kernels whose name contains one of these; all without")
    given = parser.parse_args()
    table = Table(*COLUMNS, title=f"1 and {given.threads} threads, best calls", title_justify="left")
    ratios, slow = [], 0
    for case in CASES:
        for size in (case.sizes[i] for i in given.sizes):
            if not given.names or any(name in case.name for name in given.names):
                eager, ours, eager_several, ours_several = times = measure(
                    case, size, given.threads, given.seconds
                )
                ratios.append(ours_several / eager_several)
                gains = eager / eager_several, ours / ours_several, ratios[-1]
                row = (case.name, str(size)[:30], *map(pretty, times), *(f"{gain:.2f}" for gain in gains))
                style = "red" if ratios[-1] > LIMIT else None
                slow += style is not None
                table.add_row(*row, style=style)
                console.print(*row, sep="  ", style=style, highlight=False)
    console.print(table)
    console.print(
        f"geometric mean of eager's time with {given.threads} threads: {geometric_mean(ratios):.3f}, "
        f"{len(ratios)} measurements, {slow} above {LIMIT}"
    )


if __name__ == "__main__":
    main()
