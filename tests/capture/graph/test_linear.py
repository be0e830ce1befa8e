"""Which hooks scale a gradient."""

from __future__ import annotations

import pytest
import torch

from capture.graph.linear import is_linear_in_first_input

LINEAR = {
    "scaled": lambda g, m: g * 2,
    "masked": lambda g, m: m * g / 3,
    "negative": lambda g, m: -g.clone(),
    "sum": lambda g, m: g * m + g,
    "as it is": lambda g, m: g,
}
OTHER = {
    "clamped": lambda g, m: g.clamp(-1, 1),
    "square": lambda g, m: g * g,
    "moved": lambda g, m: g + m,
    "divisor": lambda g, m: m / g,
    "rounded": lambda g, m: torch.div(g, 2, rounding_mode="floor"),
    "another": lambda g, m: m * 2,
}


@pytest.mark.parametrize("hook", LINEAR.values(), ids=LINEAR)
def test_linear(hook):
    assert is_linear_in_first_input(torch.fx.symbolic_trace(hook).graph)


@pytest.mark.parametrize("hook", OTHER.values(), ids=OTHER)
def test_not_linear(hook):
    assert not is_linear_in_first_input(torch.fx.symbolic_trace(hook).graph)
