"""Numbers of the type `np.float64` that change from call to call: values of schedules made with NumPy.

torch takes them for floats; Python computes with the numbers themselves.
"""

from __future__ import annotations

import operator as op
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import capture

X, A = torch.arange(1.0, 4.0), np.arange(3.0)


def decided(x, w):
    y = x + x * w if w != 0 else x
    return y, w > 0.25, isinstance(w, float), type(w) is np.float64


def computed(x, w):
    return x * (1 - w), w * 2, 1 - w, -w, w / 2, w - np.float64(1), float(w)


def typed(x, w):
    return x + 1, (w != 0) is True, (w * 2).dtype, type(w + 1).__name__


def as_arguments(x, w):
    added = x.add(x, alpha=w).lerp(x * 2, w)
    return added, torch.full((2,), w), x.clamp(max=w), x.new_full((2,), w)


def gives_its_dtype(x, w):
    return torch.tensor([w, 1.0]), torch.as_tensor([w]), torch.tensor(w), torch.tensor(max(w, 0.2))


def beside_an_array(x, w):
    return (torch.from_numpy(A * w + 1) * x, A * w, w * w) if w > -5 else x


def divided(x, w):
    return x * (1 / w) if w else x * (w + 1)


def fixed(x, w):
    return x * 2, str(w), round(w, 1), abs(w), {w: 1}


PROGRAMS = (decided, computed, typed, as_arguments, beside_an_array, divided)
VALUES = tuple(map(np.float64, (0.5, 0.25, 0.75, 3.0, 0.1, 1e30, 0.0, -0.0, -2.0)))
SPECIAL = tuple(map(np.float64, ("nan", "inf", "-inf")))


@pytest.mark.parametrize("program", [*PROGRAMS, fixed, gives_its_dtype], ids=lambda p: p.__name__)
def test_results_are_those_of_eager(program: Any) -> None:
    capture.reset()
    captured = capture.compile(program)
    with np.errstate(all="ignore"):
        for value in (*VALUES, *SPECIAL, *VALUES):
            got, expected = captured(X, value), program(X, value)
            assert str(got) == str(expected)
            assert list(map(type, got)) == list(map(type, expected))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_one_more_capture_serves_other_values(program: Any) -> None:
    capture.reset()
    captured = capture.compile(program)
    for value in (*VALUES[:5], *map(np.float64, np.linspace(0.1, 0.9, 20))):
        captured(X, value)
    assert capture.counters["recompiles"].total() <= 2
    assert not capture.counters["graph_breaks"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("operator", ["mul", "add", "sub", "truediv"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_number_is_rounded_as_a_float_is(operator: str, dtype: torch.dtype, swapped: bool) -> None:
    """A tensor of the number would be rounded to the dtype of the other one first."""
    function = getattr(op, operator)
    program = (lambda x, w: function(w, x)) if swapped else (lambda x, w: function(x, w))
    capture.reset()
    captured, x = capture.compile(program, backend="eager"), torch.linspace(0.1, 3, 500).to(dtype)
    for value in map(np.float64, (0.3, 0.7, 1.1)):
        got, expected = captured(x, value), program(x, value)
        assert got.dtype == expected.dtype and torch.equal(got, expected)


def test_another_type_is_another_capture() -> None:
    capture.reset()
    captured = capture.compile(computed)
    for value in (np.float64(0.5), 0.5, np.float64(0.25), 0.25, np.float32(0.5), 0.75, np.float64(0.75)):
        assert list(map(type, captured(X, value))) == list(map(type, computed(X, value)))


@pytest.mark.parametrize("cls", [torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop])
@pytest.mark.parametrize("foreach", [True, False])
def test_schedules_of_an_optimizer(cls: Any, foreach: bool) -> None:
    """As in training scripts that set `group["lr"] = schedule[step]`."""
    rates, decays = np.linspace(1e-3, 1e-2, 12), np.linspace(0.04, 0.4, 12)

    def trained(compile: Any) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Linear(4, 4)
        optimizer = cls(model.parameters(), foreach=foreach)

        def step(x: torch.Tensor) -> None:
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()

        run = compile(step)
        for rate, decay in zip(rates, decays):
            for group in optimizer.param_groups:
                group["lr"], group["weight_decay"] = rate, decay
            run(torch.randn(3, 4))
        return [p.detach() for p in model.parameters()]

    expected = trained(lambda function: function)
    capture.reset()
    for got, known in zip(trained(capture.compile), expected):
        torch.testing.assert_close(got, known)
    assert capture.counters["recompiles"].total() <= 4
