"""What torch's `Module.__call__` finds on the instance in place of the class's attribute.

In:  a module with an attribute of its own, set before or between two calls.
Out: eager's results and gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import capture

X = torch.ones(2, 3)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        nn.init.constant_(self.inner.weight, 0.5)
        nn.init.zeros_(self.inner.bias)

    def forward(self, x):
        return self.inner(x)


class OwnCallImpl(Plain):
    def _call_impl(self, *args, **kwargs):
        return super()._call_impl(*args, **kwargs) * 3


class OwnCall(Plain):
    def __call__(self, *args):
        return super().__call__(*args) * 5


def unchanged(module: Any) -> None:
    pass


def call_impl(module: Any) -> None:
    module._call_impl = lambda *args: nn.Module._call_impl(module, *args) * 7


def call_impl_of_a_part(module: Any) -> None:
    call_impl(module.inner)


def compiled_call_impl(module: Any) -> None:
    module._compiled_call_impl = lambda x: x * 11


def no_compiled_call_impl(module: Any) -> None:
    module._compiled_call_impl = None


def compiled(module: Any) -> None:
    module.compile(backend="eager")


def wrapped_call_impl(module: Any) -> None:
    module._wrapped_call_impl = lambda x: x * 0


def dunder_call(module: Any) -> None:
    module.__dict__["__call__"] = lambda x: x * 0


def slow_forward(module: Any) -> None:
    module._slow_forward = lambda x: x * 0


def forward(module: Any) -> None:
    module.forward = lambda x: x * 13


def hooks(module: Any) -> None:
    module._forward_hooks = {1: lambda module, args, result: result * 2}


def pre_hooks(module: Any) -> None:
    module._forward_pre_hooks = {1: lambda module, args: (args[0] * 2,)}


def backward_hooks(module: Any) -> None:
    module.register_full_backward_hook(lambda module, grads, results: (grads[0] * 2,))
    module._get_backward_hooks = lambda: ([], [])


EDITS = [unchanged, call_impl, call_impl_of_a_part, compiled_call_impl, no_compiled_call_impl, compiled,
         wrapped_call_impl, dunder_call, slow_forward, forward, hooks, pre_hooks, backward_hooks]  # fmt: skip


def program(module, x):
    return module(x) * 2


def outcome(run: Callable[..., Any], module: nn.Module) -> Any:
    x = X.clone().requires_grad_()
    result = run(module, x)
    result.sum().backward()
    return result.tolist(), x.grad.tolist()


@pytest.mark.parametrize("called_before", [False, True])
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", [Plain, OwnCallImpl, OwnCall])
def test_the_instance_is_asked(kind: Any, edit: Any, called_before: bool) -> None:
    captured = capture.compile(program, backend="eager")
    eager, module = kind(), kind()
    if called_before:
        assert outcome(captured, module) == outcome(program, eager)
    edit(eager)
    edit(module)
    assert outcome(captured, module) == outcome(program, eager)


def test_the_frame_sets_it() -> None:
    def frame(module, x):
        module._call_impl = lambda y: y * 7
        return module(x)

    assert torch.equal(capture.compile(frame, backend="eager")(Plain(), X), frame(Plain(), X))
