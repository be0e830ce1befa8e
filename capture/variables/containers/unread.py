"""An existing list or deque that the frame has not read.

In:  the object and its source.
Out: its items or its length, with the guards that the answer needs. Nothing is guarded before.

    len(memory)    ->   the number, guarded; a symbol, if earlier captures saw other lengths
    memory[0]      ->   all items, lazy, with a guard on their number
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import changing_length
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.ends import check_end, check_end_of
from guards import conditions
from guards.kinds.containers import LengthGuard, raw_length
from guards.kinds.identity import ExactTypeGuard
from guards.kinds.sizes import ShapeGuard
from guards.sources import DequeItemSource, ItemSource, LengthSource, LocalSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


class Unread:
    def __init__(self, output: Output, value: Any, base: type, source: Source) -> None:
        self.output = output
        self.value = value
        self.base: Any = base
        self.source = source
        self._place = DequeItemSource if base is collections.deque else ItemSource

    def items(self) -> list[Variable]:
        """All items, as lazy variables. Breaks the graph where their number differs in each call."""
        length = raw_length(self.value)
        if self.output.symbols.policy.list_varies(self._owner(), self.value, length, self.source):
            raise changing_length(self.source.text)
        self.output.guards.add(LengthGuard.of(self.source, self.value))
        return [
            LazyVariable(self.output, item, self._place(self.source, i))
            for i, item in enumerate(self.base.__iter__(self.value))
        ]

    def _owner(self) -> Any:
        """What has this length: the object, or the variable of the program that holds it. Other objects of
        one class may have lists of other lengths, which do not change.
        """
        return self.source.text if isinstance(self.source, LocalSource) else id(self.value)

    def length(self, tx: Interpreter) -> Variable | None:
        """The length if it is a symbol, else None."""
        place = LengthSource(self.source)
        self.output.symbols.policy.note_lengths(self._owner(), self.value, place)
        return tx.output.symbols.number_variable(raw_length(self.value), place)

    def guard_room(self, limit: int, added: int, more: int) -> None:
        """Guard which items the deque releases when `more` items are appended to it and those `added`.

        It holds at most `limit` items.
        """
        length = raw_length(self.value)
        if length + added + more <= limit:
            present = conditions.load(LengthSource(self.source))
            most = conditions.constant(limit - added - more)
            self.output.guarding.of_change(ShapeGuard.of(conditions.apply("le", present, most)))
            return
        self.output.guarding.of_change(LengthGuard.of(self.source, self.value))
        for index in range(min(length, length + added + more - limit)):
            item = collections.deque.__getitem__(self.value, index)
            check_end(item)
            self.output.guarding.of_change(ExactTypeGuard.of(self._place(self.source, index), item))

    def check_ends(self) -> None:
        """Any item may be released."""
        for kind in {type(item) for item in self.base.__iter__(self.value)}:
            check_end_of(kind)
