"""Existing iterators over existing dicts. An iterator that the frame makes is an `EntriesIterator`.

In:  the variable of the dict, and the position of the iterator.
Out: a `DictIterator`, which also moves the real iterator at the end of the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.views import DictViewVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.iterators.iterator import IteratorVariable, exhaust

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class DictIterator(IteratorVariable):
    """An existing iterator over keys, values or items of an existing dict.

    The dict still has the keys that it had at the start of the walk.
    """

    moves_first = True

    def __init__(self, owner: Any, kind: str, numbers: tuple[int, ...], source: Source) -> None:
        super().__init__(source)
        self.owner = owner
        self.kind = kind
        self.position, self.size = numbers
        self.taken = 0
        self.is_exhausted = False
        self.items: list[Variable] = []
        self.writes: Any = None

    def python_type(self) -> type:
        return type(iter(getattr({}, self.kind)()))

    def next_item(self, tx: Interpreter) -> Variable | None:
        if self.is_exhausted:
            return None
        if self.owner.keys_version():  # only the real iterator knows its next step
            raise GraphBreak("iterate", value=self.owner)
        self.will_move(tx)
        if self.position == self.size:
            self.is_exhausted = True
            return None
        if self.writes != self.owner.values_version():
            self.writes = self.owner.values_version()
            self.items = DictViewVariable(self.owner, self.kind).unpack(tx)
        self.position += 1
        self.taken += 1
        return self.items[self.position - 1]

    def replay_change(self, code: PythonCode, before: Any) -> None:
        if self.is_exhausted:
            code.call_object(exhaust, [self])
        else:
            code.call_object(take, [self, ConstantVariable(self.taken)])
        code.pop()

    def children(self) -> list[Variable]:
        return [self.owner]


def take(iterator: Any, count: int) -> None:
    for _ in range(count):
        next(iterator)
