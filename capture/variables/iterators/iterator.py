"""Iterators over sequences, dicts, sets and ranges, and the iterators of Python's built-in functions.

In:  the variable of the object to walk over.
Out: a variable with `next_item(tx) -> Variable | None` (None: exhausted).

An iterator with a source existed before the frame; `replay_change` moves the real one.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import _capture

from capture.report.break_reasons import GraphBreak, changing_length
from capture.variables.callables.value_method import method_of_value, missing_method
from capture.variables.core.base import ObservedException, Variable, realize, realized_item
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import make, makes

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


class IteratorVariable(Variable):
    """Base of all iterators. They are `mutable`, because a read moves them."""

    mutable = True
    #: whether the replay must move the real iterator before it adds new keys to a dict
    moves_first = False

    def next_item(self, tx: Interpreter) -> Variable | None:
        raise NotImplementedError

    def will_move(self, tx: Interpreter) -> None:
        tx.output.side_effects.will_mutate(self)

    def replay_change(self, code: PythonCode, before: Any) -> None:
        """Append bytecode that moves the real iterator to the position of this one."""
        raise NotImplementedError

    def stop(self) -> ObservedException:
        """The exception that `next` raises at the end."""
        return raise_new(StopIteration)

    def truth(self, tx: Interpreter) -> bool:
        return True

    def iterate(self, tx: Interpreter) -> Variable:
        return self

    def unpack(self, tx: Interpreter) -> list[Variable]:
        result = []
        while (item := self.next_item(tx)) is not None:
            tx.output.budget.count_instruction()
            result.append(item)
        return result

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "__next__" and not args:
            item = self.next_item(tx)
            if item is None:
                raise self.stop()
            return item
        if name == "__iter__" and not args:
            return self
        raise missing_method(self, name)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return method_of_value(tx, self, name)


@makes(Iterator)
class SequenceIterator(IteratorVariable):
    """An iterator over a fixed list of items.

    `made_by` is the Python function that makes such an iterator from the value `origin`.
    """

    def __init__(self, items: list[Variable], made_by: Any = iter, origin: Any = None) -> None:
        super().__init__(None)
        self.items = items
        self.position = 0
        self.made_by = made_by
        self.origin = origin

    def python_type(self) -> type:
        if self.origin is None:
            return type(iter(()))
        return type(self.made_by(self.origin.as_constant()))

    def next_item(self, tx: Interpreter) -> Variable | None:
        if self.position >= len(self.items):
            return None
        self.position += 1
        return realize(self.items[self.position - 1])

    def remaining(self) -> list[Variable]:
        return self.items[self.position :]

    def reconstruct(self, code: PythonCode) -> None:
        if self.origin is None:
            self.rebuild_from_items(code)
        else:
            code.call_object(
                advanced, [ConstantVariable(self.made_by), self.origin, ConstantVariable(self.position)]
            )

    def rebuild_from_items(self, code: PythonCode) -> None:
        code.load(make(tuple, self.remaining()))
        code.get_iterator()

    def children(self) -> list[Variable]:
        return self.remaining()


class EntriesIterator(SequenceIterator):
    """`iter(d)` or `reversed(d)` of a dict, of one of its views, or of a set.

    Python ends the walk with an error when keys were added or removed. It reads a value when its turn comes.
    `owner` holds the keys; `origin` is the object of the walk.
    """

    def __init__(
        self, items: list[Variable], owner: Any, origin: Any, born: int, made_by: Any = iter
    ) -> None:
        super().__init__(items, made_by, origin)
        self.owner = owner
        self.born = born
        self.changes = owner.keys_version()
        self.writes = owner.values_version()
        self.size = len(items)

    def python_type(self) -> type:
        empty = self.owner.python_type()()
        return type(self.made_by(empty if self.origin is self.owner else getattr(empty, self.origin.kind)()))

    def next_item(self, tx: Interpreter) -> Variable | None:
        ordered = issubclass(self.owner.python_type(), collections.OrderedDict)
        if ordered and self.position >= len(self.items):
            return None  # it looks one key ahead, so it checks nothing after the last key
        if self.changes != self.owner.keys_version():
            self._refuse()
        writes = self.owner.values_version()
        if self.writes != writes:
            self.writes = writes
            items = self.origin.unpack(tx)
            self.items = items[::-1] if self.made_by is reversed else items
        return super().next_item(tx)

    def _refuse(self) -> None:
        kind = self.owner.python_type()
        if issubclass(kind, collections.OrderedDict):
            raise raise_new(RuntimeError, "OrderedDict mutated during iteration")
        # as many keys came as went: the behaviour of Python depends on their places in the table
        if len(self.owner.entries) == self.size:
            raise GraphBreak("iterate", value=self.owner)
        name = "dictionary" if issubclass(kind, dict) else "Set"
        raise raise_new(RuntimeError, f"{name} changed size during iteration")

    def reconstruct(self, code: PythonCode) -> None:
        if self.changes != self.owner.keys_version():  # only a real iterator knows its next step
            raise GraphBreak("reconstruct", value=self)
        if self.owner.replay_stops_iterators(code.output):  # bytecode makes the iterator before the replay
            raise GraphBreak("reconstruct", value=self)
        super().reconstruct(code)

    def children(self) -> list[Variable]:
        return [self.origin]


def advanced(made_by: Any, iterable: Any, count: int) -> Any:
    """An iterator that has already returned `count` items."""
    iterator = made_by(iterable)
    for _ in range(count):
        next(iterator)
    return iterator


class IndexIterator(IteratorVariable):
    """`iter(sequence)`. It reads by index, so it sees new items at the end, as in Python.

    `position` is None when it is exhausted.
    """

    def __init__(self, sequence: Any, source: Source | None = None, position: int | None = 0) -> None:
        super().__init__(source)
        self.sequence = sequence
        self.position = position
        self.changes = sequence.changes

    def python_type(self) -> type:
        return type(iter(self.sequence.python_type()()))

    def following(self, position: int) -> int:
        return position + 1

    def next_item(self, tx: Interpreter) -> Variable | None:
        place, item = self.position, self.next_unread(tx)
        if item is None or place is None:
            return None
        return realized_item(self.sequence.items, place)

    def next_unread(self, tx: Interpreter) -> Variable | None:
        """The next item, without a guard where nothing has read it."""
        if self.changes != self.sequence.changes:  # only deques count them
            raise raise_new(RuntimeError, "deque mutated during iteration")
        if self.position is None:
            return None
        self.will_move(tx)
        if not 0 <= self.position < len(self.sequence.items):
            self.position = None
            return None
        item: Variable = self.sequence.items[self.position]
        self.position = self.following(self.position)
        return item

    def reconstruct(self, code: PythonCode) -> None:
        if self.position is None:
            code.load(make(tuple, []))
            code.get_iterator()
            return
        if self.position and not self.sequence.moves_iterators:
            raise GraphBreak("reconstruct", value=self)
        code.load(self.sequence)
        code.get_iterator()
        if self.position:
            code.move_iterator(self, self.position)

    def replay_change(self, code: PythonCode, before: Any) -> None:
        if self.position is None:
            code.call_object(exhaust, [self])
            code.pop()
        else:
            code.move_iterator(self, self.position)

    def children(self) -> list[Variable]:
        return [self.sequence]


class ReverseIterator(IndexIterator):
    """`reversed(sequence)`. It reads by index from the end, so it also sees changes of the sequence."""

    def __init__(self, sequence: Any, source: Source | None = None, position: int | None = None) -> None:
        super().__init__(sequence, source, len(sequence.items) - 1 if position is None else position)

    def python_type(self) -> type:
        return type(reversed(self.sequence.python_type()()))

    def following(self, position: int) -> int:
        return position - 1

    def reconstruct(self, code: PythonCode) -> None:
        if not self.sequence.moves_iterators:
            raise GraphBreak("reconstruct", value=self)
        code.call_object(reversed, [self.sequence])
        code.move_iterator(self, -1 if self.position is None else self.position)


class RangeIterator(IteratorVariable):
    def __init__(self, value: range, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value
        self.length = len(value)  # for an existing iterator, the length of its whole range
        self.position = 0

    def python_type(self) -> type:
        return type(iter(range(0)))

    def next_item(self, tx: Interpreter) -> Variable | None:
        if self.position >= self.length:
            return None
        self.will_move(tx)
        self.position += 1
        return ConstantVariable(self.value[self.position - 1])

    def reconstruct(self, code: PythonCode) -> None:
        code.load(make(range, self.value[self.position :]))
        code.get_iterator()

    def replay_change(self, code: PythonCode, before: Any) -> None:
        set_state(code, self, self.position)


class ChangingIterator(IteratorVariable):
    """An iterator that Python moves: each call of the frame walks over another number of items."""

    def __init__(self, owner: Variable) -> None:
        super().__init__(None)
        self.owner = owner

    def python_type(self) -> type:
        return type(iter(self.owner.python_type()(0)))

    def next_item(self, tx: Interpreter) -> Variable | None:
        raise changing_length(self.owner.describe())

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.get_iterator()

    def children(self) -> list[Variable]:
        return [self.owner]


class ComposedIterator(IteratorVariable):
    """zip, enumerate, map, filter. `step(tx)` returns the next item or None.

    Bytecode rebuilds it by a call of `made_by` (or `cls`) on its parts.
    """

    def __init__(
        self,
        cls: type,
        parts: list[Variable],
        step: Callable[[Interpreter], Variable | None],
        source: Source | None = None,
        made_by: Any = None,
    ) -> None:
        super().__init__(source)
        self.cls = cls
        self.made_by = made_by or cls
        self.parts = parts
        self.step = step

    def python_type(self) -> type:
        return self.cls

    def next_item(self, tx: Interpreter) -> Variable | None:
        return self.step(tx)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.made_by, self.parts)

    def children(self) -> list[Variable]:
        return list(self.parts)


class EnumerateIterator(ComposedIterator):
    def __init__(self, inner: Any, start: int, source: Source | None = None) -> None:
        super().__init__(enumerate, [], self._step, source)
        self.inner = inner
        self.start = start

    def _step(self, tx: Interpreter) -> Variable | None:
        item = tx.next_item(self.inner)
        if item is None:
            return None
        self.will_move(tx)
        self.start += 1
        return make(tuple, [ConstantVariable(self.start - 1), item])

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(enumerate, [self.inner, ConstantVariable(self.start)])

    def replay_change(self, code: PythonCode, before: Any) -> None:
        move(code, self, self.start)

    def children(self) -> list[Variable]:
        return [self.inner]


class CountIterator(IteratorVariable):
    """`itertools.count` of ints."""

    def __init__(self, start: Any, step: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = start
        self.by = step

    def python_type(self) -> type:
        return itertools.count

    def next_item(self, tx: Interpreter) -> Variable | None:
        tx.output.budget.count_instruction()
        self.will_move(tx)
        result = ConstantVariable(self.value)
        self.value += self.by
        return result

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(itertools.count, [ConstantVariable(self.value), ConstantVariable(self.by)])

    def replay_change(self, code: PythonCode, before: Any) -> None:
        move(code, self, self.value)


class RepeatIterator(IteratorVariable):
    """`itertools.repeat`. `left` is the number of items that remain; -1 means that it has no end."""

    def __init__(self, item: Variable, left: int, source: Source | None = None) -> None:
        super().__init__(source)
        self.item = item
        self.left = left

    def python_type(self) -> type:
        return itertools.repeat

    def next_item(self, tx: Interpreter) -> Variable | None:
        tx.output.budget.count_instruction()
        if self.left == 0:
            return None
        if self.left > 0:
            self.will_move(tx)
            self.left -= 1
        return realize(self.item)

    def reconstruct(self, code: PythonCode) -> None:
        times = [ConstantVariable(self.left)] if self.left >= 0 else []
        code.call_object(itertools.repeat, [self.item, *times])

    def replay_change(self, code: PythonCode, before: Any) -> None:
        move(code, self, self.left)

    def children(self) -> list[Variable]:
        return [self.item]


# --- moving real iterators --------------------------------------------------------------------------------


def set_state(code: PythonCode, iterator: Variable, position: int) -> None:
    code.load(iterator)
    code.load_method("__setstate__")
    code.load_constant(position)
    code.call(1)
    code.pop()


def move(code: PythonCode, iterator: Variable, number: int) -> None:
    code.call_object(_capture.move_iterator, [iterator, ConstantVariable(number)])
    code.pop()


def exhaust(iterator: Any) -> None:
    """Move an iterator to its end. A list iterator stays exhausted, even if the list grows."""
    for _ in iterator:
        pass
