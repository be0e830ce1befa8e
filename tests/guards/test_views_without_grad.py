"""A view of a parameter made without grad mode reports requires_grad, though its own flag is off.

An entry for plain tensors does not fit it.
"""

from __future__ import annotations

import pytest
import torch

import capture


@pytest.mark.parametrize("plain_first", [True, False])
def test_results_require_grad_as_in_eager(plain_first):
    weight = torch.nn.Parameter(torch.ones(2, 2))
    with torch.no_grad():
        view = weight.t()
    plain = torch.ones(2, 2).t()
    compiled = capture.compile(lambda x: x * 2)
    for argument in (plain, view, plain) if plain_first else (view, plain, view):
        assert compiled(argument).requires_grad == (argument * 2).requires_grad
