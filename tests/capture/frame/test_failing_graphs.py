"""Graphs that raise in the middle: the thread gets back the modes of the call."""

from __future__ import annotations

import pytest
import torch

import capture
from capture.process.thread_state import read_modes


def without_gradients(x, i):
    with torch.no_grad():
        y = x[i] * 2
    return y + x


def under_autocast(x, i):
    with torch.autocast("cpu"):
        return (x @ x)[i]


def in_inference_mode(x, i):
    with torch.inference_mode():
        return x[i] * 2


def in_two(x, i):
    with torch.no_grad(), torch.autocast("cpu"):
        return (x @ x)[i]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [without_gradients, under_autocast, in_inference_mode, in_two])
def test_modes_after_an_error(function, backend):
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    x, before = torch.randn(4, 4), read_modes()
    compiled(x, torch.tensor([1]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiled(x, torch.tensor([9]))
    assert read_modes() == before
