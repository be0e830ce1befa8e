"""Methods of values that have no Python object: `[].append`, `tensor.sum`.

In:  a variable and the name of a method.
Out: a variable of the bound method. A call of it calls the method of the variable.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import makes
from capture.variables.core.wrap import wrap_class

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter


#: type of what a class holds -> type of what an object of the class gives for it
BOUND: dict[type, type] = {
    types.MethodDescriptorType: types.BuiltinMethodType,
    types.WrapperDescriptorType: types.MethodWrapperType,
    types.FunctionType: types.MethodType,
}


@makes(types.BuiltinMethodType)
class ValueMethod(Variable):
    """A method of a value that has no Python object yet."""

    def __init__(self, owner: Variable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        held = type(getattr(self.owner.python_type(), self.name, None))
        return BOUND.get(held, held)

    def describe(self) -> str:
        return f"method {self.name} of {self.owner.describe()}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return ConstantVariable(self.name)
        if name == "__qualname__":
            owner = self.owner.python_type()
            if self.python_type() is types.BuiltinMethodType:  # the name begins with the class of the object
                return ConstantVariable(f"{owner.__qualname__}.{self.name}")
            return ConstantVariable(getattr(owner, self.name).__qualname__)
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.owner.call_method(tx, self.name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_attribute(self.name)

    def children(self) -> list[Variable]:
        return [self.owner]


def method_of_value(tx: Interpreter, owner: Variable, name: str) -> Variable:
    """Attribute `name` of a built-in container: a method or the class. Raises AttributeError like Python."""
    cls = owner.python_type()
    if name == "__class__":
        return wrap_class(tx.output, cls)
    if lookup_type(cls, name) is MISSING or (name == "__dict__" and not cls.__dictoffset__):
        raise raise_new(AttributeError, f"'{cls.__name__}' object has no attribute '{name}'")
    if not callable(getattr(cls, name)):
        raise GraphBreak("get_attr", value=owner, name=name)
    return ValueMethod(owner, name)


def missing_method(owner: Variable, name: str) -> Exception:
    """The exception for a method that the tables of a built-in type lack.

    It is AttributeError, or a graph break if Python has the method.
    """
    cls = owner.python_type()
    if not hasattr(cls, name):
        return raise_new(AttributeError, f"'{cls.__name__}' object has no attribute '{name}'")
    return GraphBreak("method", name=name, value=owner)
