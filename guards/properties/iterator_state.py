"""The state of built-in iterators: numbers that say how far they have come, and the objects that they walk
over.

In:  an iterator of one of the classes in `ITERATORS`.
Out: `numbers_of(iterator)`, `parts_of(iterator)`, `part_of(iterator, index)`. They raise Unresolved where
     there is nothing, as `native/guards/guard_iterators.c` fails.

    enumerate(it, 5)       ->   numbers (5,), part 0 is iter(it)
    iter([1, 2])           ->   numbers (0,), part 0 is the list
    zip(a, b)              ->   numbers (2, strict), parts 0 and 1 are iter(a), iter(b)

Views of dicts and deques have a state too. The part of a view is its dict. The number of a deque is `maxlen`,
or -1 without one.
"""

from __future__ import annotations

import collections
import gc
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from guards.lookup import Unresolved, isinstance_raw


def _reduced(iterator: Any) -> Any:
    return iterator.__reduce__()


class _State(NamedTuple):
    numbers: Callable[[Any], tuple[int, ...]]
    parts: Callable[[Any], tuple[Any, ...]]
    read: Callable[[Any], Any] = _reduced  # makes the argument of the two others


def _over_sequence(state: Any) -> tuple[int, ...]:
    if len(state) != 3:
        raise Unresolved("the iterator is exhausted")
    return (state[2],)


def _range_numbers(state: Any) -> tuple[int, ...]:
    values = state[1][0]
    return (state[2], values.start, values.step, len(values))


def _no_numbers(state: Any) -> tuple[int, ...]:
    return ()


def _arguments(state: Any) -> tuple[Any, ...]:
    return state[1]


def _dict_walk(iterator: Any) -> tuple[tuple[int, int], tuple[Any]]:
    # The referents include the pair that the iterator gives out again. A second reference keeps it unwritten
    # below.
    held = gc.get_referents(iterator)
    if not held or not isinstance_raw(held[0], dict):
        raise Unresolved("the iterator is exhausted")
    size, left = dict.__len__(held[0]), iterator.__length_hint__()
    try:
        rest = iterator.__reduce__()[1][0]
    except RuntimeError:  # keys came or went
        rest = None
    if rest is None or len(rest) != left:
        raise Unresolved("the dict has other keys than at the start of the walk")
    return (size - left, size), (held[0],)


def _itself(value: Any) -> Any:
    return value


#: class of a view -> name of the method that makes it
VIEWS: dict[type, str] = {
    type(getattr(cls(), kind)()): kind
    for cls in (dict, collections.OrderedDict)
    for kind in ("keys", "values", "items")
}
_VIEW = _State(lambda view: (), lambda view: tuple(gc.get_referents(view)), _itself)
_DICT = _State(lambda state: state[0], lambda state: state[1], _dict_walk)
_SEQUENCE = _State(_over_sequence, _arguments)
ITERATORS: dict[type, _State] = {
    type(iter([])): _SEQUENCE,
    type(iter(())): _SEQUENCE,
    type(reversed([])): _SEQUENCE,
    type(iter(range(0))): _State(_range_numbers, lambda state: ()),
    type(iter({})): _DICT,
    type(iter({}.values())): _DICT,
    type(iter({}.items())): _DICT,
    **dict.fromkeys(VIEWS, _VIEW),
    collections.deque: _State(
        lambda deque: (-1 if deque.maxlen is None else deque.maxlen,), lambda deque: (), _itself
    ),
    enumerate: _State(lambda state: (state[1][1],), lambda state: state[1][:1]),
    zip: _State(lambda state: (len(state[1]), len(state) > 2), _arguments),
    map: _State(_no_numbers, _arguments),
    filter: _State(_no_numbers, _arguments),
    itertools.count: _State(lambda state: (state[1][0],), lambda state: (*state[1][1:], 1)[:1]),
    itertools.repeat: _State(lambda state: (*state[1][1:], -1)[:1], lambda state: state[1][:1]),
}


def _state(iterator: Any) -> tuple[_State, Any]:
    known = ITERATORS.get(type(iterator))
    if known is None:
        raise Unresolved(f"no iterator whose state is known: {type(iterator).__name__}")
    return known, known.read(iterator)


def numbers_of(iterator: Any) -> tuple[int, ...]:
    known, state = _state(iterator)
    numbers = known.numbers(state)
    if not all(type(n) in (int, bool) and -(2**63) <= n < 2**63 for n in numbers):
        raise Unresolved("the iterator does not count in 64-bit ints")
    return tuple(map(int, numbers))


def parts_of(iterator: Any) -> tuple[Any, ...]:
    known, state = _state(iterator)
    known.numbers(state)  # raises for an exhausted iterator, which has no parts
    return known.parts(state)


def part_of(iterator: Any, index: int) -> Any:
    parts = parts_of(iterator)
    if not 0 <= index < len(parts):
        raise Unresolved(f"the iterator has {len(parts)} parts")
    return parts[index]
