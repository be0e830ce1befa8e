"""The share of eager's step that torch's libraries compute: products of matrices, convolutions, recurrent
layers (BLAS, oneDNN), attention, decompositions (LAPACK) and transforms (FFT).

In:  `python -m benchmarks.programs.library_share [NAMES]`.
Out: the table, and the geometric mean: about what a step would take if all else took no time.

Captured programs call the same libraries, so a settled step takes at least this share of eager's, except
where native code replaces a product or a convolution. What the program does in Python comes on top.

The profiler of torch gives the time in the libraries over some steps. It slows a step down, so the time of a
step is that of the steps before.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import statistics
import subprocess
import sys
import time
from typing import Any

import torch
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from benchmarks.measure import console, geometric_mean, pin
from benchmarks.programs.all_programs import PROGRAMS

STEPS = 8  # under the profiler, at most
LIBRARIES = re.compile(
    r"aten::(mm|addmm|bmm|baddbmm|mv|addmv_?|dot|mkldnn_\w+|convolution_backward|_?slow_conv\w+"
    r"|thnn_conv2d|_conv_depthwise2d|_scaled_dot_product\w+|_fft_\w+|_?linalg_(?!vector_norm)\w+"
    r"|cholesky\w*|triangular_solve|geqrf|lu_unpack)"
)


class Enough(BaseException):
    """Ends a program that is run no further."""


class Profiled:
    """Called behind each step: measures those of the first half, then profiles some."""

    def __init__(self, steps: int) -> None:
        self.first = steps // 2
        self.last = self.first + min(STEPS, steps - self.first)
        self.times = [time.perf_counter()]
        self.profile = profile(activities=[ProfilerActivity.CPU])

    def __call__(self, loss: Any, inner_turns: int = 1) -> None:
        float(loss)
        self.times.append(time.perf_counter())
        if len(self.times) - 1 == self.first:
            self.profile.start()
        elif len(self.times) - 1 == self.last:
            self.profile.stop()
            raise Enough

    def share(self) -> float:
        events = self.profile.key_averages()
        found = sum(event.self_cpu_time_total for event in events if LIBRARIES.fullmatch(event.key)) / 1e6
        steps = [after - before for before, after in itertools.pairwise(self.times[1 : self.first + 1])]
        return found / (self.last - self.first) / statistics.fmean(steps)


def share_of(name: str) -> float:
    pin()
    torch.manual_seed(0)
    program = PROGRAMS[name]
    profiled = Profiled(program.steps)
    with contextlib.suppress(Enough):
        program.run(profiled, program.steps)
    return profiled.share()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="of programs; all without")
    parser.add_argument("--here", action="store_true", help="in this process: print the share alone")
    given = parser.parse_args()
    names = given.names or sorted(PROGRAMS)
    if given.here:
        print(share_of(names[0]))
        return
    table = Table("program", "in libraries")
    shares = []
    for name in names:
        child = [sys.executable, "-m", "benchmarks.programs.library_share", "--here", name]
        done = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True)
        shares.append(float(done.stdout.split()[-1]))
        table.add_row(name, f"{shares[-1]:.2f}")
    console.print(table)
    console.print(f"geometric mean {geometric_mean(shares):.2f}")


if __name__ == "__main__":
    main()
