"""Runs the programs, each in processes of its own: eager, captured with an empty store, and once more.

In:  names of programs (all without), `--steps N`, `--seconds S`: eager's run takes about that
     long, so short steps turn often enough for a capture to pay.
Out: the table, and medians and worst quarters over all programs.

Times are processor seconds of one thread. An eager and a captured run take turns, step by step, on the same
core; then again: the second captured run finds the store that the first one has filled. The settled step is
the mean of the middle half of the steps in the second half of the run. (Where every other step is a long one,
a median would be the longest short one or the shortest long one.) Where results decide how many turns a loop
has (an episode, the evaluations of a step of LBFGS), a rounding changes their number, so steps are compared
turn by turn. The noise is half of the difference between the ratios of odd and even steps, of the noisier
pair. The warm-up is what the captured run spent more than its settled steps, compared with the same of the
eager run; it includes everything before the first step, but for the modules that torch loads with the first
optimizer. Break-even is the step at which the two runs have spent the same. The first step includes the
setup of the program, as the eager one does that is taken off.

Where results differ, other eager runs show whether that means anything: in each step they go one rounding
apart. Where two eager runs have parted, the results of a captured one are not compared.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from benchmarks.measure import console, geometric_mean, pretty
from benchmarks.programs.all_programs import PROGRAMS
from benchmarks.programs.turns import Failed, in_turns

LONG_STEP = 0.02  # seconds
SLOWER = 0.05  # a settled step is slower than eager's from here on, or from twice the noise on
TOLERANCE = 2e-2  # of losses after many steps of float32 training; single results are tested elsewhere
DRIFT = TOLERANCE / 20  # two eager runs that differ by more have parted
LATER = 1.5  # errors grow by a factor in each step: those of a whole gradient part earlier than a rounding
NUDGED = 4  # eager runs that go apart, at most: a chaotic program jumps in some of them
PROBE = 40  # steps that tell how long one is: whole epochs, of 20 steps at most
ROUND = (1, 1.5)  # times a power of two: so many steps of the least. A noisy probe gives the same number


def middle_mean(numbers: Sequence[float]) -> float:
    """The mean without the lowest and the highest quarter."""
    quarter = len(numbers) // 4
    return statistics.fmean(sorted(numbers)[quarter : len(numbers) - quarter])


@dataclass
class Run:
    """A run of one program: processor times at the start and behind each step, and what it gave."""

    found: dict[str, Any]
    turns: float = field(init=False)  # in a mean step

    def __post_init__(self) -> None:
        self.turns = statistics.fmean(self.found["inner_turns"])

    @property
    def steps(self) -> list[float]:
        """Their times, as if each had `turns` turns."""
        pairs = zip(itertools.pairwise(self.found["times"]), self.found["inner_turns"])
        return [(after - before) / own * self.turns for (before, after), own in pairs]

    @property
    def results(self) -> list[float]:
        """The losses, and sums of what was trained."""
        return [*self.found["losses"], *self.found["trained"]]

    @property
    def second_half(self) -> list[float]:
        return self.steps[len(self.steps) // 2 :]

    @property
    def settled(self) -> float:
        return middle_mean(self.second_half)

    @property
    def beyond_settled(self) -> float:
        """What was spent once: it does not depend on how many turns that step had."""
        times, turns = self.found["times"], sum(self.found["inner_turns"])
        return times[-1] - times[0] - turns / self.turns * self.settled

    @property
    def first_step(self) -> float:
        times = self.found["times"]
        return times[1] - times[0]


@dataclass
class Result:
    """A captured run beside the eager one that it took turns with."""

    name: str
    eager: Run
    captured: Run
    differs: str  # where its results are others

    @property
    def ratio(self) -> float:
        return self.captured.settled / self.eager.settled

    @property
    def noise(self) -> float:
        odd, even = (
            middle_mean(self.captured.second_half[start::2]) / middle_mean(self.eager.second_half[start::2])
            for start in (0, 1)
        )
        return abs(odd - even) / 2

    @property
    def first_step(self) -> float:
        return self.captured.first_step - self.eager.first_step

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


def differs(captured: Run, eager: Run, nudged: Callable[[int], Run]) -> str:
    """The first result that differs, unless two eager runs have parted by then or soon; empty: none."""
    place = parting(captured, eager, TOLERANCE)
    if place is None:
        return ""
    for seed in range(NUDGED):
        parted = parting(nudged(seed), eager, DRIFT)
        if parted is not None and parted <= LATER * place:
            return ""
    return f"result {place}: {captured.results[place]:.6g}, eager {eager.results[place]:.6g}"


def parting(one: Run, other: Run, tolerance: float) -> int | None:
    pairs = enumerate(zip(one.results, other.results, strict=True))
    return next(
        (place for place, (a, b) in pairs if not math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)),
        None,
    )


def run(name: str, modes: Sequence[str], steps: int, store: str) -> list[Run]:
    """Runs of one program, in turns."""
    program = [sys.executable, "-m", "benchmarks.programs.child", name]
    environment = {**os.environ, "CAPTURE_CACHE_DIR": store, "OMP_NUM_THREADS": "1"}
    found = in_turns([[*program, mode, str(steps)] for mode in modes], environment)
    for mode, (_, errors) in zip(modes, found):
        if errors.strip():
            console.print(f"{name} ({mode}) wrote: {errors.strip()[-600:]}", style="dim", markup=False)
    return [Run(json.loads(written.splitlines()[-1])) for written, _ in found]


def lasting(name: str, steps: int, seconds: float) -> int:
    """Steps of a run that takes eager about that long, and `steps` at least: of the numbers that ROUND allows
    the nearest one.
    """
    if not seconds:
        return steps
    probe = run(name, ["eager"], PROBE, "")[0]
    times = seconds / probe.settled / steps
    if times <= 1:
        return steps
    allowed = (factor * 2**power for power in range(64) for factor in ROUND)
    return math.ceil(steps * min(allowed, key=lambda one: abs(math.log(one / times))))


def measure(name: str, steps: int) -> tuple[Result, Result]:
    """With an empty store, and with the store that this has filled."""
    with tempfile.TemporaryDirectory() as store:
        nudged = functools.cache(lambda seed: run(name, [f"nudged:{seed}"], steps, store)[0])
        pairs = [run(name, ["eager", "enable"], steps, store) for _ in range(2)]
        for eager, captured in pairs:
            captured.turns = eager.turns
        cold, warm = (
            Result(name, eager, captured, differs(captured, eager, nudged)) for eager, captured in pairs
        )
    return cold, warm


def row(cold: Result, warm: Result) -> list[str]:
    found = cold.captured.found
    return [
        cold.name,
        f"{len(cold.eager.steps)} x {pretty(cold.eager.settled)}",
        f"{cold.ratio:.2f} {warm.ratio:.2f} ±{max(cold.noise, warm.noise):.2f}",
        f"{cold.first_step:.2f} {warm.first_step:.2f} s",
        f"{cold.warm_up:.2f} s",
        f"{cold.break_even:.0f}",
        f"{warm.warm_up:.2f} s",
        f"{warm.break_even:.0f}",
        str(found["frames"].get("captured", 0)),
        str(found["graphs"]),
        str(found["breaks"]),
        f"{found['recompiles_by_step'][-1]} ({cold.late_recompiles})",
        cold.differs or warm.differs,
    ]


HEADINGS = (
    "program",
    "eager steps",
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
        if min(cold.ratio, warm.ratio) > 1 + max(SLOWER, 2 * max(cold.noise, warm.noise))
    ]
    idle = [pair[0].name for pair in results if not any(one.captured.found["graphs"] for one in pair)]
    cold, warm = zip(*[pair for pair in results if pair[0].name not in idle] or results)
    wrong = [pair[0].name for pair in results if any(one.differs for one in pair)]
    long = [result.break_even for result in cold if result.eager.settled >= LONG_STEP]
    return (
        f"settled: {geometric_mean(ratios):.2f} of eager (geometric mean); slower: {listed(slower)}\n"
        f"no graph, so nothing to pay back (not in the next three lines): {listed(idle)}\n"
        f"break-even in steps: {spread([result.break_even for result in cold], '.0f')} cold, "
        f"{spread([result.break_even for result in warm], '.0f')} in a second process\n"
        f"the same cold where eager's step takes {LONG_STEP * 1000:.0f} ms or more: "
        f"{spread(long, '.0f') if long else 'no such program'}\n"
        f"warm-up in seconds: {spread([result.warm_up for result in cold], '.2f')} cold, "
        f"{spread([result.warm_up for result in warm], '.2f')} in a second process\n"
        f"no recompile after the fifth step: {sum(pair[0].late_recompiles == 0 for pair in results)} "
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
    parser.add_argument("--seconds", type=float, default=0.0, help="seconds that eager's run takes, about")
    options = parser.parse_args()
    for part in options.names:
        if not any(part in name for name in PROGRAMS):
            parser.error(f"no program has {part!r} in its name; there are {', '.join(PROGRAMS)}")
    table = Table(*HEADINGS)
    results = []
    for name, chosen in PROGRAMS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        try:
            steps = lasting(name, options.steps or chosen.steps, options.seconds)
            cold, warm = measure(name, steps)
        except Failed as error:
            console.print(str(error), style="red", markup=False)
            continue
        results.append((cold, warm))
        table.add_row(*row(cold, warm))
        console.print(f"{name}: {cold.ratio:.2f}, even at {cold.break_even:.0f}", style="dim")
    console.print(table)
    if results:
        console.print(summary(results))


if __name__ == "__main__":
    main()
