"""What `benchmarks.programs` takes for the time of a settled step."""

from __future__ import annotations

import itertools
import random

from benchmarks.programs.__main__ import Result, Run


def run_of(steps: list[float], inner_turns: list[int] | None = None) -> Run:
    return Run(
        {
            "times": list(itertools.accumulate(steps, initial=0.0)),
            "inner_turns": inner_turns or [1] * len(steps),
            "losses": [],
            "trained": [],
        }
    )


def steps_in_turns(short: float, long: float, seed: int) -> list[float]:
    """Every other step is a long one, and now and then the machine is busy."""
    choices = random.Random(seed)
    noise = [choices.uniform(0.9, 1.1) * (5 if choices.random() < 0.02 else 1) for _ in range(150)]
    return [(short if number % 2 else long) * factor for number, factor in enumerate(noise)]


def test_short_and_long_steps_in_turns() -> None:
    """The median would be a short step in one run and a long one in another."""
    for seed in range(20):
        eager = run_of(steps_in_turns(1.0, 4.0, seed))
        captured = run_of(steps_in_turns(0.7, 2.8, seed + 100))
        assert 0.55 < Result("turns", eager, captured, "").ratio < 0.9


def test_equal_steps_with_a_slow_begin() -> None:
    assert run_of([9.0] * 50 + [1.0] * 70 + [30.0] * 10).settled == 1.0


def test_steps_with_other_numbers_of_turns_are_compared_turn_by_turn() -> None:
    few, many = run_of([2.0] * 40, [2] * 40), run_of([3.0] * 40, [6] * 40)
    many.turns = few.turns
    assert Result("episodes", few, many, "").ratio == 0.5
