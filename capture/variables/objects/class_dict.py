"""`C.__dict__` of a class, looked up name by name.

In:  the variable of the class.
Out: the entries of the class itself. A guard checks what the class and its bases have under each name.

    "scale" in type(self).__dict__      ->   known under a guard
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.exception import ExceptionVariable
from guards.sources import TypeAttrSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from capture.variables.objects.type_object import ClassVariable


class ClassDictVariable(Variable):
    """A mapping that is not writable."""

    mutable = True
    identity_known = False  # each access gives another proxy
    never_none = True

    def __init__(self, owner: ClassVariable) -> None:
        super().__init__(None)
        self.owner = owner

    def python_type(self) -> type:
        return types.MappingProxyType

    def describe(self) -> str:
        return f"__dict__ of class {self.owner.cls.__name__}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def find(self, tx: Interpreter, key: Variable) -> Variable | None:
        name = key.as_constant()
        if not isinstance(name, str):
            raise GraphBreak("method", name="__getitem__", value=self)
        cls = self.owner.cls
        tx.output.guarding.class_entry(self.owner, cls, name)
        first = lookup_type(cls, name)  # from the class or a base; breaks if the frame has changed it
        namespace: Any = type.__dict__["__dict__"].__get__(cls)
        if first is MISSING or name not in namespace:
            return None
        return tx.wrap(first, TypeAttrSource(self.owner.source, name) if self.owner.source else None)

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        found = self.find(tx, key)
        if found is None:
            raise ObservedException(ExceptionVariable(KeyError, [key]))
        return found

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if kwargs or not 1 <= len(args) <= 2:
            raise missing_method(self, name)
        found = self.find(tx, args[0]) if name in ("__getitem__", "__contains__", "get") else None
        if name == "__contains__":
            return ConstantVariable(found is not None)
        if name == "__getitem__":
            return self.get_item(tx, args[0])
        if name == "get":
            return found if found is not None else (*args[1:], NONE)[0]
        raise missing_method(self, name)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_attribute("__dict__")

    def children(self) -> list[Variable]:
        return [self.owner]
