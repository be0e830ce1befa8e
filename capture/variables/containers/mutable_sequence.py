"""The base class of lists and deques.

In:  the items. Those of an existing sequence are read, with a guard on their number, at the first use.
Out: a variable that knows the changes which need no read.

    losses.append(x)     reads nothing: one entry serves all lengths, and the replay appends
    losses[-1]           an item that the frame has appended, or it reads: the entry is for this length then
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from capture.variables.containers.sequence import SequenceVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import make

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.containers.unread import Unread
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class MutableSequence(SequenceVariable):
    """Each use of `items` reads an existing sequence. Until then, `blind` has the changes of the frame that
    need no read, in their order: (None, item) is appended, (index, item) is stored.
    """

    mutable = True

    def __init__(
        self, items: list[Variable], source: Source | None = None, unread: Unread | None = None
    ) -> None:
        super().__init__(items, source)
        self.unread = unread
        self.blind: list[tuple[Variable | None, Variable]] = []
        self._front: list[Variable] | None = None  # the items from before the frame, where they are read late

    @property
    def items(self) -> list[Variable]:
        if self.unread is not None:
            self._read(self.unread)
        return self._items

    @items.setter
    def items(self, items: list[Variable]) -> None:
        self.unread, self._items = None, items

    def _read(self, unread: Unread) -> None:
        self._front = unread.items()
        self.items = list(self._front)
        for index, item in self.blind:
            if index is None:
                self._items.append(item)
            else:
                self._items[index.as_constant()] = item

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        appended = self._appended_at(key)
        return super().get_item(tx, key) if appended is None else appended

    def _appended_at(self, key: Variable) -> Variable | None:
        """The item at an index from the end, if the frame has appended it to a list that is not read."""
        if self.unread is None or self.builtin is not list or not key.is_constant():
            return None
        index = key.as_constant()
        if type(index) is not int or not -len(self.blind) <= index < 0:
            return None
        if any(stored is not None for stored, _ in self.blind[index:]):
            return None  # a store may have replaced it
        item = realize(self.blind[index][1])
        self.blind[index] = (None, item)
        return item

    def open_length(self, tx: Interpreter) -> Variable | None:
        """The length, if it is a symbol: the items stay unread. None for any other sequence."""
        before = None if self.unread is None else self.unread.length(tx)
        added = sum(index is None for index, _ in self.blind)
        return tx.operate("+", before, ConstantVariable(added)) if before is not None and added else before

    def truth(self, tx: Interpreter) -> bool:
        length = self.open_length(tx)
        return super().truth(tx) if length is None else length.truth(tx)

    def describe(self) -> str:
        return super().describe() if self.unread is None else self.python_type().__name__

    def known_children(self) -> list[Variable]:
        if self.unread is None:
            return self.children()
        return [part for change in self.blind for part in change if part is not None]

    def snapshot(self) -> list[Variable] | None:
        """None where the items are not read yet."""
        return list(self._items) if self.unread is None else None

    def items_before(self, snapshot: list[Variable] | None) -> list[Variable]:
        """The items before the first change."""
        found = self._front if snapshot is None else snapshot
        assert found is not None
        return found

    def replay_blindly(self, code: PythonCode) -> None:
        """Calls no method of a subclass."""
        for appends, changes in itertools.groupby(self.blind, lambda change: change[0] is None):
            if appends:
                code.call_object(self.builtin.extend, [self, make(list, [item for _, item in changes])])
                code.pop()
                continue
            for index, item in changes:
                assert index is not None
                code.call_object(self.builtin.__setitem__, [self, index, item])
                code.pop()

    def as_proxy(self) -> Any:
        return [i.as_proxy() for i in self.items]
