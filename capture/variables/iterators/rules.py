"""Rules of the functions that make or advance iterators: iter, next, enumerate, zip, map, filter, ...

In:  the arguments of such a call.
Out: an iterator variable, or the next item.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.polyfills import results_until
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.ranges import RangeVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable, index_of
from capture.variables.containers.sets import SetVariable
from capture.variables.containers.views import DictViewVariable, MappingProxyVariable
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import ConstantVariable, raise_type_error
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import rule
from capture.variables.core.shown_names import shown_name
from capture.variables.iterators.generator import GeneratorVariable
from capture.variables.iterators.iterator import (
    ComposedIterator,
    CountIterator,
    EnumerateIterator,
    IndexIterator,
    IteratorVariable,
    RangeIterator,
    RepeatIterator,
    ReverseIterator,
    SequenceIterator,
)
from capture.variables.iterators.polyfills import tee_
from capture.variables.iterators.user_iterator import ReverseIndexProtocolIterator, UserIterator
from capture.variables.objects.native_base import plain_operand
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


@rule(iter)
def _iter(tx: Interpreter, value: Variable, sentinel: Variable | None = None) -> Variable:
    if sentinel is not None:
        return tx.wrap_function(results_until).call(tx, [value, sentinel], {})
    iterator = value.iterate(tx)
    return iterator.owner if isinstance(iterator, UserIterator) else iterator


def next_item(tx: Interpreter, iterator: Variable) -> Variable | None:
    """The next item of any iterator variable, or None at its end."""
    if isinstance(iterator, IteratorVariable):
        return iterator.next_item(tx)
    try:
        return iterator.call_method(tx, "__next__", [], {})
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), StopIteration):
            return None
        raise


def _has_next(value: Variable) -> bool:
    if isinstance(value, ObjectVariable):
        return value.has_class_attribute("__next__")
    return hasattr(value.python_type(), "__next__")


@rule(next)
def _next(tx: Interpreter, iterator: Variable, default: Variable | None = None) -> Variable:
    if isinstance(iterator, IteratorVariable):
        item = iterator.next_item(tx)
    elif not _has_next(iterator):
        raise_type_error(f"'{shown_name(iterator.python_type())}' object is not an iterator")
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


def _as_int(tx: Interpreter, value: Variable) -> int:
    if value.is_constant() and not hasattr(value.python_type(), "__index__"):
        raise_type_error(f"'{value.python_type().__name__}' object cannot be interpreted as an integer")
    return index_of(tx, value)


@rule(enumerate)
def _enumerate(tx: Interpreter, iterable: Variable, start: Variable = ConstantVariable(0)) -> Variable:
    return EnumerateIterator(_iter(tx, iterable), _as_int(tx, start))


@rule(zip)
def _zip(tx: Interpreter, *iterables: Variable, strict: Variable = ConstantVariable(False)) -> Variable:
    return zip_of([_iter(tx, i) for i in iterables], strict.truth(tx))


def zip_of(iterators: list[Variable], strict: bool, source: Source | None = None) -> Variable:
    def step(tx: Interpreter) -> Variable | None:
        items: list[Variable] = []
        for index, iterator in enumerate(iterators):
            item = _next_unread(tx, iterator)
            if item is None:
                if strict:
                    _check_strict(tx, iterators, index)
                return None
            items.append(item)
        return TupleVariable(items) if iterators else None

    return ComposedIterator(zip, iterators, step, source, made_by=_strict_zip if strict else zip)


def _next_unread(tx: Interpreter, iterator: Variable) -> Variable | None:
    """The next item. What a zip takes out of a sequence, it does not look at."""
    return iterator.next_unread(tx) if isinstance(iterator, IndexIterator) else next_item(tx, iterator)


def _strict_zip(*iterables: Any) -> zip[Any]:
    return zip(*iterables, strict=True)


def _check_strict(tx: Interpreter, iterators: list[Variable], index: int) -> None:
    """Raise ValueError unless all iterators end in the same round as iterator `index` (strict=True)."""
    if index:
        who = "argument 1" if index == 1 else f"arguments 1-{index}"
        raise raise_new(ValueError, f"zip() argument {index + 1} is shorter than {who}")
    for later, iterator in enumerate(iterators[1:], 2):
        if next_item(tx, iterator) is not None:
            who = "argument 1" if later == 2 else f"arguments 1-{later - 1}"
            raise raise_new(ValueError, f"zip() argument {later} is longer than {who}")


@rule(map)
def _map(tx: Interpreter, function: Variable, *iterables: Variable) -> Variable:
    return map_of([function, *(_iter(tx, i) for i in iterables)])


def map_of(parts: list[Variable], source: Source | None = None) -> Variable:
    function, *iterators = parts

    def step(tx: Interpreter) -> Variable | None:
        items = []
        for iterator in iterators:
            item = next_item(tx, iterator)
            if item is None:
                return None
            items.append(item)
        return function.call(tx, items, {})

    return ComposedIterator(map, parts, step, source)


@rule(filter)
def _filter(tx: Interpreter, function: Variable, items: Variable) -> Variable:
    return filter_of([function, _iter(tx, items)])


def filter_of(parts: list[Variable], source: Source | None = None) -> Variable:
    function, iterator = parts
    plain = function.is_exactly(None)

    def step(tx: Interpreter) -> Variable | None:
        while (item := next_item(tx, iterator)) is not None:
            if (item if plain else function.call(tx, [item], {})).truth(tx):
                return item
        return None

    return ComposedIterator(filter, parts, step, source)


@rule(reversed)
def _reversed(tx: Interpreter, items: Variable) -> Variable:
    kind = items.python_type()
    items = plain_operand(tx.output.objects.resolve(items), "__reversed__", "__len__", "__getitem__")
    if isinstance(items, SequenceVariable):
        return ReverseIterator(items)
    if isinstance(items, RangeVariable):
        return RangeIterator(items.value[::-1])
    if isinstance(items, ObjectVariable) and lookup_type(items.cls, "__reversed__") is not None:
        if items.has_class_attribute("__reversed__"):
            return items.call_method(tx, "__reversed__", [], {})
        if items.has_class_attribute("__getitem__") and items.has_class_attribute("__len__"):
            return ReverseIndexProtocolIterator(items, index_of(tx, items.len_variable(tx)) - 1)
    if isinstance(items, ConstantVariable) and isinstance(items.value, (str, bytes)):
        return SequenceIterator(items.unpack(tx)[::-1], reversed, items)
    if isinstance(items, (DictVariable, DictViewVariable, MappingProxyVariable)):
        return items.reversed(tx)
    if isinstance(items, TensorVariable):
        return items.call_method(tx, "__reversed__", [], {})  # a tensor
    if items.is_constant() or isinstance(items, (ObjectVariable, SetVariable)):
        raise_type_error(f"'{shown_name(kind)}' object is not reversible")
    raise GraphBreak("builtin", name="reversed", value=items)


@rule(itertools.count)
def _count(
    tx: Interpreter, start: Variable = ConstantVariable(0), step: Variable = ConstantVariable(1)
) -> Variable:
    return CountIterator(start.as_constant(), step.as_constant())


@rule(itertools.tee)
def _tee(tx: Interpreter, *args: Variable) -> Variable:
    made = tx.wrap_function(tee_).call(tx, list(args), {})
    assert isinstance(made, TupleVariable)
    for reader in made.items:
        assert isinstance(reader, GeneratorVariable)
        reader.kind = itertools._tee  # type: ignore[attr-defined]
    return made


@rule(itertools.repeat)
def _repeat(tx: Interpreter, object: Variable, times: Variable | None = None) -> Variable:
    return RepeatIterator(object, -1 if times is None else max(_as_int(tx, times), 0))
