"""Library functions in plain Python, which the interpreter inlines in place of the functions in C.

In:  a call with arguments that are not constants.
Out: the same values, exceptions and order of calls as the function in C gives.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from capture.variables.core import contents
from codegen.kernel.families import Table

MISSING: Any = object()
POLYFILLS: Table[Callable[..., Any]] = Table(contents, "POLYFILLS")


def stands_for(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(polyfill: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            POLYFILLS[function] = polyfill
        return polyfill

    return register


@stands_for(sum)
def sum_(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    for item in iterable:
        start = start + item
    return start


@stands_for(math.prod)
def prod(iterable: Iterable[Any], /, *, start: Any = 1) -> Any:
    for item in iterable:
        start = start * item
    return start


@stands_for(any)
def any_(iterable: Iterable[Any], /) -> bool:
    for item in iterable:
        if item:
            return True
    return False


@stands_for(all)
def all_(iterable: Iterable[Any], /) -> bool:
    for item in iterable:
        if not item:
            return False
    return True


def extreme_number(function: Any, first: Any, items: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """`function` (max or min) of the plain numbers with which the items begin, and the other items.

    Nobody sees when plain numbers are compared. All at once, they may be symbols.
    """
    numbers = [first]
    for item in items:
        if type(item) not in (int, float):
            items = itertools.chain([item], items)
            break
        numbers.append(item)
    return function(*numbers) if len(numbers) > 1 else first, items


@stands_for(max)
def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    items = iter(args[0] if len(args) == 1 else args)
    best = next(items, MISSING)
    if best is MISSING:
        if default is MISSING:
            raise ValueError("max() arg is an empty sequence")
        return default
    if key is None and len(args) == 1 and type(best) in (int, float):
        best, items = extreme_number(max, best, items)
    rank = best if key is None else key(best)
    for item in items:
        other = item if key is None else key(item)
        if other > rank:
            best, rank = item, other
    return best


@stands_for(min)
def min_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    items = iter(args[0] if len(args) == 1 else args)
    best = next(items, MISSING)
    if best is MISSING:
        if default is MISSING:
            raise ValueError("min() arg is an empty sequence")
        return default
    if key is None and len(args) == 1 and type(best) in (int, float):
        best, items = extreme_number(min, best, items)
    rank = best if key is None else key(best)
    for item in items:
        other = item if key is None else key(item)
        if other < rank:
            best, rank = item, other
    return best


@stands_for(functools.reduce)
def reduce_(function: Any, iterable: Iterable[Any], /, initial: Any = MISSING) -> Any:
    items = iter(iterable)
    value = next(items, MISSING) if initial is MISSING else initial
    if value is MISSING:
        raise TypeError("reduce() of empty iterable with no initial value")
    for item in items:
        value = function(value, item)
    return value


@stands_for(operator.countOf)
def count_of(items: Iterable[Any], value: Any, /) -> int:
    count = 0
    for item in items:
        if item is value or item == value:
            count += 1
    return count


@stands_for(operator.indexOf)
def index_of(items: Iterable[Any], value: Any, /) -> int:
    for index, item in enumerate(items):
        if item is value or item == value:
            return index
    raise ValueError("sequence.index(x): x not in sequence")


@stands_for(operator.concat)
def concat(left: Any, right: Any, /) -> Any:
    if not hasattr(left, "__getitem__"):
        raise TypeError(f"'{type(left).__name__}' object can't be concatenated")
    return left + right


def get_items(owner: Any, *keys: Any) -> Any:
    return owner[keys[0]] if len(keys) == 1 else tuple([owner[key] for key in keys])


def get_attributes(owner: Any, *paths: str) -> Any:
    results = []
    for path in paths:
        value = owner
        for name in path.split("."):
            value = getattr(value, name)
        results.append(value)
    return results[0] if len(paths) == 1 else tuple(results)


def call_named_method(owner: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    return getattr(owner, name)(*args, **kwargs)


#: Functions for calls of such objects. They take the argument of the call, then the arguments that made the
#: object.
MADE_CALLABLES: dict[type, Callable[..., Any]] = {
    operator.itemgetter: get_items,
    operator.attrgetter: get_attributes,
    operator.methodcaller: call_named_method,
}


def dict_fromkeys(cls: Any, keys: Iterable[Any], value: Any = None, /) -> Any:
    """The class method that a subclass of dict inherits from dict or OrderedDict."""
    result = cls()
    for key in keys:
        result[key] = value
    return result


def results_until(function: Callable[[], Any], sentinel: Any) -> Iterator[Any]:
    """`iter(function, sentinel)`."""
    while True:
        value = function()
        if sentinel is value or sentinel == value:
            return
        yield value


@stands_for(collections._count_elements)  # type: ignore[attr-defined]
def count_elements(counts: Any, items: Iterable[Any], /) -> None:
    get = counts.get
    for item in items:
        counts[item] = get(item, 0) + 1
