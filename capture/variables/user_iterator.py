"""Iteration by user classes: `__next__`, and the old protocol of `__getitem__` until IndexError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.base import ObservedException, Variable
from capture.variables.constant import ConstantVariable
from capture.variables.iterator import IteratorVariable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator


class UserIterator(IteratorVariable):
    """An object with `__next__`."""

    def __init__(self, owner: Variable) -> None:
        super().__init__(None)
        self.owner = owner

    def python_type(self) -> type:
        return self.owner.python_type()

    def next_item(self, tx: Translator) -> Variable | None:
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
        self.position = 0

    def next_item(self, tx: Translator) -> Variable | None:
        try:
            item = self.owner.call_method(tx, "__getitem__", [ConstantVariable(self.position)], {})
        except ObservedException as raised:
            if issubclass(raised.variable.python_type(), (IndexError, StopIteration)):
                return None
            raise
        self.position += 1
        return item

    def children(self) -> list[Variable]:
        return [self.owner]
