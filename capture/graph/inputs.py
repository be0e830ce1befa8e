"""The inputs of a graph: one placeholder for each.

In:  the source of a tensor, a number or an array, its value, and its placeholder.
Out: a `GraphInput`. It knows the example for the backend, and how to make the tensor from the value that the
     guard program loads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from capture.graph.converted_inputs import (
    Conversion,
    number_as_tensor,
    numpy_number_as_tensor,
    plain_tensor,
    read_only_array_as_tensor,
)
from guards.sources import Source

if TYPE_CHECKING:
    import torch.fx


def version_of(value: Any) -> int | None:
    """How often a fake tensor was written to.

    None where nobody counts that (inference tensors) or where it has no meaning.
    """
    if not isinstance(value, torch.Tensor) or value.is_inference():
        return None
    return value._version


class GraphInput:
    """A placeholder, its value, and the source of the value (a tensor, or an int that is a symbol)."""

    convert: Conversion | None = None  # makes the tensor from the value at the source

    def __init__(self, source: Source, node: torch.fx.Node, value: Any) -> None:
        self.source = source
        self.node = node
        self.value = value
        self.version = version_of(node.meta["example_value"])

    @property
    def example(self) -> Any:
        """The value that the backend sees."""
        return self.value


class FloatInput(GraphInput):
    """A float that changes from call to call: the graph takes it as a 0-d tensor."""

    convert = staticmethod(number_as_tensor)

    @property
    def example(self) -> Any:
        return number_as_tensor(self.value)


class SubclassInput(GraphInput):
    """A tensor of a class with its own operations.

    The graph takes the plain tensor on the same memory, which is `value` here.
    """

    convert = staticmethod(plain_tensor)


class ArrayInput(GraphInput):
    """A NumPy array: the graph takes the tensor that shares its memory, which is `value` here."""

    convert: Any = staticmethod(torch.from_numpy)


class ReadOnlyArrayInput(ArrayInput):
    """The same for an array to which nobody may write."""

    convert = staticmethod(read_only_array_as_tensor)


class NumpyNumberInput(GraphInput):
    """A number of NumPy: the graph takes it as a 0-d tensor, which is `value` here."""

    convert = staticmethod(numpy_number_as_tensor)


def input_name(source: Source) -> str:
    return re.sub(r"\W+", "_", f"l_{source.text}_").lower()
