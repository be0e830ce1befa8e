"""The table of the README, made of what was measured.

In:  the data of `runs.measure`.
Out: `markdown(data)`: what was measured how, the table, how noisy the machine was.
"""

from __future__ import annotations

import math
import statistics
import textwrap
from typing import Any

from benchmarks.measure import pretty
from benchmarks.peers.child import FIRST

PEERS = ("torch.compile", "capture")
WIDTH = 110
COLD, WARM = 0, -1  # the first run of a model, and the last one
HEADINGS = (
    "step of",
    "eager",
    "of eager",
    "cold start, s",
    "warm start, s",
    "memory, MiB",
    "pays, cold",
    "pays, warm",
)


def step(runs: list[dict[str, Any]]) -> float:
    """Seconds, of the process that was disturbed least: on a shared machine noise only adds."""
    return float(min(run["step"] for run in runs))


def start(model: dict[str, Any], contender: str, which: int) -> float:
    """Seconds that the first steps take longer than eager's."""
    eager = statistics.fmean(run["first"] for run in model["eager"])
    return float(model[contender][which]["first"] - eager)


def even(model: dict[str, Any], contender: str, which: int) -> float:
    """The step from which on the program has taken less time than in eager; infinite if never."""
    gain = step(model["eager"]) - step(model[contender])
    return FIRST + max(0.0, start(model, contender, which)) / gain if gain > 0 else math.inf


def memory(model: dict[str, Any], contender: str, which: int) -> float:
    """MiB at the peak, more than eager's."""
    return float(model[contender][which]["memory"] - model["eager"][which]["memory"])


def noise(data: dict[str, Any]) -> tuple[float, float]:
    """How much slower a process was than its equal, at the median and at most, in settled steps."""
    found = [runs for model in data["training"].values() for runs in model.values()]
    apart = [max(run["step"] for run in runs) / step(runs) - 1 for runs in found]
    return statistics.median(apart), max(apart)


def both(form: str, values: list[float]) -> str:
    """The format "z" shows no zero with a sign."""
    return " / ".join(f"{value:z{form}}" if math.isfinite(value) else "never" for value in values)


def row(name: str, model: dict[str, Any]) -> list[str]:
    eager = step(model["eager"])
    return [
        name,
        pretty(eager),
        both(".2f", [step(model[peer]) / eager for peer in PEERS]),
        both(".1f", [start(model, peer, COLD) for peer in PEERS]),
        both(".1f", [start(model, peer, WARM) for peer in PEERS]),
        both(".0f", [memory(model, peer, COLD) for peer in PEERS]),
        both(".0f", [even(model, peer, COLD) for peer in PEERS]),
        both(".0f", [even(model, peer, WARM) for peer in PEERS]),
    ]


def tiny_row(case: str, found: dict[str, Any]) -> list[str]:
    calls = {contender: min(run["call"] for run in runs) for contender, runs in found.items()}
    ratios = both(".2f", [calls[peer] / calls["eager"] for peer in PEERS])
    return [f"`x * y + 1`, 4 elements, {case}", pretty(calls["eager"]), ratios, *[""] * 5]


def rows(data: dict[str, Any]) -> list[list[str]]:
    trained = [row(name, model) for name, model in data["training"].items()]
    return [*trained, *(tiny_row(case, found) for case, found in data["tiny"].items())]


def markdown(data: dict[str, Any]) -> str:
    machine, lines = data["machine"], [list(HEADINGS), ["---"] * len(HEADINGS), *rows(data)]
    table = "\n".join("| " + " | ".join(cells).rstrip() + " |" for cells in lines)
    usual, most = noise(data)
    load = " to ".join(f"{value:.1f}" for value in machine["load"])
    text = f"""
    Pairs are torch.compile / capture, both as `compile(model)` in an ordinary loop with AdamW: float32, torch
    {machine["torch"]}, one thread. A start is what the first {FIRST} steps take longer than eager's: cold
    without stored code, warm in the next process. Memory is the peak of the first process beyond eager. The
    last columns have the step from which on less time was spent than in eager. Times are processor seconds,
    with those of C++ compilers. Measured on {machine["cores"]} cores ({machine["processor"]}) at a load of
    {load}: steps of the slower of two equal processes took {usual:.0%} longer at the median, {most:.0%} at
    most; the faster one is shown.
    """
    return f"{table}\n\n{textwrap.fill(' '.join(text.split()), WIDTH, break_on_hyphens=False)}\n"
