"""Wrapping existing iterators of Python's built-in classes.

In:  an iterator that existed before the frame, and its source.
Out: its variable, with a guard on its position. The objects that it walks over are wrapped too.

If each call of the frame gets the iterator at another position, Python runs it, because each call would be a
recompile.
"""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any

import _capture

from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.views import DictViewVariable
from capture.variables.core.base import Variable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.wrap import WRAPPERS, guard_type, wrap, wraps
from capture.variables.iterators import rules
from capture.variables.iterators.dict_iterator import DictIterator
from capture.variables.iterators.iterator import (
    CountIterator,
    EnumerateIterator,
    IndexIterator,
    IteratorVariable,
    RangeIterator,
    RepeatIterator,
    ReverseIterator,
)
from capture.variables.objects.user_object import ObjectVariable
from guards.guard import GuardError
from guards.kinds.iterators import IteratorStateGuard
from guards.properties.iterator_state import ITERATORS, VIEWS, numbers_of, parts_of
from guards.sources import IteratorPartSource, Source

if TYPE_CHECKING:
    from capture.variables.core.protocols import Output


def _range_iterator(numbers: tuple[int, ...], parts: list[Any], source: Source) -> Variable:
    index, start, step, length = numbers
    result = RangeIterator(range(start, start + step * length, step), source)
    result.position = index
    return result


DICT_WALKS: dict[type, str] = {
    type(iter({})): "keys",
    type(iter({}.values())): "values",
    type(iter({}.items())): "items",
}


def _dict_iterator(kind: str) -> Any:
    return lambda numbers, parts, source: DictIterator(parts[0], kind, numbers, source)


@wraps(*VIEWS)
def wrap_view(output: Output, value: Any, source: Source | None) -> Variable:
    """An existing view, such as the result of `d.keys()`."""
    guard_type(output, value, source)
    (held,) = parts_of(value)
    mapping = wrap(output, held, IteratorPartSource(source, 0) if source is not None else None)
    if type(mapping) is not DictVariable:
        return OpaqueVariable(value, source, "unknown_type", value=f"view of {mapping.describe()}")
    return DictViewVariable(mapping, VIEWS[type(value)], source)


#: (numbers, parts, source) -> Variable, by class
MAKERS: dict[type, Any] = {
    type(iter([])): lambda numbers, parts, source: IndexIterator(parts[0], source, numbers[0]),
    type(iter(())): lambda numbers, parts, source: IndexIterator(parts[0], source, numbers[0]),
    type(reversed([])): lambda numbers, parts, source: ReverseIterator(parts[0], source, numbers[0]),
    type(iter(range(0))): _range_iterator,
    **{cls: _dict_iterator(kind) for cls, kind in DICT_WALKS.items()},
    enumerate: lambda numbers, parts, source: EnumerateIterator(parts[0], numbers[0], source),
    zip: lambda numbers, parts, source: rules.zip_of(parts, bool(numbers[1]), source),
    map: lambda numbers, parts, source: rules.map_of(parts, source),
    filter: lambda numbers, parts, source: rules.filter_of(parts, source),
    itertools.count: lambda numbers, parts, source: CountIterator(numbers[0], parts[0].as_constant(), source),
    itertools.repeat: lambda numbers, parts, source: RepeatIterator(parts[0], numbers[0], source),
}
#: the parts that must be iterators (the other parts are functions, sequences or values)
INNER: dict[type, slice] = {
    enumerate: slice(0, 1),
    zip: slice(None),
    map: slice(1, None),
    filter: slice(1, 2),
}
#: the classes whose iterators only the extension can move
MOVED = (enumerate, itertools.count, itertools.repeat)


def wrap_iterator(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    kind = type(value)

    def refused(why: str = "") -> Variable:
        return OpaqueVariable(value, source, "iterate", value=kind.__name__ + why)

    if source is None or (kind in MOVED and not hasattr(_capture, "move_iterator")):
        return refused()
    try:
        guard = IteratorStateGuard.of(source, value)
    except GuardError:
        return refused(" that is exhausted or counts in large numbers")
    numbers = numbers_of(value)
    if output.symbols.policy.is_moving_iterator(numbers[0] if numbers else 0, source):
        return refused(" that has another position in each call")
    held = parts_of(value)
    if kind not in INNER and any(type(part) not in PLAIN_PARTS[kind] for part in held if kind in PLAIN_PARTS):
        return refused(" over an instance of a user class")
    parts = [wrap(output, part, IteratorPartSource(source, i)) for i, part in enumerate(held)]
    if kind in DICT_WALKS and type(parts[0]) is not DictVariable:
        return refused(f" over {parts[0].describe()}")
    inner = parts[INNER[kind]] if kind in INNER else []
    if not all(isinstance(part, (IteratorVariable, ObjectVariable)) for part in inner):
        return refused(f" over {next(p.describe() for p in inner if not isinstance(p, IteratorVariable))}")
    output.guards.add(guard)
    return MAKERS[kind](numbers, parts, source)


#: the allowed classes of the parts: the containers of an index or dict iterator, and the step of a count
PLAIN_PARTS: dict[type, tuple[type, ...]] = {
    type(iter([])): (list,),
    type(iter(())): (tuple,),
    type(reversed([])): (list,),
    **dict.fromkeys(DICT_WALKS, (dict, collections.defaultdict)),
    itertools.count: (int,),
}

for iterator_class in ITERATORS:
    WRAPPERS.setdefault(iterator_class, wrap_iterator)
