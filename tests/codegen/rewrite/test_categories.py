"""`multinomial` gives eager's categories and leaves the generator where eager leaves it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import capture

LAYOUTS = {
    "a vector": lambda: torch.rand(5),
    "one category": lambda: torch.rand(3, 1),
    "rows": lambda: torch.rand(6, 40),
    "columns": lambda: torch.rand(40, 6).t(),
    "a slice": lambda: torch.rand(6, 9)[:, ::2],
    "zeros": lambda: torch.tensor([[0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 3.0]]),
    "a wide row": lambda: torch.rand(1, 5000),
}
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def draw(weights: torch.Tensor, count: int) -> torch.Tensor:
    return torch.multinomial(weights, count) + 1


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", LAYOUTS)
def test_draws(name: str, dtype: torch.dtype, dynamic: bool) -> None:
    torch.manual_seed(0)
    weights = LAYOUTS[name]().to(dtype)
    for count in {1, min(2, weights.shape[-1], int((weights > 0).sum(-1).min())), weights.shape[-1]}:
        compiled = capture.compile(draw, dynamic=dynamic)
        for _ in range(3):
            expected, after = drawn(draw, weights, count)
            found, moved = drawn(compiled, weights, count)
            assert torch.equal(found, expected) and found.stride() == expected.stride()
            assert torch.equal(after, moved)


def drawn(fn: Any, weights: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return fn(weights, count), torch.get_rng_state()


@pytest.mark.parametrize(
    "bad", [[-1.0, 2.0], [math.inf, 1.0], [math.nan, 1.0], [[1.0, 1.0], [0.0, 0.0]], [0.0]]
)
def test_bad_weights_raise_before_a_number_is_drawn(bad: list[Any]) -> None:
    good, weights = torch.ones(torch.tensor(bad).shape), torch.tensor(bad)
    compiled = capture.compile(draw)
    compiled(good, 1)
    outcomes = []
    for fn in (draw, compiled):
        torch.manual_seed(2)
        with pytest.raises(RuntimeError) as raised:
            fn(weights, 1)
        outcomes.append((str(raised.value), torch.rand(1).item()))
    assert outcomes[0] == outcomes[1]


def test_the_operator_is_not_called() -> None:
    compiled = capture.compile(draw)
    weights = torch.ones(2, 3)
    compiled(weights, 1)
    with torch.profiler.profile() as profile:
        compiled(weights, 1)
    names = {event.name for event in profile.events()}
    assert "aten::exponential_" in names and "aten::multinomial" not in names
