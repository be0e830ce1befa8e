"""Opaque objects: the program can pass them around. Operations break the graph, but for methods with a rule.

In:  an object, and the reason of the graph break.
Out: an `OpaqueVariable`.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.makers import make
from capture.variables.core.rules import lookup
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


METHODS_IN_C = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type(torch._C._InferenceMode.__exit__),
)


class OpaqueVariable(Variable):
    mutable = True  # compared by identity only

    def __init__(self, held: Any, source: Source | None, reason_id: str, **values: Any) -> None:
        super().__init__(source)
        self.value = held
        self.reason_id = reason_id
        self.values = values

    def python_type(self) -> type:
        return type(self.value)

    def real_value(self) -> Any:
        return self.value

    def describe(self) -> str:
        return f"{type(self.value).__name__} object" + (f" {self.source.text}" if self.source else "")

    def breaks(self) -> GraphBreak:
        return GraphBreak(self.reason_id, **self.values)

    def as_proxy(self) -> Any:
        raise self.breaks()

    def truth(self, tx: Interpreter) -> bool:
        raise self.breaks()

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        """A method written in C can be read. Only its call breaks the graph."""
        if isinstance(lookup_type(type(self.value), name), METHODS_IN_C):
            return make(types.BuiltinMethodType, self, name)
        if self.value is torch._C._VariableFunctions and hasattr(self.value, name):
            function = getattr(self.value, name)
            return tx.wrap(function, ConstantSource(function))
        raise self.breaks()

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        raise self.breaks()

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        raise self.breaks()

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        handler = lookup(lookup_type(type(self.value), name))
        if handler is not None:
            return handler(tx, self, *args, **kwargs)
        raise self.breaks()

    def unpack(self, tx: Interpreter) -> list[Variable]:
        raise self.breaks()
