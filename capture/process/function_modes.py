"""The stack of torch's function modes (`TorchFunctionMode`): a mode sees each operation.

In:  the thread's stack of modes.
Out: `paused()`: the modes are off the stack while a frame is translated and compiled, because they must see
     only the operations of the program. The translation has its own stack, `OutputGraph.modes`. The code
     after the graph repeats the pushes and pops.

    with Mode(): y = torch.sin(x)    ->    Mode.__torch_function__ is interpreted, and the operations that it
                                           calls are in the graph
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

pop, push = torch._C._pop_torch_function_stack, torch._C._push_on_torch_function_stack

_paused: list[tuple[Any, ...]] = []  # one list for all threads: only one capture runs at a time


def stack() -> tuple[Any, ...]:
    return tuple(map(torch._C._get_function_stack_at, range(torch._C._len_torch_function_stack())))


def at_entry() -> tuple[Any, ...]:
    """The modes around the frame under translation."""
    return _paused[-1] if _paused else ()


@contextlib.contextmanager
def paused() -> Iterator[None]:
    modes = stack()
    _pop(modes)
    _paused.append(modes)
    try:
        yield
    finally:
        _paused.pop()
        _push(modes)


@contextlib.contextmanager
def resumed() -> Iterator[None]:
    """A block inside `paused` in which the thread has the modes of the program again."""
    modes = at_entry()
    _push(modes)
    try:
        yield
    finally:
        _pop(modes)


def _pop(modes: tuple[Any, ...]) -> None:
    for _ in modes:
        pop()


def _push(modes: tuple[Any, ...]) -> None:
    for mode in modes:
        push(mode)


def are_followed() -> bool:
    """Whether all modes have handlers that can be interpreted: torch's own tracers are not interpreted."""
    return all(map(is_followed, stack()))


def is_followed(mode: Any) -> bool:
    kind = type(mode)
    handler = getattr(kind, "__torch_function__", None)
    of_torch = kind.__module__.startswith("torch.") and kind not in (DeviceContext, BaseMode)
    return isinstance(mode, TorchFunctionMode) and isinstance(handler, types.FunctionType) and not of_torch


BaseMode = torch.overrides.BaseTorchFunctionMode


class WithoutModes:
    """A graph that runs without modes: capture has already applied the modes to its operations."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def __call__(self, *args: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return self.graph(*args)
