"""TensorFlow's element types, and the tensors of Const nodes.

In:  TensorProto.
Out: a torch tensor; ValueError says why there is none.

A TensorProto holds its elements as bytes (`tensor_content`), or as numbers in the list of its type. A list
may be shorter than the tensor: the last number stands for the rest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from capture.graphdef import schema

#: DataType -> torch.dtype, the list of a TensorProto that has its numbers
_KINDS: dict[str, tuple[torch.dtype, str]] = {
    "DT_FLOAT": (torch.float32, "float_val"),
    "DT_DOUBLE": (torch.float64, "double_val"),
    "DT_HALF": (torch.float16, "half_val"),
    "DT_BFLOAT16": (torch.bfloat16, "half_val"),
    "DT_INT8": (torch.int8, "int_val"),
    "DT_INT16": (torch.int16, "int_val"),
    "DT_INT32": (torch.int32, "int_val"),
    "DT_INT64": (torch.int64, "int64_val"),
    "DT_UINT8": (torch.uint8, "int_val"),
    "DT_UINT16": (torch.uint16, "int_val"),
    "DT_UINT32": (torch.uint32, "uint32_val"),
    "DT_UINT64": (torch.uint64, "uint64_val"),
    "DT_BOOL": (torch.bool, "bool_val"),
    "DT_COMPLEX64": (torch.complex64, "scomplex_val"),
    "DT_COMPLEX128": (torch.complex128, "dcomplex_val"),
}
#: the numbers of `half_val` are the bits of the elements
_BITS = {torch.float16: torch.int16, torch.bfloat16: torch.int16}
#: two numbers of these lists are one element
_PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
#: a protobuf message can't be longer: no tensor of a file is
_MOST_BYTES = 2**31


def dtype_name(number: int) -> str:
    """DT_FLOAT for 1; the number where TensorFlow's table has none that we know."""
    values = schema.message("TensorProto").DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_number
    return values[number].name if number in values else f"number {number}"


def torch_dtype(number: int) -> torch.dtype:
    name = dtype_name(number)
    if name not in _KINDS:
        raise ValueError(f"the dtype {name} has no form in torch")
    return _KINDS[name][0]


def shape_of(shape: Any) -> tuple[int, ...] | None:
    """The sizes of a TensorShapeProto, -1 where one is open. None: the rank is open."""
    return None if shape.unknown_rank else tuple(dim.size for dim in shape.dim)


def tensor_of(proto: Any) -> torch.Tensor:
    dtype = torch_dtype(proto.dtype)
    shape = shape_of(proto.tensor_shape)
    if shape is None or any(size < 0 for size in shape):
        raise ValueError("the shape of the tensor is open")
    count = math.prod(shape)
    if count * dtype.itemsize > _MOST_BYTES:
        raise ValueError(f"a tensor of sizes {shape} is too large for a GraphDef")
    if proto.tensor_content:
        return _from_bytes(proto.tensor_content, dtype, count).reshape(shape)
    return _from_numbers(proto, dtype, count).reshape(shape)


def _from_bytes(content: bytes, dtype: torch.dtype, count: int) -> torch.Tensor:
    if len(content) != count * dtype.itemsize:
        wanted = f"{count} elements of {dtype} have {count * dtype.itemsize}"
        raise ValueError(f"tensor_content has {len(content)} bytes, {wanted}")
    return torch.frombuffer(bytearray(content), dtype=dtype)


def _from_numbers(proto: Any, dtype: torch.dtype, count: int) -> torch.Tensor:
    field = _KINDS[dtype_name(proto.dtype)][1]
    given = getattr(proto, field)
    stored = _PARTS.get(dtype) or _BITS.get(dtype) or dtype
    numbers = torch.from_numpy(_checked(given, dtype in _BITS, stored)).view(dtype)
    if len(numbers) > count:
        raise ValueError(f"{field} has {len(numbers)} elements, the tensor has {count}")
    last = numbers[-1:] if len(numbers) else torch.zeros(1, dtype=dtype)
    return torch.cat([numbers, last.expand(count - len(numbers))])


def _checked(given: Any, are_bits: bool, stored: torch.dtype) -> np.ndarray:
    """The numbers in the type `stored`; none may lose digits."""
    kind = str(stored).removeprefix("torch.")
    wanted = np.dtype("uint16" if are_bits else kind)
    numbers = np.array(given, dtype=object if wanted.kind in "iu" else wanted)
    if wanted.kind in "iu" and len(numbers):
        limits = np.iinfo(wanted)
        if min(numbers) < limits.min or max(numbers) > limits.max:
            raise ValueError(f"a number of the tensor is out of the range of {kind}")
    return numbers.astype(wanted).view(kind) if are_bits else numbers.astype(wanted)
