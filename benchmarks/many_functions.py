"""Many functions in one process: `python -m benchmarks.many_functions [count]`.

In:  the number of functions (10,000). Each is compiled and called once, and all are kept. The disk cache is
     off: every kernel is compiled here.
Out: processor time for a function in the first and the last tenth; resident memory for a function, after a
     collection, over the last nine tenths.

    llvm: the last tenth against the first    1.01    12.5 ms, then 12.6 ms for a function
"""

from __future__ import annotations

import gc
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

import capture
from benchmarks.measure import Targets, header, pin

COUNT, MOST = 10_000, 1.25
SOURCE = """
def program_{number}(x, w):
    y = x * {number}.5 + w
    return (y.sin() - {number}).relu() * y
"""


@dataclass(frozen=True)
class Growth:
    """Seconds and bytes for a function: in each tenth of the functions."""

    seconds: list[float]
    bytes: list[float]

    @property
    def ratio(self) -> float:
        return self.seconds[-1] / self.seconds[0]

    @property
    def kept_bytes(self) -> float:
        return sum(self.bytes[1:]) / len(self.bytes[1:])


def made(number: int) -> Callable[..., torch.Tensor]:
    space: dict[str, Any] = {}
    exec(SOURCE.format(number=number), space)
    function: Callable[..., torch.Tensor] = space[f"program_{number}"]
    return function


def resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * resource.getpagesize()


def measure(backend: str, count: int) -> Growth:
    x, w = torch.ones(4), torch.ones(4)
    capture.compile(made(count), backend=backend)(x, w)  # loads what all of them need
    kept: list[Any] = []
    seconds, sizes = [], [resident_bytes()]
    for tenth in range(10):
        functions = [made(number) for number in range(tenth * count // 10, (tenth + 1) * count // 10)]
        started = time.process_time()
        for function in functions:
            kept.append(capture.compile(function, backend=backend))
            kept[-1](x, w)
        seconds.append((time.process_time() - started) / len(functions))
        sizes.append(resident_bytes())
    return Growth(seconds, [(after - before) * 10 / count for before, after in pairwise(sizes)])


def measure_here(backend: str, count: int) -> Growth:
    """In a process of its own: memory that another measurement has freed would be used again."""
    pin()
    with torch.no_grad(), capture.config.patch(disk_cache=False):
        return measure(backend, count)


def main(count: int = COUNT) -> None:
    header()
    table = Targets(f"{count:,} functions in one process, without stored files")
    for backend in ("eager", "llvm"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found = pool.apply(measure_here, (backend, count))
        first, last = (found.seconds[i] * 1e3 for i in (0, -1))
        text = f"{first:.3g} ms, then {last:.3g} ms for a function"
        table.add(f"{backend}: the last tenth against the first", found.ratio, MOST, "", text)
        table.add(f"{backend}: memory for a function", found.kept_bytes / 1024, None, " KiB")
    table.show()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
