"""Internals of torch's Python libraries (`torch.distributions`, `torch.nn.utils`) that are written in C, or that only Python could follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.distributions.utils import _lazy_property_and_property

from capture.break_reasons import GraphBreak
from capture.rules import rule
from capture.variables.base import Variable
from capture.variables.lists import ListVariable
from capture.variables.mapping import DictVariable
from capture.variables.sequence import TupleVariable
from capture.variables.tensor import TensorVariable
from guards.source import ConstantSource

if TYPE_CHECKING:
    from capture.translator import Translator


@rule(_lazy_property_and_property)
def _lazy_property_of_class(tx: Translator, wrapped: Variable) -> Variable:
    """A lazy property asked of its class. Whoever asks wants to know that it is one, so one object does for all."""
    made = _lazy_property_and_property(wrapped.real_value())
    return tx.wrap(made, ConstantSource(made))


@rule(torch._C._group_tensors_by_device_and_dtype)
def _grouped(tx: Translator, lists: Variable, with_indices: Variable | None = None) -> Variable:
    """Torch groups stand-ins: so order and indices are its own."""
    held: dict[int, Variable] = {}

    def stand_in(tensor: Variable) -> Any:
        if tensor.is_exactly(None):
            return None
        if not isinstance(tensor, TensorVariable):
            raise GraphBreak("builtin", name="_group_tensors_by_device_and_dtype", value=tensor)
        made = torch.empty(0, dtype=tensor.fake.dtype, device=tensor.fake.device)
        held[id(made)] = tensor
        return made

    def variable(part: Any) -> Variable:
        if type(part) in (list, tuple):
            items = [variable(item) for item in part]
            return ListVariable(items) if type(part) is list else TupleVariable(items)
        return held[id(part)] if isinstance(part, torch.Tensor) else tx.wrap_constant(part)

    made = [[stand_in(tensor) for tensor in tensors.unpack(tx)] for tensors in lists.unpack(tx)]
    asked = with_indices is not None and with_indices.as_constant()
    try:
        groups = torch._C._group_tensors_by_device_and_dtype(made, asked)
    except RuntimeError as error:  # Python raises it once more
        raise GraphBreak(
            "torch_op_failed", name="_group_tensors_by_device_and_dtype", error=str(error)
        ) from None
    entries = {key: (variable(key), variable(group)) for key, group in groups.items()}
    return DictVariable(entries)
