"""A view of a parameter made without grad mode reports requires_grad, though its own flag is off.

An entry for plain tensors does not fit it.
"""

from __future__ import annotations

import warnings

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


def test_a_view_that_has_lost_its_place_is_no_failure_of_a_guard():
    def marked(view):
        return view.requires_grad_()

    compiled = capture.compile(marked)
    compiled(torch.ones(3)[1:])
    base = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        view = base[1:]
    base.mul_(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", capture.CaptureWarning)
        assert compiled(view) is view
