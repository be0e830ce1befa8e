"""Runs the programs, each in processes of its own: eager, captured with an empty store, and once more.

In:  names of programs (all without), `--steps N`.
Out: the table, and medians and worst quarters over all programs.

Times are processor seconds of one thread. The order of the runs is eager, captured, eager, captured: the
second captured run finds the store that the first one has filled. Eager's settled step is the mean of both
runs; `noise` is half of their difference. The settled step is the median of the second half. The warm-up is
what the captured run spent more than its settled steps, compared with the same of the eager run; it includes
everything before the first step. Break-even is the step at which the two runs have spent the same. The first
step includes the setup of the program, as the eager one does that is taken off.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from benchmarks.measure import console, geometric_mean, pretty
from benchmarks.programs.all_programs import PROGRAMS

SLOWER = 0.05  # a settled step is slower than eager's from here on, or from twice the noise on
TOLERANCE = 2e-2  # of losses after many steps of float32 training; single results are tested elsewhere


@dataclass
class Run:
    """A run of one program: processor times at the start and behind each step, and what it gave."""

    found: dict[str, Any]

    @property
    def steps(self) -> list[float]:
        times = self.found["times"]
        return [after - before for before, after in itertools.pairwise(times)]

    @property
    def settled(self) -> float:
        return statistics.median(self.steps[len(self.steps) // 2 :])

    @property
    def beyond_settled(self) -> float:
        return sum(self.steps) - len(self.steps) * self.settled


@dataclass
class Result:
    """A captured run beside the eager one."""

    name: str
    eager: Run
    captured: Run
    eager_step: float  # settled, of all eager runs

    @property
    def ratio(self) -> float:
        return self.captured.settled / self.eager_step

    @property
    def first_step(self) -> float:
        return self.captured.steps[0] - self.eager.steps[0]

    @property
    def warm_up(self) -> float:
        return self.captured.beyond_settled - self.eager.beyond_settled

    @property
    def break_even(self) -> float:
        """In steps; infinite where the settled step is no faster."""
        gain = self.eager_step - self.captured.settled
        return max(0.0, self.warm_up) / gain if gain > 0 else math.inf

    @property
    def late_recompiles(self) -> int:
        by_step = self.captured.found["recompiles_by_step"]
        return by_step[-1] - by_step[min(4, len(by_step) - 1)]

    def differs(self) -> str:
        """Where the results differ from eager's by more than training in float32 explains; empty: nowhere.

        In longer runs, eager drifts from itself where the weights begin 1e-7 apart: of these, the losses of
        the program's usual steps are compared.
        """
        usual = PROGRAMS[self.name].steps
        compared = {"losses": usual, "trained": None if len(self.captured.steps) <= usual else 0}
        for key, count in compared.items():
            pairs = zip(self.captured.found[key][:count], self.eager.found[key][:count])
            for place, (ours, theirs) in enumerate(pairs):
                if not math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                    return f"{key}[{place}]: {ours:.6g}, eager {theirs:.6g}"
        return ""


def run(name: str, mode: str, steps: int, store: str) -> Run:
    command = [sys.executable, "-m", "benchmarks.programs.child", name, mode, str(steps)]
    environment = {**os.environ, "CAPTURE_CACHE_DIR": store, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{name} ({mode}) failed with {done.returncode}:\n{done.stderr[-4000:]}")
    if done.stderr.strip():
        console.print(f"{name} ({mode}) wrote: {done.stderr.strip()[-600:]}", style="dim", markup=False)
    return Run(json.loads(done.stdout.splitlines()[-1]))


class Failed(Exception):
    """A run of a program ended with an error."""


def measure(name: str, steps: int) -> tuple[Result, Result]:
    """With an empty store, and with the store that this has filled."""
    with tempfile.TemporaryDirectory() as store:
        runs = [run(name, mode, steps, store) for mode in ("eager", "enable") * 2]
    step = statistics.fmean(eager.settled for eager in runs[::2])
    return Result(name, runs[0], runs[1], step), Result(name, runs[2], runs[3], step)


def noise(cold: Result, warm: Result) -> float:
    """How far each eager run is from the mean of both."""
    return abs(cold.eager.settled - cold.eager_step) / cold.eager_step


def row(cold: Result, warm: Result) -> list[str]:
    found = cold.captured.found
    return [
        cold.name,
        f"{pretty(cold.eager_step)} ±{noise(cold, warm):.0%}",
        f"{cold.ratio:.2f} {warm.ratio:.2f}",
        f"{cold.first_step:.2f} {warm.first_step:.2f} s",
        f"{cold.warm_up:.2f} s",
        f"{cold.break_even:.0f}",
        f"{warm.warm_up:.2f} s",
        f"{warm.break_even:.0f}",
        str(found["frames"].get("captured", 0)),
        str(found["graphs"]),
        str(found["breaks"]),
        f"{found['recompiles_by_step'][-1]} ({cold.late_recompiles})",
        cold.differs() or warm.differs(),
    ]


HEADINGS = (
    "program",
    "eager step",
    "settled, again",
    "first, again",
    "warm-up",
    "even at",
    "again",
    "even at",
    "captured",
    "graphs",
    "breaks",
    "recompiles (late)",
    "differs",
)


def summary(results: list[tuple[Result, Result]]) -> str:
    ratios = [math.sqrt(cold.ratio * warm.ratio) for cold, warm in results]
    slower = [
        cold.name
        for cold, warm in results
        if min(cold.ratio, warm.ratio) > 1 + max(SLOWER, 2 * noise(cold, warm))
    ]
    cold, warm = zip(*results)
    wrong = [result.name for result in (*cold, *warm) if result.differs()]
    return (
        f"settled: {geometric_mean(ratios):.2f} of eager (geometric mean); slower: {listed(slower)}\n"
        f"break-even in steps: {spread([result.break_even for result in cold], '.0f')} cold, "
        f"{spread([result.break_even for result in warm], '.0f')} in a second process\n"
        f"warm-up in seconds: {spread([result.warm_up for result in cold], '.2f')} cold, "
        f"{spread([result.warm_up for result in warm], '.2f')} in a second process\n"
        f"no recompile after the fifth step: {sum(result.late_recompiles == 0 for result in cold)} "
        f"of {len(results)}; other results than eager: {listed(wrong)}"
    )


def spread(numbers: list[float], form: str) -> str:
    ordered = sorted(numbers)
    worst_quarter = ordered[(3 * len(ordered)) // 4]
    return f"{statistics.median(ordered):{form}} (worst quarter {worst_quarter:{form}})"


def listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs whose name contains one of these; all without")
    parser.add_argument("--steps", type=int, help="steps of each program")
    options = parser.parse_args()
    table = Table(*HEADINGS)
    results = []
    for name, chosen in PROGRAMS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        try:
            cold, warm = measure(name, options.steps or chosen.steps)
        except Failed as error:
            console.print(str(error), style="red", markup=False)
            continue
        results.append((cold, warm))
        table.add_row(*row(cold, warm))
        console.print(f"{name}: {cold.ratio:.2f}, even at {cold.break_even:.0f}", style="dim")
    console.print(table)
    console.print(summary(results))


if __name__ == "__main__":
    main()
