"""NumPy's arrays and numbers from outside, and the ways from tensors to arrays and back.

In:  an existing array or number; `tensor.numpy()`; `torch.from_numpy(array)`.
Out: inputs of the graph, and tensors on the same memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph import numpy_functions
from capture.graph.converted_inputs import read_only_array_as_tensor
from capture.report.break_reasons import GraphBreak
from capture.report.retry import SizesAsNumbers
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.overriding import concerns
from capture.variables.tensors.numpy_array import NumpyVariable
from capture.variables.tensors.tensor import TENSOR_METHODS, TensorVariable
from capture.variables.tensors.tensor_data import read_data
from guards.sources import ConstantSource
from guards.values import NUMPY_NUMBERS

if TYPE_CHECKING:
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


def wrap_array(output: Output, value: np.ndarray[Any, Any], source: Source | None) -> Variable:
    """An existing array as an input of the graph: the tensor that shares its memory."""
    tensor = _shared_tensor(value)
    if tensor is None or source is None:
        return OpaqueVariable(
            value, source, "unknown_type", value=f"ndarray object {source.text if source else ''}"
        )
    example = numpy_functions.stand_in(tensor)
    if not value.flags.writeable:
        example.flags.writeable = False  # NumPy itself refuses to write to it, and to its views
    result = NumpyVariable(output.inputs.add_array(value, tensor, source), example, source)
    result.value = value
    return result


def wrap_number(output: Output, value: np.generic, source: Source | None) -> Variable:
    """An existing number as an input of the graph: a 0-d tensor."""
    if source is None or isinstance(source, ConstantSource):
        return ConstantVariable(value)
    changing = output.symbols.number_variable(value, source)
    if changing is not None:
        return changing
    tensor = output.inputs.add_numpy_number(value, source)
    number = NumpyVariable(tensor, numpy_functions.stand_in(tensor.fake)[()], source)
    if type(value) in NUMPY_NUMBERS:
        number.present, number.origins, number.output = value, {source: value}, output
    return number


def _shared_tensor(value: np.ndarray[Any, Any]) -> torch.Tensor | None:
    """The tensor on the memory of an array. None if a tensor can't share that memory."""
    if not value.flags.aligned or not value.dtype.isnative:
        return None
    try:
        tensor = (torch.from_numpy if value.flags.writeable else read_only_array_as_tensor)(value)
    except (TypeError, ValueError):  # torch lacks the dtype, or the strides are negative
        return None
    return tensor if str(tensor.dtype) == f"torch.{value.dtype}" else None


def from_tensor(tx: Interpreter, tensor: TensorVariable) -> NumpyVariable:
    """`tensor.numpy()`."""
    fake = tensor.fake
    if any(not isinstance(n, int) for n in (*fake.shape, *fake.stride())):
        raise SizesAsNumbers("sizes of an array", tx.output.symbols.places_in([fake]))
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise GraphBreak("method", name="numpy", value=tensor)
    plain = fake.device.type == "cpu" and fake.layout == torch.strided and not fake.requires_grad
    if not plain or fake.is_conj() or fake.is_neg():
        raise GraphBreak("method", name="numpy", value=tensor)
    try:
        example = numpy_functions.stand_in(fake)
    except (TypeError, RuntimeError):  # bfloat16; overlapping memory
        raise GraphBreak("method", name="numpy", value=tensor) from None
    return NumpyVariable(read_data(tensor, tx), example)  # torch counts no writes to the array


def to_tensor(tx: Interpreter, array: NumpyVariable) -> Variable:
    """`torch.from_numpy(array)`, which warns of one that is read-only. Modes would see how it is made."""
    if not array.example.flags.writeable or concerns(tx.output, (), {}):
        raise GraphBreak("unsupported_torch_function", name="from_numpy")
    return read_data(array.tensor, tx)


def _numpy(self: TensorVariable, tx: Interpreter, **kwargs: Variable) -> Variable:
    if kwargs:
        raise GraphBreak("method", name="numpy", value=self)
    return from_tensor(tx, self)


TENSOR_METHODS["numpy"] = _numpy
