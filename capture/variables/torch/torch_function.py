"""torch's own functions.

In:  a function of torch and its arguments.
Out: an operation of the graph, a constant, or a change of state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from capture.policy import function_kinds
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.builtin import BuiltinVariable
from capture.variables.callables.function import UserFunctionVariable
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import SizeVariable, TupleVariable
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import argument_value, fold
from capture.variables.core.exception import raise_python
from capture.variables.core.granted import granted
from capture.variables.numbers.arithmetic import SYMBOL_FUNCTIONS, compute
from capture.variables.numbers.symbolic import SymbolicVariable
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

#: Functions whose constant result depends on sizes. They also take symbols.
OF_SIZES = frozenset([torch.broadcast_shapes])


#: Python functions of torch that call an argument, and its name. They are interpreted if the argument is
#: given.
CALL_AN_ARGUMENT = {torch.nn.functional.triplet_margin_with_distance_loss: "distance_function"}


#: Operations that depend on a setting of the process without another guard, and functions that read it.
DEPENDS_ON = {
    torch.nn.functional.scaled_dot_product_attention: (
        torch._C._get_flash_sdp_enabled,
        torch._C._get_math_sdp_enabled,
    ),
}


class TorchFunctionVariable(BuiltinVariable):
    def describe(self) -> str:
        return f"torch function {self.name()}"

    def name(self) -> str:
        return str(getattr(self.function, "__name__", self.function))

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        overload = getattr(self.function, name, None)
        if function_kinds.kind_of(overload) is not None:  # torch.ops.aten.add.Tensor
            return TorchFunctionVariable(overload)
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if not kwargs and self.function in SYMBOL_FUNCTIONS:
            return compute(self.function, args) or fold(self.function, args, {})
        kind = function_kinds.kind_of(self.function) or "outside"
        asked = kind == "constant" or self.function is torch._C._set_grad_enabled
        if asked:
            overridden = tx.call_override(self.function, args, kwargs)
            if overridden is not None:
                return overridden
        return KINDS[kind](self, tx, args, kwargs)


def _operation(
    self: TorchFunctionVariable, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    for reader in DEPENDS_ON.get(self.function, ()):
        tx.output.guarding.state(reader)
    called = kwargs.get(CALL_AN_ARGUMENT.get(self.function, ""))
    if called is not None and not called.is_exactly(None):
        return UserFunctionVariable(self.function, self.source).call(tx, args, kwargs)
    return tx.output.call_function(tx, self.function, args, kwargs)


def _constant(
    self: TorchFunctionVariable, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    sizes_may_be_symbols = self.function in OF_SIZES

    def value(argument: Variable) -> Any:
        if sizes_may_be_symbols and isinstance(argument, SymbolicVariable):
            return argument.value
        if sizes_may_be_symbols and type(argument) in (SizeVariable, TupleVariable, ListVariable):
            return tuple(map(value, argument.unpack(tx)))
        if isinstance(argument, TensorVariable):
            return argument.fake
        try:
            return argument.as_constant()
        except NotConstant:
            pass
        try:
            return argument.real_value()
        except NotConstant:
            raise GraphBreak("builtin", name=self.name(), value=argument) from None

    tx.output.modes.grad_mode_counts |= self.function is torch.is_grad_enabled
    reader = function_kinds.STATE_READERS.get(self.function)
    if reader is not None:
        tx.output.guarding.state(*reader)
    given, keywords = [value(a) for a in args], {k: value(v) for k, v in kwargs.items()}
    try:
        result = self.function(*given, **keywords)
    except TypeError as error:
        raise raise_python(error) from None
    guarded = reader is not None or self.function in function_kinds.GUARDED_WITH_EACH_FRAME
    if not guarded and not any(isinstance(argument, TensorVariable) for argument in args):
        if kwargs:
            granted().only_here("a fact with keywords")
        granted().facts.append((self.function, tuple(map(value, args)), result))
    return tx.wrap_constant(result)


def _state(
    self: TorchFunctionVariable, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return tx.output.modes.change(tx, self.function, [argument_value(a) for a in args])


def _outside(
    self: TorchFunctionVariable, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    raise GraphBreak("unsupported_torch_function", name=self.name())


KINDS = {"graph": _operation, "constant": _constant, "state": _state, "outside": _outside}
