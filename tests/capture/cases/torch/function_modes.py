"""Modes that see each operation of torch, entered in the captured function.

test_function_modes.py has the modes around it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode, _pop_mode, _push_mode

from tests.capture.cases.registry import case, show


class Subtracting(TorchFunctionMode):
    """Subtracts instead of adding."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.add:
            func = torch.sub
        return func(*args, **(kwargs or {}))


class Shifted(TorchFunctionMode):
    def __init__(self, by):
        super().__init__()
        self.by = by

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result + self.by if func is torch.sin else result


class Recording(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((func.__name__, [t.__name__ for t in types], sorted(kwargs or {})))
        return func(*args, **(kwargs or {}))


@case(graphs=1, ops=3)
def mode_that_replaces(x):
    with Subtracting():
        y = torch.add(x, 1)
    return y + torch.add(x, 3)


@case(graphs=1, ops=3)
def mode_with_a_value(x):
    with Shifted(3):
        y = torch.sin(x)
    return y * 2


@case(graphs=1, ops=4)
def nested_modes(x):
    with Subtracting(), Shifted(2), BaseTorchFunctionMode():
        y = torch.sin(torch.add(x, 1))
    return y * 2


@case(graphs=1, ops=14, args=lambda: (torch.ones(3, 4), nn.Linear(4, 4)))
def what_a_mode_sees(x, layer):
    mode = Recording()
    with mode:
        y = x * x.shape[0] + x.T.sum() - x.size(0) + len(x) + x.dim()
        y = layer(y) + nn.functional.relu(x) + torch.ones(4)
        y[0] = 1.0
        rows = [row for row in x]
    return y, len(rows), mode.seen


@case(graphs=1, ops=2, args=lambda: (torch.ones(3), Recording()))
def existing_mode(x, mode):
    with mode as entered:
        y = torch.sin(x)
    return y * 2, entered is mode, mode.seen


@case(graphs=2, ops=4)
def break_inside_of_a_mode(x):
    with Subtracting():
        y = torch.add(x, 1)
        show("a break")
        z = torch.add(y, 1)
    return torch.add(z, 1) + y


@case(graphs=1, ops=2)
def exception_leaves_a_mode(x):
    try:
        with Subtracting():
            y = torch.add(x, 1)
            raise ValueError
    except ValueError:
        y = torch.add(y, 1)
    return y, torch._C._len_torch_function_stack()


@case(graphs=1, ops=3)
def mode_disabled(x):
    with Subtracting():
        with torch._C.DisableTorchFunctionSubclass():
            first = torch.add(x, 1)
        with torch._C.DisableTorchFunction():
            second = torch.add(x, 1)
            state = torch._C._is_torch_function_all_disabled(), torch._C._is_torch_function_mode_enabled()
        third = torch.add(x, 1)
    return first, second, third, state, torch._C._is_torch_function_mode_enabled()


@case(graphs=1, ops=2)
def pushed_and_popped(x):
    mode = Subtracting()
    _push_mode(mode)
    y = torch.add(x, 1)
    count = torch._C._len_torch_function_stack()
    same = _pop_mode() is mode
    return y, torch.add(x, 1), count, same


@contextlib.contextmanager
def subtracting():
    with Subtracting():
        yield


@case(graphs=1, ops=2)
def mode_in_a_generator(x):
    with subtracting():
        y = torch.add(x, 1)
    return torch.add(y, 1)


class Multiplying(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.sub:
            func = torch.mul
        return super().__torch_function__(func, types, args, kwargs or {})


@case(graphs=1, ops=1)
def mode_before_subclass(x):
    with Subtracting():
        return torch.add(x.as_subclass(Multiplying), 3.0).as_subclass(Tensor)


class Declining(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


@case(graphs=None)
def mode_that_declines(x):
    try:
        with Declining():
            return torch.add(x, 3.0)
    except TypeError as error:
        return str(error)[:24]


@case(graphs=1, ops=4)
def device_as_a_context(x):
    with torch.device("cpu") as device:
        y = torch.ones(4) + torch.arange(4)
        inside = torch.get_default_device()
    return x + y, device, inside, torch._C._len_torch_function_stack()


@case(graphs=None)
def other_device_as_a_context(x):
    with torch.device("meta"):
        y = torch.ones(4)
    return x + 1, y.device.type


@case(graphs=2, ops=4)
def break_in_a_device(x):
    with torch.device("cpu"):
        y = torch.ones(4) + x
        show("a break")
        return y + torch.full((4,), 2.0)


@case(graphs=None)
def default_device_set(x):
    torch.set_default_device("cpu")
    try:
        return x + torch.ones(4)
    finally:
        torch.set_default_device(None)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mode = Shifted(4)

    def forward(self, x):
        with self.mode:
            return torch.sin(x)


@case(graphs=1, ops=2, args=lambda: (torch.ones(3), Model()))
def mode_of_a_module(x, model):
    return model(x)


@case(graphs=1, ops=1)
def text_of_a_function(x):
    return torch.sin(x), str(torch.sin) == repr(torch.sin), str(torch.ops.aten.sin.default)


class InDouble(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (torch.zeros, torch.ones, torch.full):
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


@case(graphs=1, ops=3)
def mode_that_looks_for_the_function_in_a_tuple(x):
    with InDouble():
        made = torch.zeros(2), torch.ones(2)
    return x + 1, made
