"""Graphs that take tensors where the frame has another kind of value.

Such values are floats that change from call to call, arrays and numbers of NumPy, and tensors of a class with
its own operations.

In:  a graph, and for some of its places the function that makes the tensor.
Out: a callable that takes the values of the frame.

    graph(x, scale)   ->   graph(x, torch.tensor(scale, dtype=torch.float64))
"""

from __future__ import annotations

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
