"""Handles of hooks that captured code removes: a new handle at each call needs no new graph."""

from __future__ import annotations

import pytest
import torch

import capture
from capture.report.counters import counters


@pytest.fixture
def model():
    torch.manual_seed(0)
    yield torch.nn.Linear(4, 5)
    capture.reset()


INPUTS = [torch.full((3, 4), float(i)) for i in range(1, 6)]


def step(x, model):
    model.weight.grad = None
    handle = model.weight.register_hook(lambda grad: grad * 2)
    model(x).sum().backward()
    handle.remove()
    return model.weight.grad


def test_a_hook_for_one_step(model):
    counters.clear()
    captured = capture.compile(step, backend="eager")
    for x in INPUTS:
        torch.testing.assert_close(captured(x, model), step(x, model))
    assert not counters["recompiles"]
    assert not model.weight._backward_hooks


def scoped(x, model):
    model.weight.grad = None
    with model.weight.register_hook(lambda grad: grad * 3) as handle:
        model(x).sum().backward()
    return model.weight.grad, len(handle.hooks_dict_ref())


def test_the_handle_as_a_context(model):
    captured = capture.compile(scoped, backend="eager")
    for x in INPUTS:
        torch.testing.assert_close(captured(x, model), scoped(x, model))


def remove_and_call(handle, x, model):
    handle.remove()
    return model(x).detach()


REGISTER = {
    "of a tensor": lambda model: model.weight.register_hook(lambda grad: grad * 100),
    "behind the gradient": lambda model: model.weight.register_post_accumulate_grad_hook(lambda p: None),
    "backward of a module": lambda model: model.register_full_backward_hook(lambda m, before, after: None),
    "forward of a module": lambda model: model.register_forward_hook(lambda m, args, result: result * 2),
}


@pytest.mark.parametrize("kinds", [[kind] for kind in REGISTER] + [list(REGISTER)])
def test_handles_from_outside(model, kinds):
    captured = capture.compile(remove_and_call, backend="eager")
    for i, x in enumerate(INPUTS):
        handle = REGISTER[kinds[i % len(kinds)]](model)
        torch.testing.assert_close(captured(handle, x, model), model(x).detach())
        assert not handle.hooks_dict_ref()


def look_behind(handle, x, model):
    y = x * 2
    handle.remove()
    return y, len(model._backward_hooks), model(x).detach()


def test_hooks_of_modules_are_looked_at_behind_a_removal(model):
    captured = capture.compile(look_behind, backend="eager")
    for x in INPUTS:
        expected = look_behind(REGISTER["backward of a module"](model), x, model)
        torch.testing.assert_close(captured(REGISTER["backward of a module"](model), x, model), expected)
