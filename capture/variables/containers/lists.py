"""Lists and deques: the mutable sequences.

In:  the items.
Out: a `ListVariable` or `DequeVariable`, and the table `LIST_METHODS` of their methods.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mutable_sequence import MutableSequence
from capture.variables.containers.ranges import SliceVariable
from capture.variables.containers.sequence import (
    SEQUENCE_METHODS,
    SequenceVariable,
    TupleVariable,
    index_of,
    leave_to_python_if_it_changes,
    live_items,
    slice_of,
)
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import NONE, ConstantVariable, raise_type_error
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import constant, makes, makes_constant
from capture.variables.core.replay import is_realized_from
from capture.variables.operations.equality import equal_or_same, sort_items
from guards.kinds.containers import raw_length
from guards.kinds.iterators import IteratorStateGuard
from guards.sources import ItemSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.containers.unread import Unread
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


@makes(list)
class ListVariable(MutableSequence):
    builtin = list
    moves_iterators = True

    def argument_value(self) -> Any:
        """A new list of literals for the call."""
        if self.items and all(type(item) is ConstantVariable for item in self.items):
            return [item.as_constant() for item in self.items]
        return self.as_constant()

    def replay_change(self, code: PythonCode, before: list[Variable] | None) -> None:
        """`xs[k:] = [...]`, where k is the length of the unchanged front. Calls no method of a subclass."""
        if self.unread is not None:
            self.replay_blindly(code)
            return
        same = 0
        for old, new in zip(self.items_before(before), self.items):
            if old is not new and not is_realized_from(old, new):
                break
            same += 1
        rest = SliceVariable([ConstantVariable(same), ConstantVariable(None), ConstantVariable(None)])
        code.call_object(list.__setitem__, [self, rest, ListVariable(self.items[same:])])
        code.pop()

    def stored_items(self, before: list[Variable] | None) -> dict[str, Variable]:
        if self.unread is not None or self.source is None:
            return {}
        return {
            ItemSource(self.source, index).text: new
            for index, (old, new) in enumerate(zip(self.items_before(before), self.items))
            if old is not new and not is_realized_from(old, new)
        }

    def reconstruct(self, code: PythonCode) -> None:
        for item in self.items:
            code.load(item)
        code.build_list(len(self.items))

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return recipe.container(self, self.items, "list", len(self.items))


class DequeVariable(MutableSequence):
    builtin = collections.deque

    def __init__(
        self,
        items: list[Variable],
        source: Source | None = None,
        maxlen: int | None = None,
        original: Any = None,
        unread: Unread | None = None,
    ) -> None:
        super().__init__(items, source, unread)
        self.maxlen = maxlen
        self.original = original
        if unread is None:
            self.trim()

    def like(self, items: list[Variable]) -> Variable:
        return DequeVariable(items, maxlen=self.maxlen)

    def as_proxy(self) -> Any:
        raise GraphBreak("not_a_graph_argument", value=self)  # torch takes no deque as a list

    def get_item(self, tx: Interpreter, key: Variable) -> Variable:
        if isinstance(key, SliceVariable):
            raise_type_error("sequence index must be integer, not 'slice'")
        return super().get_item(tx, key)

    def guard_limit(self, tx: Interpreter) -> None:
        """Guard `maxlen`, because the following operation depends on it."""
        if type(self.original) is collections.deque and self.source is not None:
            tx.output.guards.add(IteratorStateGuard.of(self.source, self.original))
        elif self.original is not None:
            tx.output.guarding.identity(self, self.original)

    def _read(self, unread: Unread) -> None:
        super()._read(unread)
        self.trim()

    def open_length(self, tx: Interpreter) -> Variable | None:
        """None, too, where the frame's own items push others out: the length is guarded then."""
        if self.unread is None or self.maxlen is None:
            return super().open_length(tx)
        is_full = raw_length(self.unread.value) + len(self.blind) > self.maxlen
        return None if is_full else super().open_length(tx)

    def trim(self, left: bool = False) -> None:
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items = self.items[: self.maxlen] if left else self.items[len(self.items) - self.maxlen :]

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name != "maxlen":
            return super().get_attr(tx, name)
        self.guard_limit(tx)
        return ConstantVariable(self.maxlen)

    def replay_change(self, code: PythonCode, before: list[Variable] | None) -> None:
        if self.unread is not None:
            self.replay_blindly(code)
            return
        before = self.items_before(before)
        if not self.changes and len(before) == len(self.items):  # nothing moved, so its iterators go on
            for index, (old, new) in enumerate(zip(before, self.items)):
                if old is not new and not is_realized_from(old, new):
                    code.call_object(collections.deque.__setitem__, [self, ConstantVariable(index), new])
                    code.pop()
            return
        for function, args in (
            (collections.deque.clear, []),
            (collections.deque.extend, [ListVariable(list(self.items))]),
        ):
            code.call_object(function, [self, *args])
            code.pop()

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(collections.deque, [ListVariable(self.items), ConstantVariable(self.maxlen)])


