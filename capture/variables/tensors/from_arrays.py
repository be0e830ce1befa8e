"""Rules of torch's functions that make tensors of arrays and other data.

In:  a call of `torch.tensor`, `as_tensor`, `asarray` or `from_numpy`.
Out: nodes of the graph. An array is a tensor there; a list that holds symbols is a new tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import holds_symbols
from capture.variables.core.rules import CALLS, rule
from capture.variables.tensors import numpy_inputs
from capture.variables.tensors.numpy_array import NumpyVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter


@rule(torch.from_numpy)
def _from_numpy(tx: Interpreter, array: Variable) -> Variable:
    if not isinstance(array, NumpyVariable) or not isinstance(array.example, np.ndarray):
        raise GraphBreak("unsupported_torch_function", name="from_numpy")
    return numpy_inputs.to_tensor(tx, array)


def _tensor_from(name: str, copies: bool) -> Callable[..., Variable]:
    """The rule for torch.tensor, as_tensor or asarray. It handles arrays; other data goes to torch."""
    function = getattr(torch, name)

    def call(tx: Interpreter, data: Variable, *args: Variable, **kwargs: Variable) -> Variable:
        if isinstance(data, NumpyVariable):
            if args or not set(kwargs) <= {"dtype", "device"}:
                raise GraphBreak("not_a_graph_argument", value=data)
            data = numpy_inputs.to_tensor(tx, data)
            if copies:
                data = tx.output.call_function(tx, torch.clone, [data], {})
            return tx.output.call_method(tx, "to", [data], kwargs) if kwargs else data
        if holds_symbols(tx, data):  # torch makes a new tensor of symbols in any case
            return tx.output.call_function(tx, torch.tensor, [data, *args], kwargs)
        return tx.output.call_function(tx, function, [data, *args], kwargs)

    return call


for _name, _copies in (("tensor", True), ("as_tensor", False), ("asarray", False)):
    CALLS[getattr(torch, _name)] = _tensor_from(_name, _copies)
