"""Library functions written in plain Python, inlined in place of the C ones when their arguments are not constants.

Each gives the same values, exceptions and order of calls as the function that it stands for.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MISSING: Any = object()
POLYFILLS: dict[Any, Callable[..., Any]] = {}


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


@stands_for(max)
def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    items = iter(args[0] if len(args) == 1 else args)
    best = next(items, MISSING)
    if best is MISSING:
        if default is MISSING:
            raise ValueError("max() arg is an empty sequence")
        return default
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


@stands_for(itertools.chain)
def chain_(*iterables: Iterable[Any]) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


@stands_for(itertools.chain.from_iterable)
def chain_from_iterable(iterables: Iterable[Iterable[Any]]) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


@stands_for(itertools.islice)
def islice_(iterable: Iterable[Any], /, *args: Any) -> Iterator[Any]:
    bounds = slice(*args)
    start, stop, step = bounds.start or 0, bounds.stop, bounds.step or 1
    index, wanted = 0, start
    items = iter(iterable)
    while stop is None or wanted < stop:
        item = next(items, MISSING)
        if item is MISSING:
            return
        if index == wanted:
            yield item
            wanted += step
        index += 1


@stands_for(itertools.cycle)
def cycle_(iterable: Iterable[Any], /) -> Iterator[Any]:
    saved = []
    for item in iterable:
        yield item
        saved.append(item)
    while saved:
        yield from saved


@stands_for(itertools.accumulate)
def accumulate_(iterable: Iterable[Any], func: Any = operator.add, *, initial: Any = None) -> Iterator[Any]:
    items = iter(iterable)
    total = initial
    if initial is None:
        total = next(items, MISSING)
        if total is MISSING:
            return
    yield total
    for item in items:
        total = func(total, item)
        yield total


@stands_for(itertools.product)
def product_(*iterables: Iterable[Any], repeat: int = 1) -> Iterator[Any]:
    pools = [tuple(pool) for pool in iterables] * repeat
    results: list[Any] = [()]
    for pool in pools:
        results = [(*done, item) for done in results for item in pool]
    return iter(results)


@stands_for(itertools.pairwise)
def pairwise_(iterable: Iterable[Any], /) -> Iterator[Any]:
    items = iter(iterable)
    left = next(items, MISSING)
    if left is MISSING:
        return
    for right in items:
        yield left, right
        left = right


@stands_for(itertools.starmap)
def starmap_(function: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    for args in iterable:
        yield function(*args)


@stands_for(itertools.takewhile)
def takewhile_(predicate: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    for item in iterable:
        if not predicate(item):
            return
        yield item


@stands_for(itertools.dropwhile)
def dropwhile_(predicate: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    items = iter(iterable)
    for item in items:
        if not predicate(item):
            yield item
            break
    yield from items


@stands_for(itertools.zip_longest)
def zip_longest_(*iterables: Iterable[Any], fillvalue: Any = None) -> Iterator[Any]:
    iterators = [iter(i) for i in iterables]
    live = len(iterators)
    while live:
        row = []
        for index, iterator in enumerate(iterators):
            item = fillvalue if iterator is None else next(iterator, MISSING)
            if item is MISSING:
                iterators[index] = None  # type: ignore[call-overload]
                live -= 1
                item = fillvalue
                if not live:
                    return
            row.append(item)
        yield tuple(row)


def _combinations(pool: tuple[Any, ...], length: int, start: int) -> list[tuple[Any, ...]]:
    if length == 0:
        return [()]
    result = []
    for index in range(start, len(pool) - length + 1):
        for rest in _combinations(pool, length - 1, index + 1):
            result.append((pool[index], *rest))
    return result


@stands_for(itertools.combinations)
def combinations_(iterable: Iterable[Any], r: int) -> Iterator[Any]:
    return iter(_combinations(tuple(iterable), r, 0))


@stands_for(itertools.combinations_with_replacement)
def combinations_with_replacement_(iterable: Iterable[Any], r: int) -> Iterator[Any]:
    pool = tuple(iterable)
    results: list[Any] = [((), 0)]
    for _ in range(r):
        results = [((*done, pool[i]), i) for done, least in results for i in range(least, len(pool))]
    return iter([row for row, _ in results])


@stands_for(itertools.compress)
def compress_(data: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    for item, selected in zip(data, selectors):
        if selected:
            yield item


@stands_for(itertools.filterfalse)
def filterfalse_(function: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    for item in iterable:
        if not (item if function is None else function(item)):
            yield item


@stands_for(itertools.groupby)
def groupby_(iterable: Iterable[Any], key: Any = None) -> Iterator[Any]:
    """Groups share one iterator: going on to the next group leaves what was not taken of the one before."""
    items = iter(iterable)
    item = next(items, MISSING)
    while item is not MISSING:
        label = item if key is None else key(item)
        ended = False

        def group(label: Any) -> Iterator[Any]:
            nonlocal item, ended
            while not ended:
                yield item
                item = next(items, MISSING)
                same = item is not MISSING and (item if key is None else key(item)) == label
                ended = not same

        members = group(label)
        yield label, members
        for _ in members:
            pass


@stands_for(itertools.tee)
def tee_(iterable: Iterable[Any], n: int = 2, /) -> Any:
    """Each reads from one shared list, which grows as the first of them gets on."""
    items, seen = iter(iterable), []  # type: ignore[var-annotated]

    def reader() -> Iterator[Any]:
        position = 0
        while True:
            if position == len(seen):
                item = next(items, MISSING)
                if item is MISSING:
                    return
                seen.append(item)
            yield seen[position]
            position += 1

    return tuple([reader() for _ in range(n)])


@stands_for(itertools.permutations)
def permutations_(iterable: Iterable[Any], r: Any = None) -> Iterator[Any]:
    pool = tuple(iterable)
    length = len(pool) if r is None else r
    results: list[Any] = [()]
    for _ in range(length):
        results = [(*done, i) for done in results for i in range(len(pool)) if i not in done]
    return iter([tuple([pool[i] for i in row]) for row in results])


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


#: what a call of these does, with what they were made from behind the argument
MADE_CALLABLES: dict[type, Callable[..., Any]] = {
    operator.itemgetter: get_items,
    operator.attrgetter: get_attributes,
    operator.methodcaller: call_named_method,
}


def dict_fromkeys(cls: Any, keys: Iterable[Any], value: Any = None, /) -> Any:
    """The class method that a dict class inherits from dict or OrderedDict."""
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
