"""Named tuples and struct sequences (`torch.return_types`).

In:  the items and the class.
Out: a `NamedTupleVariable`, which reads its fields by name and by index.
"""

from __future__ import annotations

import types
from collections import _tuplegetter  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import MISSING, class_attribute, lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import constant, makes_constant
from capture.variables.core.wrap import wrap_class

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class NamedTupleVariable(TupleVariable):
    """An instance of a named tuple class or of a `torch.return_types` structure."""

    def __init__(self, items: list[Variable], cls: type, source: Source | None = None) -> None:
        super().__init__(items, source)
        self.cls = cls

    def python_type(self) -> type:
        return self.cls

    def as_constant(self) -> Any:
        return self.build([i.as_constant() for i in self.items])

    def build(self, values: list[Any]) -> Any:
        return tuple.__new__(self.cls, values) if is_plain_tuple(self.cls) else self.cls(values)

    def like(self, items: list[Variable]) -> Variable:
        return TupleVariable(items)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        index = self._field_index(tx, name)
        if index is not None:
            return self.get_item(tx, ConstantVariable(index))
        if name in ("n_fields", "n_sequence_fields") and hasattr(self.cls, name):
            return tx.wrap_constant(getattr(self.cls, name))
        if name == "__class__":
            return wrap_class(tx.output, self.cls)
        found = class_attribute(tx, self, self.cls, name)
        return found if found is not None else super().get_attr(tx, name)

    def _field_index(self, tx: Interpreter, name: str) -> int | None:
        """The place that the descriptor under this name reads, if the class still has such a descriptor."""
        found = lookup_type(self.cls, name)
        if not isinstance(found, (_tuplegetter, types.MemberDescriptorType)):
            return None
        tx.output.guarding.class_entry(wrap_class(tx.output, self.cls), self.cls, name)
        if isinstance(found, _tuplegetter):
            return int(found.__reduce__()[1][0])
        return field_names(self.cls).index(name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if isinstance(lookup_type(self.cls, name), (types.FunctionType, classmethod, staticmethod)):
            return self.get_attr(tx, name).call(tx, args, kwargs)
        return super().call_method(tx, name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        if is_plain_tuple(self.cls):  # the program's own `_make` and `__new__` have run already
            code.call_object(tuple.__new__, [ConstantVariable(self.cls), TupleVariable(self.items)])
        else:
            code.call_object(self.cls, [TupleVariable(self.items)])


def is_plain_tuple(cls: type) -> bool:
    """Whether `tuple.__new__` makes an instance. It refuses a struct sequence."""
    return lookup_type(cls, "_fields") is not MISSING


def overrides_sequence(cls: type) -> bool:
    """Whether a named tuple class overrides methods of tuple, which may then return other items."""
    names = (
        "__getitem__",
        "__iter__",
        "__len__",
        "__eq__",
        "__contains__",
        "__add__",
        "__hash__",
        "__bool__",
        "__getattribute__",
    )
    return any(isinstance(getattr(cls, name, None), types.FunctionType) for name in names)


def field_names(cls: type) -> list[str]:
    """The fields of a named tuple class, or of a struct sequence such as torch.return_types.max."""
    if hasattr(cls, "_fields"):
        return list(cls._fields)
    return [n for n, v in vars(cls).items() if type(v).__name__ == "member_descriptor"]


@makes_constant(tuple, subclasses=True)
def _constant_named_tuple(value: Any) -> NamedTupleVariable:
    return NamedTupleVariable([constant(item) for item in value], type(value))
