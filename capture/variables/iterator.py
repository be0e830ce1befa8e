"""Iterators made by the frame: over sequences, and those of Python's built-in functions.

Each has `next_item(tx) -> Variable | None` (None: exhausted).
"""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import ObservedException, Variable, realize
from capture.variables.exception import raise_new

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source


class IteratorVariable(Variable):
    """Base. `mutable`: reading it moves it."""

    mutable = True

    def next_item(self, tx: Translator) -> Variable | None:
        raise NotImplementedError

    def stop(self) -> ObservedException:
        """What `next` raises at the end."""
        return raise_new(StopIteration)

    def truth(self, tx: Translator) -> bool:
        return True

    def iterate(self, tx: Translator) -> Variable:
        return self

    def unpack(self, tx: Translator) -> list[Variable]:
        result = []
        while (item := self.next_item(tx)) is not None:
            tx.output.count_instruction()
            result.append(item)
        return result

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        from capture.variables.function import missing_method

        if name == "__next__" and not args:
            item = self.next_item(tx)
            if item is None:
                raise self.stop()
            return item
        if name == "__iter__" and not args:
            return self
        raise missing_method(self, name)

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.variables.function import method_of_value

        return method_of_value(tx, self, name)


class SequenceIterator(IteratorVariable):
    """Over a fixed list of items; `kind` is the Python type it stands for."""

    def __init__(
        self, items: list[Variable], source: Source | None = None, kind: type = type(iter(()))
    ) -> None:
        super().__init__(source)
        self.items = items
        self.position = 0
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def next_item(self, tx: Translator) -> Variable | None:
        if self.position >= len(self.items):
            return None
        if self.source is not None:
            tx.output.side_effects.will_mutate(self)
        self.position += 1
        return realize(tx, self.items[self.position - 1])

    def remaining(self) -> list[Variable]:
        return self.items[self.position :]

    def reconstruct(self, code: PythonCode) -> None:
        from capture.variables.sequence import TupleVariable

        code.load(TupleVariable(self.remaining()))
        code.emit("GET_ITER")

    def children(self) -> list[Variable]:
        return self.remaining()


class EntriesIterator(SequenceIterator):
    """`iter(d)` of a dict, of one of its views, or of a set: Python refuses to go on once keys have come or gone.

    `owner`: what holds the keys; `iterable`: what was iterated over.
    """

    def __init__(self, items: list[Variable], owner: Any, iterable: Any, born: int) -> None:
        super().__init__(
            items,
            kind=type(iter(iterable.python_type()()) if iterable is owner else ITERATORS[iterable.kind]),
        )
        self.owner = owner
        self.born = born
        self.iterable = iterable
        self.changes = owner.key_changes
        self.size = len(items)

    def next_item(self, tx: Translator) -> Variable | None:
        if self.changes != self.owner.key_changes:
            self._refuse()
        return super().next_item(tx)

    def _refuse(self) -> None:
        kind = self.owner.python_type()
        if issubclass(kind, collections.OrderedDict):
            raise raise_new(RuntimeError, "OrderedDict mutated during iteration")
        if (
            len(self.owner.entries) == self.size
        ):  # one key came, one went: what Python does depends on where they lie
            raise GraphBreak("iterate", value=self.owner)
        name = "dictionary" if issubclass(kind, dict) else "Set"
        raise raise_new(RuntimeError, f"{name} changed size during iteration")

    def reconstruct(self, code: PythonCode) -> None:
        if self.changes != self.owner.key_changes:  # only the iterator itself knows what it does next
            raise GraphBreak("reconstruct", value=self)
        if self.owner.source is not None and code.output.side_effects.is_mutated(self.owner):
            super().reconstruct(code)
        else:
            from capture.variables.constant import ConstantVariable

            code.call_object(advanced, [self.iterable, ConstantVariable(self.position)])

    def children(self) -> list[Variable]:
        return [self.iterable, *self.remaining()]


ITERATORS: dict[str, Any] = {kind: iter(getattr({}, kind)()) for kind in ("keys", "values", "items")}


def advanced(iterable: Any, count: int) -> Any:
    """An iterator that has given `count` items already."""
    iterator = iter(iterable)
    for _ in range(count):
        next(iterator)
    return iterator


