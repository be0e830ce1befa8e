"""Making and stepping iterators: iter, next, enumerate, zip, map, filter, reversed, count."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from capture.rules import rule
from capture.variables.base import ObservedException, Variable
from capture.variables.constant import ConstantVariable
from capture.variables.exception import raise_new
from capture.variables.iterator import (
    ComposedIterator,
    CountIterator,
    EnumerateIterator,
    IteratorVariable,
)
from capture.variables.sequence import TupleVariable
from capture.variables.user_object import ObjectVariable

if TYPE_CHECKING:
    from capture.translator import Translator


@rule(iter)
def _iter(tx: Translator, value: Variable, sentinel: Variable | None = None) -> Variable:
    if sentinel is not None:
        from capture.polyfills import results_until

        return tx.wrap_function(results_until).call(tx, [value, sentinel], {})
    return value.iterate(tx)


def next_item(tx: Translator, iterator: Variable) -> Variable | None:
    """The next item of any iterator variable; None at its end."""
    if isinstance(iterator, IteratorVariable):
        return iterator.next_item(tx)
    try:
        return iterator.call_method(tx, "__next__", [], {})
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), StopIteration):
            return None
        raise


@rule(next)
def _next(tx: Translator, iterator: Variable, default: Variable | None = None) -> Variable:
    if isinstance(iterator, IteratorVariable):
        item = iterator.next_item(tx)
    elif default is None:
        return iterator.call_method(tx, "__next__", [], {})
    else:
        item = next_item(tx, iterator)
    if item is None:
        if default is None:
            assert isinstance(iterator, IteratorVariable)
            raise iterator.stop()
        return default
    return item


@rule(enumerate)
def _enumerate(tx: Translator, items: Variable, start: Variable = ConstantVariable(0)) -> Variable:
    return EnumerateIterator(_iter(tx, items), start.as_constant())


@rule(zip)
def _zip(tx: Translator, *iterables: Variable, strict: Variable = ConstantVariable(False)) -> Variable:
    iterators = [_iter(tx, i) for i in iterables]
    exact = strict.truth(tx)

    def step(tx: Translator) -> Variable | None:
        items: list[Variable] = []
        for index, iterator in enumerate(iterators):
            item = next_item(tx, iterator)
            if item is None:
                if exact:
                    _check_strict(tx, iterators, index)
                return None
            items.append(item)
        return TupleVariable(items) if iterators else None

    return ComposedIterator(zip, iterators, step)


def _check_strict(tx: Translator, iterators: list[Variable], index: int) -> None:
    """Iterator `index` ended: with strict=True all have to end in the same round."""
    if index:
        who = "argument 1" if index == 1 else f"arguments 1-{index}"
        raise raise_new(ValueError, f"zip() argument {index + 1} is shorter than {who}")
    for later, iterator in enumerate(iterators[1:], 2):
        if next_item(tx, iterator) is not None:
            who = "argument 1" if later == 2 else f"arguments 1-{later - 1}"
            raise raise_new(ValueError, f"zip() argument {later} is longer than {who}")


@rule(map)
def _map(tx: Translator, function: Variable, *iterables: Variable) -> Variable:
    iterators = [_iter(tx, i) for i in iterables]

    def step(tx: Translator) -> Variable | None:
        items = []
        for iterator in iterators:
            item = next_item(tx, iterator)
            if item is None:
                return None
            items.append(item)
        return function.call(tx, items, {})

    return ComposedIterator(map, [function, *iterators], step)


@rule(filter)
def _filter(tx: Translator, function: Variable, items: Variable) -> Variable:
    iterator = _iter(tx, items)
    plain = function.is_exactly(None)

    def step(tx: Translator) -> Variable | None:
        while (item := next_item(tx, iterator)) is not None:
            if (item if plain else function.call(tx, [item], {})).truth(tx):
                return item
        return None

    return ComposedIterator(filter, [function, iterator], step)


@rule(reversed)
def _reversed(tx: Translator, items: Variable) -> Variable:
    from capture.variables.iterator import SequenceIterator

    if isinstance(items, ObjectVariable) and items.has_class_attribute("__reversed__"):
        return items.call_method(tx, "__reversed__", [], {})
    return SequenceIterator(items.unpack(tx)[::-1])


@rule(itertools.count)
def _count(
    tx: Translator, start: Variable = ConstantVariable(0), step: Variable = ConstantVariable(1)
) -> Variable:
    return CountIterator(start.as_constant(), step.as_constant())
