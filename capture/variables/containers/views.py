"""Views of dicts: `keys()`, `values()`, `items()` and types.MappingProxyType.

In:  the variable of a dict.
Out: a variable that always shows the current entries of the dict.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.containers.sequence import TupleVariable
from capture.variables.containers.sets import SetVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.iterators.iterator import EntriesIterator
from capture.variables.operations.equality import equal_or_same, hash_key

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.containers.mapping import DictVariable
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class DictViewVariable(Variable):
    """`d.keys()`, `d.values()`, `d.items()`."""

    def __init__(self, owner: DictVariable, kind: str, source: Source | None = None) -> None:
        super().__init__(source)
        self.owner = owner
        self.kind = kind

    def python_type(self) -> type:
        return type(getattr(self.owner.python_type()(), self.kind)())

    def unpack(self, tx: Interpreter) -> list[Variable]:
        if self.kind == "keys":
            return self.owner.unpack(tx)
        if self.kind == "values":
            return self.owner.values(tx)
        return [TupleVariable([k, v]) for k, v in self.owner.items(tx)]

    def truth(self, tx: Interpreter) -> bool:
        return self.owner.truth(tx)

    def length(self, tx: Interpreter) -> int:
        return self.owner.length(tx)

    def as_set(self, tx: Interpreter) -> SetVariable:
        return SetVariable.from_items(tx, self.unpack(tx))

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "__contains__" and len(args) == 1:
            if self.kind == "keys":
                return ConstantVariable(self.owner.find(tx, args[0]) is not None)
            return ConstantVariable(any(equal_or_same(tx, i, args[0]) for i in self.unpack(tx)))
        if name == "__iter__" and not args:
            return self.iterate(tx)
        if name == "__len__" and not args:
            return ConstantVariable(self.length(tx))
        if name == "__reversed__" and not args:
            return self.reversed(tx)
        if self.kind != "values" and name == "isdisjoint":
            return self.as_set(tx).call_method(tx, name, args, kwargs)
        raise missing_method(self, name)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "mapping":
            return MappingProxyVariable(self.owner)
        return method_of_value(tx, self, name)

    def iterate(self, tx: Interpreter) -> Variable:
        return EntriesIterator(self.unpack(tx), self.owner, self, tx.output.root_step)

    def reversed(self, tx: Interpreter) -> Variable:
        return EntriesIterator(self.unpack(tx)[::-1], self.owner, self, tx.output.root_step, reversed)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_method(self.kind)
        code.call(0)

    def children(self) -> list[Variable]:
        return [self.owner]


def combine_views(symbol: str, tx: Interpreter, left: Variable, right: Variable) -> Variable:
    """A set operator with a view on at least one side. The result has Python's order."""
    if symbol == "&":
        return _intersection(tx, left, right)
    result = SetVariable.from_items(tx, left.iterate(tx).unpack(tx))
    result.call_method(tx, IN_PLACE_METHODS[symbol], [right], {})
    return result


IN_PLACE_METHODS = {
    "|": "update",
    "&": "intersection_update",
    "-": "difference_update",
    "^": "symmetric_difference_update",
}


def _intersection(tx: Interpreter, left: Variable, right: Variable) -> Variable:
    view, other = (left, right) if isinstance(left, DictViewVariable) else (right, left)
    assert isinstance(view, DictViewVariable)
    if isinstance(other, SetVariable) and other.cls is set and view.length(tx) <= other.length(tx):
        return other.call_method(tx, "intersection", [view], {})
    if isinstance(other, DictViewVariable) and other.length(tx) > view.length(tx):
        view, other = other, view
    held = view.as_set(tx).entries
    items = other.iterate(tx).unpack(tx)
    return SetVariable.from_items(tx, [item for item in items if hash_key(tx, item, held) in held])


class MappingProxyVariable(Variable):
    """types.MappingProxyType: a read-only view of `mapping`."""

    def __init__(self, mapping: DictVariable, source: Source | None = None) -> None:
        super().__init__(source)
        self.mapping = mapping

    def python_type(self) -> type:
        return types.MappingProxyType

    def describe(self) -> str:
        return f"mappingproxy of {self.mapping.describe()}"

    def truth(self, tx: Interpreter) -> bool:
        return self.mapping.truth(tx)

    def length(self, tx: Interpreter) -> int:
        return self.mapping.length(tx)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        return self.mapping.unpack(tx)

    def iterate(self, tx: Interpreter) -> Variable:
        return self.mapping.iterate(tx)

    def reversed(self, tx: Interpreter) -> Variable:
        return self.mapping.reversed(tx)

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        return self.mapping.get_item(tx, key)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return method_of_value(tx, self, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if not hasattr(types.MappingProxyType, name):
            if name == "__setitem__":
                raise raise_new(TypeError, "'mappingproxy' object does not support item assignment")
            if name == "__delitem__":
                raise raise_new(TypeError, "'mappingproxy' object doesn't support item deletion")
            raise missing_method(self, name)
        return self.mapping.call_method(tx, name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(types.MappingProxyType, [self.mapping])

    def children(self) -> list[Variable]:
        return [self.mapping]


def proxied(value: Variable) -> Variable:
    return value.mapping if isinstance(value, MappingProxyVariable) else value
