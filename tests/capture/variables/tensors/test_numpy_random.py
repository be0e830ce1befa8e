"""NumPy's random streams go on as in eager: each call draws anew, and none is a constant of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import capture

Program = Callable[[torch.Tensor, Any], Any]


def scalar(x: torch.Tensor, rng: Any) -> Any:
    return x * np.random.rand() + np.random.randint(3)


def array(x: torch.Tensor, rng: Any) -> Any:
    return x + torch.from_numpy(np.random.randn(3))


def decides(x: torch.Tensor, rng: Any) -> Any:
    if np.random.rand() < 0.5:
        x = x.flip(0)
    return torch.roll(x, np.random.randint(0, 3))


def of_a_generator(x: torch.Tensor, rng: Any) -> Any:
    return x * rng.random() + torch.from_numpy(rng.normal(size=3))


def made_in_the_frame(x: torch.Tensor, rng: Any) -> Any:
    return x * np.random.default_rng(4).random() + np.random.RandomState(4).rand()


def seeded_in_the_frame(x: torch.Tensor, rng: Any) -> Any:
    np.random.seed(5)
    return x * np.random.uniform(0, 2)


PROGRAMS = [scalar, array, decides, of_a_generator, made_in_the_frame, seeded_in_the_frame]


def run(fn: Program) -> list[Any]:
    np.random.seed(3)
    rng, x = np.random.default_rng(7), torch.arange(3.0)
    return [*(fn(x, rng).tolist() for _ in range(4)), np.random.random(), rng.random()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_stream_goes_on(program: Program) -> None:
    assert run(capture.compile(program)) == run(program)