def change(tx: Interpreter, sequence: MutableSequence, moves: bool = True) -> None:
    """Announce a change of a sequence. Every change calls it first; `_change_blindly` is for changes that
    need no read.

    `moves`: the change adds, removes or moves items, so an iterator over a deque ends with an error.
    """
    if sequence.unread is not None:
        sequence.items = list(sequence.items)
    _announce(tx, sequence, moves)


def _announce(tx: Interpreter, sequence: MutableSequence, moves: bool) -> None:
    if isinstance(sequence, DequeVariable):
        sequence.guard_limit(tx)
        sequence.changes += moves
    tx.output.side_effects.will_mutate(sequence)


def _append_all(tx: Interpreter, sequence: MutableSequence, items: list[Variable]) -> None:
    _announce(tx, sequence, moves=True)
    if sequence.unread is not None:
        if isinstance(sequence, DequeVariable) and sequence.maxlen is not None:
            sequence.unread.guard_room(sequence.maxlen, len(sequence.blind), len(items))
        sequence.blind += [(None, item) for item in items]
        return
    sequence.items.extend(items)
    if isinstance(sequence, DequeVariable):
        sequence.trim()


def _append(self: MutableSequence, tx: Interpreter, value: Variable) -> Variable:
    _append_all(tx, self, [value])
    return NONE


def _extend(self: MutableSequence, tx: Interpreter, values: Variable) -> Variable:
    if isinstance(values, SequenceVariable):
        _append_all(tx, self, values.unpack(tx))
        return NONE
    iterator = values.iterate(tx)
    if not isinstance(self, DequeVariable):
        values.ask_length(tx)
    while (item := tx.next_item(iterator)) is not None:  # the items before an exception stay
        tx.output.budget.count_instruction()
        _append(self, tx, item)
    return NONE


def _insert(self: MutableSequence, tx: Interpreter, index: Variable, value: Variable) -> Variable:
    place = index_of(tx, index)
    change(tx, self)
    if isinstance(self, DequeVariable) and len(self.items) == self.maxlen:
        raise raise_new(IndexError, "deque already at its maximum size")
    self.items.insert(place, value)
    return NONE


def _pop(self: MutableSequence, tx: Interpreter, index: Variable | None = None) -> Variable:
    position = index_of(tx, index) if index is not None else -1
    kind = "deque" if isinstance(self, DequeVariable) else "list"
    if not self.items:
        raise raise_new(IndexError, "pop from an empty deque" if kind == "deque" else "pop from empty list")
    if not -len(self.items) <= position < len(self.items):
        raise raise_new(IndexError, "pop index out of range")
    change(tx, self)
    return realize(self.items.pop(position))


def _remove(self: MutableSequence, tx: Interpreter, value: Variable) -> Variable:
    for index, item in enumerate(live_items(self, tx)):
        if equal_or_same(tx, item, value):
            change(tx, self)
            del self.items[index : index + 1]
            return NONE
    if isinstance(self, DequeVariable):
        raise raise_new(ValueError, f"{tx.to_repr(value)} is not in deque")
    raise raise_new(ValueError, "list.remove(x): x not in list")


def _clear(self: MutableSequence, tx: Interpreter) -> Variable:
    change(tx, self)
    self.items.clear()
    return NONE


def _reverse(self: MutableSequence, tx: Interpreter) -> Variable:
    change(tx, self, moves=False)
    self.items.reverse()
    return NONE


def _copy(self: MutableSequence, tx: Interpreter) -> Variable:
    if isinstance(self, DequeVariable):
        self.guard_limit(tx)
    return self.like(list(self.items))


def _sort(
    self: MutableSequence, tx: Interpreter, *, key: Variable | None = None, reverse: Variable | None = None
) -> Variable:
    items = list(self.unpack(tx))
    change(tx, self)
    self.items.clear()  # functions that the sort calls see an empty list
    try:
        items = sort_items(tx, items, key, reverse)
    finally:
        modified = bool(self.items)
        self.items[:] = items
    if modified:
        raise raise_new(ValueError, "list modified during sort")
    return NONE


