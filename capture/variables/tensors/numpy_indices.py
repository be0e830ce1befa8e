"""NumPy's arrays as indices of tensors: `images[order[start:stop]]`, `scores[np.arange(n), labels]`.

In:  the key of `tensor[key]`.
Out: the key, with a tensor in the place of each array of ints or bools, as torch has it: other ints become
     int64. Other arrays stay, and the graph breaks: bytes are masks, with a warning; an array without dims is
     a number in some places; a read-only one warns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.overriding import concerns
from capture.variables.tensors.numpy_array import NumpyVariable
from capture.variables.tensors.numpy_inputs import to_tensor

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable

DTYPES = tuple(np.dtype(kind) for kind in (np.bool_, np.int8, np.int16, np.int32, np.int64))


def arrays_as_tensors(tx: Interpreter, tensor: TensorVariable, key: Variable) -> Variable:
    if concerns(tx.output, [tensor], {}):  # the program's function gets the arrays themselves
        return key
    if type(key) is not TupleVariable:
        return _as_tensor(tx, key)
    items = [_as_tensor(tx, item) for item in key.items]
    return key if items == key.items else TupleVariable(items)


def _as_tensor(tx: Interpreter, key: Variable) -> Variable:
    key = realize(key)
    if not isinstance(key, NumpyVariable) or not isinstance(key.example, np.ndarray):
        return key
    if not key.example.ndim or key.example.dtype not in DTYPES or not key.example.flags.writeable:
        return key
    places = to_tensor(tx, key)
    if key.example.dtype in (np.bool_, np.int64):
        return places
    return tx.output.call_method(tx, "to", [places, ConstantVariable(torch.int64)], {})
