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


def writes_in_inference_mode(x, i):
    with torch.inference_mode():
        x.mul_(1.0)
        return x[i] * 2


def in_two(x, i):
    with torch.no_grad(), torch.autocast("cpu"):
        return (x @ x)[i]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(
    "function", [without_gradients, under_autocast, in_inference_mode, in_two, writes_in_inference_mode]
)
def test_modes_after_an_error(function, backend):
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    x, before = torch.randn(4, 4), read_modes()
    compiled(x, torch.tensor([1]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiled(x, torch.tensor([9]))
    assert read_modes() == before


def without_autocast(x, i):
    return (x + 1)[i]


def in_nested_autocast(x, i):
    with torch.autocast("cpu"):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            return y[i]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [without_autocast, under_autocast, in_nested_autocast])
def test_regions_of_autocast_around_the_call_stay_open(function, backend):
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    x = torch.randn(4, 4)
    compiled(x, torch.tensor([1]))
    with torch.autocast("cpu", enabled=False), torch.autocast("cpu", enabled=False):
        before = read_modes()
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            compiled(x, torch.tensor([9]))
        assert read_modes() == before
    assert capture.counters["graphs"]["compiled"] == 1


def checked_write(x, i, log):
    log.append("before")
    y = x[i] * 2
    log.append("behind")
    x.add_(1)
    return y


def refused_write(x, i, log):
    y = x * 2
    log.append("before")
    x.add_(i)
    log.append("behind")
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
@pytest.mark.parametrize("function", [checked_write, refused_write])
def test_changes_of_objects_before_an_error(function, backend):
    """A graph that would write to an input raises before it has: Python makes the frame's other changes."""
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    for _ in range(2):
        x, log = torch.zeros(4, requires_grad=function is refused_write), []
        with pytest.raises((IndexError, RuntimeError), match="out of bounds|a leaf Variable"):
            compiled(x, torch.tensor([9]), log)
        assert log == ["before"]
        assert torch.equal(x, torch.zeros(4))


def write_and_fail(x, i):
    x.add_(1)
    return x[i]


def write_a_part_and_fail(x, i):
    x.mul_(1)  # the same bits, but a write
    return x[i]


@pytest.mark.parametrize("function", [write_and_fail, write_a_part_and_fail])
def test_writes_before_an_error_are_made_once(function):
    compiled = capture.compile(function, backend="eager")
    x = torch.zeros(4)
    version = x._version
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiled(x, torch.tensor([9]))
    assert x._version == version + 1


def hooked_and_fail(x, i, log):
    x.register_hook(lambda grad: grad * 2)
    x.data.add_(0)
    return x[i]


def test_hooks_before_an_error_are_registered_once():
    x = torch.zeros(4, requires_grad=True)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        capture.compile(hooked_and_fail, backend="eager")(x, torch.tensor([9]), [])
    x.sum().backward()
    assert torch.equal(x.grad, torch.full((4,), 2.0))