def _refuse_slice(self: MutableSequence, key: Variable) -> None:
    if isinstance(self, DequeVariable) and isinstance(key, SliceVariable):
        raise_type_error("'slice' object cannot be interpreted as an integer")


def _set_item(self: MutableSequence, tx: Interpreter, key: Variable, value: Variable) -> Variable:
    _refuse_slice(self, key)
    if isinstance(key, SliceVariable):
        place, new = slice_of(tx, key), value.iterate(tx).unpack(tx)
        change(tx, self)
        try:
            self.items[place] = new
        except ValueError as error:
            raise raise_new(ValueError, *error.args) from None
        return NONE
    if _set_blindly(self, tx, key, value):
        return NONE
    leave_to_python_if_it_changes(tx, self, key)
    index = index_of(tx, key)
    if not -len(self.items) <= index < len(self.items):
        what = "assignment index" if self.python_type() is list else "index"
        raise raise_new(IndexError, f"{self.python_type().__name__} {what} out of range")
    change(tx, self, moves=False)
    self.items[index] = value
    return NONE


def _set_blindly(self: MutableSequence, tx: Interpreter, index: Variable, value: Variable) -> bool:
    """Store an item of a list whose length is a symbol. False where that needs a read."""
    if self.unread is None or self.builtin is not list or index.python_type() is not int:
        return False
    length = self.open_length(tx)
    if length is None or not index.is_constant():
        return False
    inside = (tx.compare("<=", ConstantVariable(0), index), tx.compare("<", index, length))
    if not all(condition.truth(tx) for condition in inside):
        return False
    self.unread.check_ends()
    _announce(tx, self, moves=False)
    self.blind.append((index, value))
    return True


def _del_item(self: MutableSequence, tx: Interpreter, key: Variable) -> Variable:
    _refuse_slice(self, key)
    if isinstance(key, SliceVariable):
        place = slice_of(tx, key)
        change(tx, self)
        del self.items[place]
        return NONE
    index = index_of(tx, key)
    if not -len(self.items) <= index < len(self.items):
        what = "assignment index" if self.python_type() is list else "index"
        raise raise_new(IndexError, f"{self.python_type().__name__} {what} out of range")
    change(tx, self)
    del self.items[index]
    return NONE


def _append_left(self: MutableSequence, tx: Interpreter, value: Variable) -> Variable:
    change(tx, self)
    self.items.insert(0, value)
    assert isinstance(self, DequeVariable)
    self.trim(left=True)
    return NONE


def _extend_left(self: MutableSequence, tx: Interpreter, values: Variable) -> Variable:
    iterator = TupleVariable(values.unpack(tx)).iterate(tx) if values is self else values.iterate(tx)
    while (item := tx.next_item(iterator)) is not None:
        _append_left(self, tx, item)
    return NONE


def _pop_left(self: MutableSequence, tx: Interpreter) -> Variable:
    if not self.items:
        raise raise_new(IndexError, "pop from an empty deque")
    change(tx, self)
    return realize(self.items.pop(0))


def _rotate(self: MutableSequence, tx: Interpreter, steps: Variable = ConstantVariable(1)) -> Variable:
    count = index_of(tx, steps)
    change(tx, self)
    if self.items:
        by = count % len(self.items)
        self.items[:] = self.items[-by:] + self.items[:-by] if by else self.items
    return NONE


def _in_place_add(self: MutableSequence, tx: Interpreter, other: Variable) -> Variable:
    _extend(self, tx, other)
    return self


def _len(self: MutableSequence, tx: Interpreter) -> Variable:
    return self.open_length(tx) or ConstantVariable(len(self.items))


LIST_METHODS: dict[str, Callable[..., Variable]] = {
    "__len__": _len,
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "remove": _remove,
    "clear": _clear,
    "reverse": _reverse,
    "copy": _copy,
    "sort": _sort,
    "__setitem__": _set_item,
    "__delitem__": _del_item,
    "__iadd__": _in_place_add,
    "appendleft": _append_left,
    "extendleft": _extend_left,
    "popleft": _pop_left,
    "rotate": _rotate,
}
MutableSequence.methods = SEQUENCE_METHODS | LIST_METHODS


@makes_constant(list)
def _constant_list(value: list[Any]) -> ListVariable:
    return ListVariable([constant(item) for item in value])
