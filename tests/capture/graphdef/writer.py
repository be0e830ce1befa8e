"""Writes GraphDefs with the project's own messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from capture.graphdef import schema

TYPES = {
    "float16": 19,
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "uint16": 17,
    "complex128": 18,
    "uint32": 22,
    "uint64": 23,
}


class Writer:
    def __init__(self) -> None:
        self.graph = schema.message("GraphDef")()

    def node(self, name: str, op: str, *inputs: str, **attributes: Any) -> Any:
        """Attributes by their Python type: bool, int, float, str, a list of int, np.dtype, TensorProto."""
        made = self.graph.node.add(name=name, op=op, input=inputs)
        for key, value in attributes.items():
            self._set(made.attr[key], value)
        return made

    def placeholder(self, name: str, dtype: str = "float32") -> None:
        self.node(name, "Placeholder", dtype=np.dtype(dtype))

    def const(self, name: str, value: Any, dtype: str | None = None) -> None:
        array = np.asarray(value, dtype)
        if dtype is None and array.dtype.kind in "if":
            array = array.astype("int32" if array.dtype.kind == "i" else "float32")
        self.node(name, "Const", dtype=array.dtype, value=tensor(array))

    def _set(self, attr: Any, value: Any) -> None:
        if isinstance(value, bool):
            attr.b = value
        elif isinstance(value, int):
            attr.i = value
        elif isinstance(value, float):
            attr.f = value
        elif isinstance(value, str):
            attr.s = value.encode()
        elif isinstance(value, np.dtype):
            attr.type = TYPES[value.name]
        elif isinstance(value, list):
            attr.list.i.extend(value)
        else:
            attr.tensor.CopyFrom(value)

    def bytes(self) -> bytes:
        return self.graph.SerializeToString()


def tensor(array: np.ndarray) -> Any:
    proto = schema.message("TensorProto")(dtype=TYPES[array.dtype.name], tensor_content=array.tobytes())
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def numbered(dtype: int, shape: tuple[int, ...], **numbers: Any) -> Any:
    """A TensorProto with its numbers in the list of its type."""
    proto = schema.message("TensorProto")(dtype=dtype, **numbers)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def bits(value: torch.Tensor) -> list[int]:
    """The elements of 16 bits as whole numbers."""
    return [number & 0xFFFF for number in value.view(torch.int16).flatten().tolist()]
