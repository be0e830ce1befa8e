"""Iterators of user classes: `__next__`, and the old protocol that calls `__getitem__` until IndexError.

In:  the variable of an object.
Out: an iterator variable that calls the methods of the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.iterators.iterator import IteratorVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter


class _ByIndex:
    def __getitem__(self, index: int) -> int:
        raise IndexError


#: the type of the iterator that Python makes for a class without `__iter__`
BY_INDEX: type = type(iter(_ByIndex()))


class UserIterator(IteratorVariable):
    """An object with `__next__`."""

    def __init__(self, owner: Variable) -> None:
        super().__init__(None)
        self.owner = owner

    def python_type(self) -> type:
        return self.owner.python_type()

    def next_item(self, tx: Interpreter) -> Variable | None:
        try:
            return self.owner.call_method(tx, "__next__", [], {})
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), StopIteration):
                return None
            raise

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)

    def children(self) -> list[Variable]:
        return [self.owner]


class IndexProtocolIterator(IteratorVariable):
    """`iter(obj)` for a class with `__getitem__` and no `__iter__`."""

    def __init__(self, owner: Variable) -> None:
        super().__init__(None)
        self.owner = owner
        self.position: int | None = 0

    def python_type(self) -> type:
        return BY_INDEX

    def next_item(self, tx: Interpreter) -> Variable | None:
        if self.position is None:
            return None
        try:
            item = self.owner.call_method(tx, "__getitem__", [ConstantVariable(self.position)], {})
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), (IndexError, StopIteration)):
                self.position = None
                return None
            raise
        self.position += 1
        return item

    def children(self) -> list[Variable]:
        return [self.owner]


class ReverseIndexProtocolIterator(IteratorVariable):
    """`reversed(obj)` for a class with `__len__` and `__getitem__` and no `__reversed__`."""

    def __init__(self, owner: Variable, position: int) -> None:
        super().__init__(None)
        self.owner = owner
        self.position = position

    def python_type(self) -> type:
        return reversed

    def next_item(self, tx: Interpreter) -> Variable | None:
        if self.position < 0:
            return None
        try:
            item = self.owner.call_method(tx, "__getitem__", [ConstantVariable(self.position)], {})
        except ObservedException as raised:
            self.position = -1
            if issubclass(raised.variable.python_type(), (IndexError, StopIteration)):
                return None
            raise
        self.position -= 1
        return item

    def children(self) -> list[Variable]:
        return [self.owner]
