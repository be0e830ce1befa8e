"""torch's own functions: graph operations, constants, changes of state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture import torch_functions
from capture.break_reasons import GraphBreak
from capture.variables.base import NotConstant, Variable
from capture.variables.constant import ConstantVariable, fold
from capture.variables.symbolic import SYMBOL_FUNCTIONS, compute
from capture.variables.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source


class TorchFunctionVariable(Variable):
    def __init__(self, function: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.function = function

    def python_type(self) -> type:
        return type(self.function)

    def describe(self) -> str:
        return f"torch function {self.name()}"

    def name(self) -> str:
        return str(getattr(self.function, "__name__", self.function))

    def real_value(self) -> Any:
        return self.function

    def as_proxy(self) -> Any:
        return self.function

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        value = getattr(self.function, name, None)
        if isinstance(value, (str, type(None))) and hasattr(self.function, name):
            return ConstantVariable(value)
        if torch_functions.kind_of(value) is not None:  # torch.ops.aten.add.Tensor
            return TorchFunctionVariable(value)
        raise GraphBreak("get_attr", value=self, name=name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if not kwargs and self.function in SYMBOL_FUNCTIONS:
            return compute(self.function, args) or fold(self.function, args, {})
        return KINDS[torch_functions.kind_of(self.function) or "outside"](self, tx, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.function)


def _operation(
    self: TorchFunctionVariable, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return tx.output.call_function(tx, self.function, args, kwargs)


def _constant(
    self: TorchFunctionVariable, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    def value(argument: Variable) -> Any:
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

    return tx.wrap_constant(self.function(*map(value, args), **{k: value(v) for k, v in kwargs.items()}))


def _state(
    self: TorchFunctionVariable, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return tx.output.change_state(tx, self.function, [a.as_constant() for a in args])


def _outside(
    self: TorchFunctionVariable, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    raise GraphBreak("unsupported_torch_function", name=self.name())


KINDS = {"graph": _operation, "constant": _constant, "state": _state, "outside": _outside}
