"""Measures functions side by side: each in turn, in one process, on one pinned thread.

In:  callables by name.
Out: `Timing` of each: median seconds, and the spread of the middle half of the samples.

    compare({"eager": f, "capture": g})  ->  {"eager": Timing(8.3e-6, 0.02), "capture": Timing(1.1e-6, 0.03)}

A turn is a batch of calls that lasts `BATCH` seconds, so that the time to read the clock does not count and a
busy moment of the machine affects all. The clock is that of the process (time on the core): other processes
on a shared machine change it only through the caches.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table

console = Console(width=160)
BATCH = 2e-3
MIN_TURNS = 7


@dataclass(frozen=True)
class Timing:
    """`seconds` of a call; `noise`: half of the distance between the quartiles, relative to the median."""

    seconds: float
    noise: float

    def __str__(self) -> str:
        return f"{pretty(self.seconds)} ±{self.noise:.0%}"


def pretty(seconds: float) -> str:
    """1.2e-6 -> '1.20 us'"""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def pin() -> None:
    """One thread of torch, on one core."""
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def calls_a_turn(function: Callable[[], object], batch: float) -> int:
    count = 1
    while True:
        spent = count * one_turn(function, count)
        if spent >= batch / 4 or count >= 1 << 20:
            return max(1, round(count * batch / max(spent, 1e-9)))
        count *= 4


def one_turn(function: Callable[[], object], count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        function()
    return (time.process_time() - started) / count


def compare(
    contenders: Mapping[str, Callable[[], object]], seconds: float = 0.3, batch: float = BATCH
) -> dict[str, Timing]:
    """`seconds`: how long each function is measured."""
    return {name: timing_of(times) for name, times in samples(contenders, seconds, batch).items()}


def samples(
    contenders: Mapping[str, Callable[[], object]], seconds: float, batch: float
) -> dict[str, list[float]]:
    """Seconds of a call in each turn. The n-th numbers of all are from the same turn."""
    for function in contenders.values():
        for _ in range(3):
            function()
    counts = {name: calls_a_turn(function, batch) for name, function in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    stop = time.perf_counter() + seconds * len(contenders)
    turns = 0
    while turns < MIN_TURNS or time.perf_counter() < stop:
        for name, function in contenders.items():
            times[name].append(one_turn(function, counts[name]))
        turns += 1
    return times


def timing_of(times: list[float]) -> Timing:
    low, middle, high = statistics.quantiles(times, n=4)
    return Timing(middle, (high - low) / 2 / middle)


def geometric_mean(ratios: list[float]) -> float:
    return statistics.geometric_mean(ratios) if ratios else float("nan")


class Targets:
    """A table of results with their targets."""

    def __init__(self, title: str) -> None:
        self.table = Table("what", "result", "target", "", "measured", title=title, title_justify="left")

    def add(self, what: str, result: float, target: float | None, unit: str = "", measured: str = "") -> None:
        """A result that should be at most `target`."""
        verdict = "" if target is None else "[green]met[/green]" if result <= target else "[red]missed[/red]"
        wanted = "" if target is None else f"<= {target:g}{unit}"
        self.table.add_row(what, f"{result:.3g}{unit}", wanted, verdict, measured)

    def show(self) -> None:
        console.print(self.table)


def header() -> None:
    pin()
    console.print(
        f"torch {torch.__version__}, one thread on one core, medians of turns (A B A B) of processor time, "
        "± half the distance between the quartiles"
    )
