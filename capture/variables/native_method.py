"""Methods written in C: bound to an object, unbound, of a class."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import Variable
from capture.variables.constant import NONE, ConstantVariable
from capture.variables.exception import ExceptionVariable, raise_new
from capture.variables.lists import ListVariable
from capture.variables.mapping import DictVariable
from capture.variables.object_methods import OBJECT_METHODS
from capture.variables.user_object import ObjectVariable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from capture.variables.type_object import ClassVariable
    from guards.source import Source


def call_descriptor_method(
    tx: Translator, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """A method written in C called with its owner as first argument: `object.__setattr__(x, ...)`, `list.append(x, 1)`."""
    if not args:
        raise raise_new(TypeError, f"unbound method {descriptor.__qualname__}() needs an argument")
    owner, rest = args[0], args[1:]
    special = OBJECT_METHODS.get(descriptor)
    if special is not None and isinstance(owner, ObjectVariable):
        return special(tx, owner, *rest, **kwargs)
    if isinstance(owner, ExceptionVariable):
        return owner.call_native(tx, descriptor, rest, kwargs)
    if isinstance(owner, ObjectVariable):
        if owner.base_value is not None:
            if descriptor.__name__ == "__init__":
                return _fill_from(tx, owner.base_value, rest, kwargs)
            if descriptor is dict.__getitem__ and owner.has_class_attribute("__missing__"):
                assert isinstance(owner.base_value, DictVariable)
                held = owner.base_value.find(tx, rest[0])
                return held if held is not None else owner.call_method(tx, "__missing__", rest, {})
            return owner.base_value.call_method(tx, descriptor.__name__, rest, kwargs)
        raise GraphBreak("method", name=descriptor.__qualname__, value=owner)
    return owner.call_method(tx, descriptor.__name__, rest, kwargs)


def _fill_from(tx: Translator, base: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """`dict.__init__`, `list.__init__`, `set.__init__` of a subclass instance."""
    if args or kwargs:
        method = "extend" if isinstance(base, ListVariable) else "update"
        base.call_method(tx, method, args, kwargs)
    return NONE


class BuiltinMethodVariable(Variable):
    """A method written in C, bound to an object: `object.__setattr__`, `Exception.__init__`, `dict.__getitem__` of a subclass."""

    def __init__(self, owner: Variable, descriptor: Any, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.descriptor = descriptor
        self.name = name

    def python_type(self) -> type:
        return types.MethodWrapperType

    def describe(self) -> str:
        return f"method {self.descriptor.__qualname__}"

    def truth(self, tx: Translator) -> bool:
        return True

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return call_descriptor_method(tx, self.descriptor, [self.owner, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.emit("LOAD_ATTR", self.name)

    def children(self) -> list[Variable]:
        return [self.owner]


class UnboundMethodVariable(Variable):
    """A method of a built-in class, unbound: `list.append`, `torch.Tensor.add`, `object.__setattr__`."""

    def __init__(self, descriptor: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.descriptor = descriptor

    def python_type(self) -> type:
        return type(self.descriptor)

    def describe(self) -> str:
        return f"method {self.descriptor.__qualname__}"

    def real_value(self) -> Any:
        return self.descriptor

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        if name in ("__name__", "__qualname__", "__doc__"):
            return ConstantVariable(getattr(self.descriptor, name))
        return super().get_attr(tx, name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return call_descriptor_method(tx, self.descriptor, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.descriptor)


class ClassMethodVariable(Variable):
    """A class method or static method written in C, such as `dict.fromkeys`, `torch.Tensor._make_subclass`."""

    def __init__(self, owner: ClassVariable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return types.BuiltinFunctionType

    def describe(self) -> str:
        return f"{self.owner.cls.__name__}.{self.name}"

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        from capture.rules import CALLS
        from capture.variables.builtin import call_pure
        from capture.variables.instance import new_instance
        from capture.variables.type_object import ClassVariable

        function = getattr(self.owner.cls, self.name)
        if self.owner.cls is dict and self.name == "fromkeys":
            from capture.polyfills import dict_fromkeys

            return tx.wrap_function(dict_fromkeys).call(tx, args, kwargs)
        handler = CALLS.get(function)
        if handler is not None:
            return handler(tx, *args, **kwargs)
        if self.name == "__new__" and args and isinstance(args[0], ClassVariable):
            return new_instance(tx, args[0])
        return call_pure(tx, function, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.emit("LOAD_ATTR", self.name)
