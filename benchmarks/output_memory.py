"""The cost of new pages for large outputs, and of `config.keep_memory_mapped`.

In:  `python -m benchmarks.output_memory`; each row runs in its own process, because the setting can't be
     undone.
Out: milliseconds of `x * y + 1` at 1e7 elements in eager and in capture, and of a copy into existing memory,
     whose bandwidth is the reference.
"""

from __future__ import annotations

import os
import subprocess
import sys

import torch

import capture
from benchmarks.measure import Targets, compare, header, pin

COUNT = 10_000_000
KERNEL_ARRAYS, COPY_ARRAYS = 3, 2  # the arrays that are read or written
BANDWIDTH = 0.95  # of the copy's bandwidth, if no new pages are needed


def axpy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y + 1


def one_process() -> None:
    """Prints milliseconds: eager, capture, copy."""
    pin()
    x, y, out = torch.randn(COUNT), torch.randn(COUNT), torch.empty(COUNT)
    compiled = capture.compile(axpy)
    functions = {"eager": lambda: axpy(x, y), "capture": lambda: compiled(x, y), "copy": lambda: out.copy_(x)}
    print(*(1e3 * timing.seconds for timing in compare(functions, 0.5).values()))


def main() -> None:
    if "--one-process" in sys.argv:
        return one_process()
    header()
    table = Targets(f"x * y + 1 on {COUNT:,} elements")
    for setting in ("0", "1"):
        command = [sys.executable, "-m", "benchmarks.output_memory", "--one-process"]
        environment = {**os.environ, "CAPTURE_KEEP_MEMORY_MAPPED": setting}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        eager, ours, copy = map(float, done.stdout.split())
        measured = f"capture {ours:.1f} ms, eager {eager:.1f} ms, copy {copy:.1f} ms"
        table.add(f"keep_memory_mapped={setting}", ours / eager, 1.0, " of eager", measured)
        of_copy = (ours / KERNEL_ARRAYS) / (copy / COPY_ARRAYS)
        table.add(
            "    its time for a byte", of_copy, 1 / BANDWIDTH if setting == "1" else None, " of the copy's"
        )
    table.show()
    return None


if __name__ == "__main__":
    main()