class IndexIterator(IteratorVariable):
    """`iter(sequence)`: reads by index, so it sees what is appended meanwhile, as Python's does."""

    def __init__(self, sequence: Any, source: Source | None = None, position: int = 0) -> None:
        super().__init__(source)
        self.sequence = sequence
        self.position: int | None = position
        self.changes = sequence.changes

    def python_type(self) -> type:
        return type(iter(self.sequence.python_type()()))

    def next_item(self, tx: Translator) -> Variable | None:
        tx.output.side_effects.will_mutate(self)
        if self.changes != self.sequence.changes:  # only deques count them
            raise raise_new(RuntimeError, "deque mutated during iteration")
        if self.position is None or self.position >= len(self.sequence.items):
            self.position = None
            return None
        item = realize(tx, self.sequence.items[self.position])
        self.sequence.items[self.position] = item
        self.position += 1
        return item

    def reconstruct(self, code: PythonCode) -> None:
        from capture.variables.lists import ListVariable
        from capture.variables.sequence import TupleVariable

        if self.position is None:
            code.load(TupleVariable([]))
            code.emit("GET_ITER")
        elif self.position == 0:
            code.load(self.sequence)
            code.emit("GET_ITER")
        elif isinstance(self.sequence, (ListVariable, TupleVariable)):
            code.load(self.sequence)
            code.emit("GET_ITER")
            code.emit("COPY", 1)
            code.emit("LOAD_METHOD", "__setstate__")
            code.load_constant(self.position)
            code.call(1)
            code.emit("POP_TOP")
        else:
            raise GraphBreak("reconstruct", value=self)

    def children(self) -> list[Variable]:
        return [self.sequence]


class ReverseIterator(IndexIterator):
    """`reversed(sequence)`: by index from the end, so it sees what changes meanwhile, as Python's does."""

    def __init__(self, sequence: Any) -> None:
        super().__init__(sequence, position=len(sequence.items) - 1)

    def python_type(self) -> type:
        return type(reversed(self.sequence.python_type()()))

    def next_item(self, tx: Translator) -> Variable | None:
        if self.changes != self.sequence.changes:
            raise raise_new(RuntimeError, "deque mutated during iteration")
        if self.position is None or not 0 <= self.position < len(self.sequence.items):
            self.position = None
            return None
        item = realize(tx, self.sequence.items[self.position])
        self.sequence.items[self.position] = item
        self.position -= 1
        return item

    def reconstruct(self, code: PythonCode) -> None:
        from capture.variables.constant import ConstantVariable
        from capture.variables.lists import ListVariable
        from capture.variables.sequence import TupleVariable

        if not isinstance(self.sequence, (ListVariable, TupleVariable)):
            raise GraphBreak("reconstruct", value=self)
        position = -1 if self.position is None else self.position
        code.call_object(reversed_from, [self.sequence, ConstantVariable(position)])


def reversed_from(sequence: Any, position: int) -> Any:
    """`reversed(sequence)` that stands at an index already."""
    iterator: Any = reversed(sequence)
    iterator.__setstate__(position)
    return iterator


class RangeIterator(IteratorVariable):
    def __init__(self, value: range, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(iter(range(0)))

    def next_item(self, tx: Translator) -> Variable | None:
        from capture.variables.constant import ConstantVariable

        if not self.value:
            return None
        if self.source is not None:
            tx.output.side_effects.will_mutate(self)
        first, self.value = self.value[0], self.value[1:]
        return ConstantVariable(first)

    def reconstruct(self, code: PythonCode) -> None:
        from capture.variables.ranges import RangeVariable

        code.load(RangeVariable(self.value))
        code.emit("GET_ITER")


class ComposedIterator(IteratorVariable):
    """zip, enumerate, map, filter: `step(tx)` gives the next item or None; rebuilt by calling `cls` on the iterators left."""

    def __init__(
        self, cls: type, parts: list[Variable], step: Callable[[Translator], Variable | None]
    ) -> None:
        super().__init__(None)
        self.cls = cls
        self.parts = parts
        self.step = step

    def python_type(self) -> type:
        return self.cls

    def next_item(self, tx: Translator) -> Variable | None:
        return self.step(tx)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.cls, self.parts)

    def children(self) -> list[Variable]:
        return list(self.parts)


class EnumerateIterator(ComposedIterator):
    def __init__(self, inner: Any, start: int) -> None:
        super().__init__(enumerate, [], self._step)
        self.inner = inner
        self.start = start

    def _step(self, tx: Translator) -> Variable | None:
        from capture.rules.iterators import next_item
        from capture.variables.constant import ConstantVariable
        from capture.variables.sequence import TupleVariable

        item = next_item(tx, self.inner)
        if item is None:
            return None
        self.start += 1
        return TupleVariable([ConstantVariable(self.start - 1), item])

    def reconstruct(self, code: PythonCode) -> None:
        from capture.variables.constant import ConstantVariable

        code.call_object(enumerate, [self.inner, ConstantVariable(self.start)])

    def children(self) -> list[Variable]:
        return [self.inner]


class CountIterator(IteratorVariable):
    """itertools.count of ints."""

    def __init__(self, start: Any, step: Any) -> None:
        super().__init__(None)
        self.value = start
        self.by = step

    def python_type(self) -> type:
        return itertools.count

    def next_item(self, tx: Translator) -> Variable | None:
        from capture.variables.constant import ConstantVariable

        tx.output.count_instruction()
        result = ConstantVariable(self.value)
        self.value += self.by
        return result

    def reconstruct(self, code: PythonCode) -> None:
        from capture.variables.constant import ConstantVariable

        code.call_object(itertools.count, [ConstantVariable(self.value), ConstantVariable(self.by)])
