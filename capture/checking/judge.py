"""Whether a backend computes a part of a graph rightly.

In:  a part of a graph, the backend.
Out: a `Verdict`: right; wrong, with the results that are; or moved: the truth itself moves as far when the
     inputs move by a rounding.

    relu6 at 6.0000001, its gradient: eager 1, backend 0     ->   moved: the truth has 0 a rounding above
    exp of 1: eager 2.718, backend 2.5                       ->   wrong

A backend is called as a capture calls it, with copies of the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx

from capture.checking.compare import HALVES, Difference, differences
from capture.checking.parts import Part
from capture.checking.runs import Results, copied_inputs, results_of, same_random_state
from capture.checking.truth import NoTruth, truth_of
from capture.hooks.switch import OFF, switch
from capture.report.log import failure_text
from capture_records import dataclass

SAMPLES = 4  # how often the inputs are moved
ROUNDINGS, ROUNDINGS_OF_HALVES = 8.0, 1.0  # how far each input is moved
AS_FAR = 4.0  # times the largest move of the truth is no more than a move


@dataclass(frozen=True)
class Verdict:
    """`differences`: what is wrong, or has moved. `raised`: the text of the backend's exception."""

    differences: list[Difference]
    moved: bool = False
    raised: str | None = None

    @property
    def right(self) -> bool:
        return not self.differences and self.raised is None

    @property
    def wrong(self) -> bool:
        return not self.right and not self.moved


RIGHT = Verdict([])


def judge(part: Part, backend: Any) -> Verdict:
    """Errors: what eager raises on these inputs."""
    before = switch(OFF)
    try:
        eager = results_of(part.module.forward, part.inputs)
        try:
            stage = backend_results(part, backend)
        except Exception as error:  # of a compiler: it is what is looked for
            return Verdict([], raised=failure_text(error))
        truth = _truth(part, part.inputs)
        found = differences(eager, stage, truth)
        return _second_look(part, eager, stage, truth, found) if found else RIGHT
    finally:
        switch(before)


def backend_results(part: Part, backend: Any) -> Results:
    with same_random_state():
        compiled = backend(part.module, list(part.inputs))
    return results_of(compiled, part.inputs)


def _truth(part: Part, inputs: Sequence[Any]) -> Results | None:
    try:
        return truth_of(part.module, inputs)
    except NoTruth:
        return None


def _second_look(
    part: Part, eager: Results, stage: Results, truth: Results | None, found: list[Difference]
) -> Verdict:
    """Move the inputs by roundings: how far do eager and the truth move?"""
    if truth is None or not all(isinstance(truth.get(difference.name), torch.Tensor) for difference in found):
        return Verdict(found)
    noise: dict[str, float] = {}
    moves = {difference.name: Moves(truth[difference.name]) for difference in found}
    for sample in range(SAMPLES):
        inputs = moved_inputs(part.inputs, sample)
        true = _truth(part, inputs)
        if true is None:
            return Verdict(found)
        near = results_of(part.module.forward, inputs)
        for name, moved in moves.items():
            moved.add(true[name])
            noise[name] = max(noise.get(name, 0.0), _distance(near[name], true[name]))
    still = differences(eager, stage, truth, noise)
    if not still:
        return RIGHT
    return Verdict(still, moved=all(moves[difference.name].explain(difference) for difference in still))


class Moves:
    """How far a result moves when the inputs do."""

    def __init__(self, truth: torch.Tensor) -> None:
        self.truth = truth
        self.largest = 0.0
        self.changed = torch.zeros(truth.shape, dtype=torch.bool)

    def add(self, truth: Any) -> None:
        if isinstance(truth, torch.Tensor) and truth.shape == self.truth.shape:
            self.largest = max(self.largest, _distance(truth, self.truth))
            self.changed |= truth != self.truth

    def explain(self, difference: Difference) -> bool:
        if difference.places is None:
            return False
        if self.truth.is_floating_point() or self.truth.is_complex():
            return difference.error <= AS_FAR * self.largest
        return not bool((difference.places & ~self.changed).any())


def moved_inputs(inputs: Sequence[Any], sample: int) -> list[Any]:
    """Copies of the inputs, their floats moved by some roundings up or down."""
    moved, _ = copied_inputs(inputs)
    move(moved, sample)
    return moved


def move(values: Sequence[Any], sample: int) -> None:
    """Move floats by some roundings up or down, each by its own."""
    generator = torch.Generator().manual_seed(sample)
    with torch.no_grad():
        for value in values:
            if isinstance(value, torch.Tensor) and value.is_floating_point() and has_own_places(value):
                signs = torch.randint(0, 2, value.shape, generator=generator) * 2 - 1
                roundings = ROUNDINGS_OF_HALVES if value.dtype in HALVES else ROUNDINGS
                value.detach().mul_(1 + roundings * torch.finfo(value.dtype).eps * signs)


def has_own_places(value: torch.Tensor) -> bool:
    """Whether each element has its own place in memory."""
    return not any(stride == 0 < size - 1 for stride, size in zip(value.stride(), value.shape, strict=True))


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    if one.shape != other.shape or not one.numel():
        return 0.0
    difference = (one.to(other.dtype) - other) if other.dtype is not torch.bool else (one ^ other)
    distances = difference.abs().double() if difference.dtype is not torch.bool else difference.double()
    distances = distances[distances.isfinite()]
    return float(distances.max()) if distances.numel() else 0.0
