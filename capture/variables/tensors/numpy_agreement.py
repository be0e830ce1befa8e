"""Whether a node gives what NumPy gives: the dtype, the shape, the layout, and whose memory it is.

In:  a node's result, and NumPy's own of the same operation on stand-ins.
Out: yes or no; a copy in NumPy's layout; the break where they differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph import numpy_functions
from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.constant import ConstantVariable
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.numpy_array import NumpyVariable


def is_like(fake: torch.Tensor, example: Any) -> bool:
    """Whether the dtype and shape are the same."""
    if not isinstance(example, (np.ndarray, np.generic)):
        return False
    return str(fake.dtype) == f"torch.{example.dtype}" and tuple(fake.shape) == example.shape


def same_strides(fake: torch.Tensor, example: Any) -> bool:
    steps = [s * fake.element_size() for s in fake.stride()]
    return example.size == 0 or all(
        size == 1 or left == right for size, left, right in zip(example.shape, steps, example.strides)
    )


def laid_out(tx: Interpreter, result: TensorVariable, example: Any) -> TensorVariable:
    """A copy in the layout that NumPy gives a new array."""
    strides: list[Variable] = [ConstantVariable(s // example.itemsize) for s in example.strides]
    copied = tx.output.call_function(tx, numpy_functions.with_strides, [result, TupleVariable(strides)], {})
    assert isinstance(copied, TensorVariable)
    return copied


def shares(result: TensorVariable, example: Any, operand: NumpyVariable) -> tuple[bool, bool]:
    """Whether a result shares memory with an operand: first in NumPy, then in the graph.

    A number of NumPy has memory of its own: `number = array[0]` stays when the program writes to the array.
    """
    storages = [t.fake.untyped_storage()._cdata for t in (result, operand.tensor)]
    in_graph = storages[0] == storages[1] and result.fake.numel() > 0
    if not isinstance(example, np.ndarray) or not isinstance(operand.example, np.ndarray):
        return False, in_graph
    return bool(np.may_share_memory(example, operand.example)) and example.size > 0, in_graph


def differs(name: str) -> GraphBreak:
    return GraphBreak("numpy_differs", name=name, what="result")
