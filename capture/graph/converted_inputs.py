"""Graphs that take tensors where the frame has another kind of value.

Such values are floats that change from call to call, arrays and numbers of NumPy, and tensors of a class with
its own operations.

In:  a graph, and for some of its places the function that makes the tensor.
Out: a callable that takes the values of the frame.

    graph(x, scale)   ->   graph(x, torch.tensor(scale, dtype=torch.float64))
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import _capture
import numpy as np
import torch

Conversion = Callable[[Any], torch.Tensor]


def number_as_tensor(value: float) -> torch.Tensor:
    """A Python float as a tensor, without loss."""
    return torch.tensor(value, dtype=torch.float64)


def numpy_number_as_tensor(value: np.generic) -> torch.Tensor:
    """A number of NumPy as a tensor of the same dtype."""
    return torch.from_numpy(np.array(value))


def read_only_array_as_tensor(value: np.ndarray[Any, Any]) -> torch.Tensor:
    """A tensor on the memory of an array that is read-only. (`torch.from_numpy` would warn.)

    The graph only reads it.
    """
    if not value.size or any(stride < 0 for stride in value.strides):
        return torch.from_numpy(value.copy())
    span = value.itemsize + sum((n - 1) * stride for n, stride in zip(value.shape, value.strides))
    memory = (ctypes.c_char * span).from_address(value.ctypes.data)
    memory.owner = value  # the tensor keeps it alive
    return torch.from_numpy(np.ndarray(value.shape, value.dtype, memory, strides=value.strides))


def plain_tensor(value: torch.Tensor) -> torch.Tensor:
    """The plain tensor on the same memory. Its gradient goes on to `value`."""
    with torch._C.DisableTorchFunction():
        return torch.Tensor.as_subclass(value, torch.Tensor)


class _ConvertedInputs:
    """Calls `graph` with the arguments at these places converted."""

    def __init__(self, graph: Callable[..., Any], places: tuple[tuple[int, Conversion], ...]) -> None:
        self.graph = graph
        self.places = places

    def __call__(self, *args: Any) -> Any:
        given = list(args)
        for place, convert in self.places:
            given[place] = convert(given[place])
        return self.graph(*given)

    @property
    def may_fail(self) -> bool:
        return getattr(self.graph, "may_fail", True)


def converted_inputs(
    graph: Callable[..., Any], places: tuple[tuple[int, Conversion], ...]
) -> Callable[..., Any]:
    """`graph`, called with the arguments at these places converted.

    The extension does it if it has `ConvertedInputs`. It makes the tensor of a float itself.
    """
    if not hasattr(_capture, "ConvertedInputs"):
        return _ConvertedInputs(graph, places)
    made: Callable[..., Any] = _capture.ConvertedInputs(graph, places, number_as_tensor)
    return made
