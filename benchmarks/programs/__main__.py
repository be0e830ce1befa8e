"""Runs the programs, each in processes of its own: eager, captured with an empty store, and once more.

In:  names of programs (all without), `--steps N`, `--json FILE`.
Out: the table, and medians over all programs.

Times are processor seconds of one thread. The settled step is the median of the second half. The warm-up is
what the captured run spent more than its settled steps, compared with the same of the eager run; it includes
everything before the first step. Break-even is the step at which the two runs have spent the same.
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

from benchmarks.measure import console, pretty
from benchmarks.programs.all_programs import PROGRAMS

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

    @property
    def ratio(self) -> float:
        return self.captured.settled / self.eager.settled

    @property
    def warm_up(self) -> float:
        return self.captured.beyond_settled - self.eager.beyond_settled

    @property
    def break_even(self) -> float:
        """In steps; infinite where the settled step is no faster."""
        gain = self.eager.settled - self.captured.settled
        return max(0.0, self.warm_up) / gain if gain > 0 else math.inf

    @property
    def late_recompiles(self) -> int:
        by_step = self.captured.found["recompiles_by_step"]
        return by_step[-1] - by_step[min(4, len(by_step) - 1)]

    def differs(self) -> str:
        """Where the results differ from eager's by more than training in float32 explains; empty: nowhere."""
        for key in ("losses", "trained"):
            for place, (ours, theirs) in enumerate(zip(self.captured.found[key], self.eager.found[key])):
                if not math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                    return f"{key}[{place}]: {ours:.6g}, eager {theirs:.6g}"
        return ""


def run(name: str, mode: str, steps: int, store: str) -> Run:
    command = [sys.executable, "-m", "benchmarks.programs.child", name, mode, str(steps)]
    environment = {**os.environ, "CAPTURE_CACHE_DIR": store, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name} ({mode}) failed:\n{done.stderr[-4000:]}")
    return Run(json.loads(done.stdout.splitlines()[-1]))


def measure(name: str, steps: int) -> list[Result]:
    """With an empty store, and with the store that this has filled."""
    with tempfile.TemporaryDirectory() as store:
        eager = run(name, "eager", steps, store)
        return [Result(name, eager, run(name, "enable", steps, store)) for _ in range(2)]


def row(cold: Result, warm: Result) -> list[str]:
    found = cold.captured.found
    return [
        cold.name,
        pretty(cold.eager.settled),
        f"{cold.ratio:.2f}",
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
    "settled",
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
    ratios = [cold.ratio for cold, _ in results]
    cold, warm = ([result.break_even for result in column] for column in zip(*results))
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    worst_quarter = sorted(cold)[(3 * len(cold)) // 4]
    return (
        f"settled: {mean:.2f} of eager (geometric mean); {sum(ratio > 1.05 for ratio in ratios)} slower\n"
        f"break-even: {statistics.median(cold):.0f} steps cold, worst quarter {worst_quarter:.0f}; "
        f"{statistics.median(warm):.0f} in a second process\n"
        f"warm-up: {statistics.median(c.warm_up for c, _ in results):.2f} s, worst "
        f"{max(c.warm_up for c, _ in results):.1f} s\n"
        f"no recompile after the fifth step: {sum(c.late_recompiles == 0 for c, _ in results)} "
        f"of {len(results)}"
    )


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
        cold, warm = measure(name, options.steps or chosen.steps)
        results.append((cold, warm))
        table.add_row(*row(cold, warm))
        console.print(f"{name}: {cold.ratio:.2f}, even at {cold.break_even:.0f}", style="dim")
    console.print(table)
    console.print(summary(results))


if __name__ == "__main__":
    main()
