"""Rules for the old constructors: `torch.Tensor([1, 2])`, `torch.LongTensor(3, 4)`.

In:  a call with values or with sizes.
Out: `torch.tensor` or `torch.empty` in the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import SizeVariable, TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import CALLS

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

#: The dtype of the tensor that each class makes. None stands for the default dtype.
LEGACY: dict[Any, torch.dtype | None] = {
    torch.Tensor: None,
    torch.FloatTensor: torch.float32,
    torch.DoubleTensor: torch.float64,
    torch.HalfTensor: torch.float16,
    torch.LongTensor: torch.int64,
    torch.IntTensor: torch.int32,
    torch.ShortTensor: torch.int16,
    torch.CharTensor: torch.int8,
    torch.ByteTensor: torch.uint8,
    torch.BoolTensor: torch.bool,
}


def _rule(cls: Any, dtype: torch.dtype | None) -> Callable[..., Variable]:
    def make(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        kind: dict[str, Variable] = {"dtype": ConstantVariable(dtype or torch.get_default_dtype())}
        if kwargs:
            raise GraphBreak("call", value=tx.wrap(cls, None))
        if len(args) == 1 and type(args[0]) in (ListVariable, TupleVariable):
            return tx.output.call_function(tx, torch.tensor, list(args), kind)
        sizes = [a.is_constant() and type(a.as_constant()) is int for a in args]
        if all(sizes) or (len(args) == 1 and isinstance(args[0], SizeVariable)):
            return tx.output.call_function(tx, torch.empty, list(args) or [ConstantVariable(0)], kind)
        raise GraphBreak("builtin", name=cls.__name__, value=", ".join(a.describe() for a in args))

    return make


for _cls, _dtype in LEGACY.items():
    CALLS[_cls] = _rule(_cls, _dtype)
