"""Whether a result is further from the truth than eager's by more than rounding.

In:  the results of eager, of a stage, and of float64, by name.
Out: a `Difference` for each result that is wrong.

    eager 0.30000001, stage 0.30000004, truth 0.3      ->  none: both round
    eager 0.30000001, stage 0.31, truth 0.3            ->  Difference("result 0", ...)
"""

from __future__ import annotations

from typing import Any

import torch

from capture.checking.runs import Results
from capture_records import dataclass

WORSE = 10.0  # times eager's own error
ROUNDINGS = 32.0  # of a value, and of a mean value of the tensor
#: The same for dtypes of two or three digits, where 32 roundings are a quarter of the value. Operations
#: compute in float32 and round once, so that a right result is hardly further from the truth than eager's.
WORSE_OF_HALVES, ROUNDINGS_OF_HALVES = 3.0, 2.0
HALVES = (torch.float16, torch.bfloat16)
WITHOUT_TRUTH = 4.0  # square roots of the rounding of the dtype


@dataclass(frozen=True)
class Difference:
    """A result that is wrong. Its values are those of its worst element."""

    name: str
    what: str
    error: float = 0.0  # distance from the truth
    eager_error: float = 0.0
    places: torch.Tensor | None = None  # which elements are wrong

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


def differences(
    eager: Results, stage: Results, truth: Results | None, noise: dict[str, float] | None = None
) -> list[Difference]:
    """What is wrong in the results of a stage. `noise`: errors of eager that were seen on other inputs."""
    found = []
    for name, expected in eager.items():
        true = None if truth is None else truth.get(name)
        difference = compare(name, expected, stage.get(name), true, (noise or {}).get(name, 0.0))
        if difference is not None:
            found.append(difference)
    return found


def compare(name: str, eager: Any, stage: Any, truth: Any, noise: float = 0.0) -> Difference | None:
    if not isinstance(eager, torch.Tensor) or not isinstance(stage, torch.Tensor):
        same = type(eager) is type(stage) and (eager == stage or eager != eager)
        return None if same else Difference(name, f"eager has {_text(eager)}, the stage {_text(stage)}")
    if _kind(eager) != _kind(stage):
        return Difference(name, f"eager has {_kind(eager)}, the stage {_kind(stage)}")
    if eager.is_complex():
        eager, stage = torch.view_as_real(eager), torch.view_as_real(stage)
        truth = torch.view_as_real(truth) if isinstance(truth, torch.Tensor) and truth.is_complex() else None
    if not eager.is_floating_point():
        wrong = eager != stage
        return _worst(name, wrong, eager, stage, eager, wrong.double()) if wrong.any() else None
    return _compare_floats(name, eager, stage, truth, noise)


def _compare_floats(
    name: str, eager: torch.Tensor, stage: torch.Tensor, truth: Any, noise: float
) -> Difference | None:
    rounding = torch.finfo(eager.dtype).eps
    known = isinstance(truth, torch.Tensor) and truth.shape == eager.shape and truth.dtype is torch.float64
    e, s = eager.double(), stage.double()
    t = truth if known else e
    plain = e.isfinite() & t.isfinite()
    mean = t[plain].square().mean().sqrt() if plain.any() else torch.zeros((), dtype=torch.float64)
    eager_error = torch.where(plain, (e - t).abs(), 0.0)
    worse, roundings = (WORSE_OF_HALVES, ROUNDINGS_OF_HALVES) if eager.dtype in HALVES else (WORSE, ROUNDINGS)
    allowed = roundings * rounding * (t.abs() + mean)
    if known:
        allowed = allowed + worse * max(float(eager_error.max()) if e.numel() else 0.0, noise)
    else:
        allowed = WITHOUT_TRUTH * rounding**0.5 * (t.abs() + mean)
    error = torch.where(s.isfinite(), (s - t).abs(), torch.inf)
    # Where eager overflows or has no number, the same or the true value is right.
    same = (e == s) | (e.isnan() & s.isnan())
    wrong = ~same & ~(error <= torch.where(allowed.isfinite(), allowed, 0.0))
    if not wrong.any():
        return None
    return _worst(name, wrong, eager, stage, t if known else None, error)


def _worst(
    name: str, wrong: torch.Tensor, eager: Any, stage: Any, truth: Any, error: torch.Tensor
) -> Difference:
    errors = torch.where(wrong, error, -1.0).flatten()
    flat = int(errors.argmax())
    place = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), error.shape)) if error.dim() else ()
    values = [_number(eager[place]), _number(stage[place])]
    count = f"{int(wrong.sum())} of {wrong.numel()} elements"
    text = f"{count}; at {list(place)} eager has {values[0]}, the stage {values[1]}"
    eager_error = 0.0
    if truth is not None and truth is not eager:
        text += f", the truth is {_number(truth[place])}"
        eager_error = float((eager[place].double() - truth[place]).abs())
    return Difference(name, text, float(errors[flat]), eager_error, wrong)


def _number(value: torch.Tensor) -> str:
    return f"{value.item():.9g}" if value.is_floating_point() else str(value.item())


def _kind(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def _text(value: Any) -> str:
    return _kind(value) if isinstance(value, torch.Tensor) else repr(value)
