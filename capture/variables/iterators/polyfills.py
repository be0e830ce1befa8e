"""Polyfills of the classes of `itertools`.

In:  the arguments of a call such as `itertools.chain(xs, ys)`.
Out: a generator with the same items.

As in `itertools`, most call `iter` on their arguments at once, and they read items only when they need them.
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from capture.variables.callables.polyfills import MISSING, stands_for


@stands_for(itertools.chain)
def chain_(*iterables: Iterable[Any]) -> Iterator[Any]:
    return _flattened(iter(iterables))


def _flattened(iterables: Iterator[Iterable[Any]]) -> Iterator[Any]:
    for iterable in iterables:
        walk = iter(iterable)
        for item in walk:  # noqa: UP028 (`rebuilt.py` needs the iterator under a name)
            yield item


@stands_for(itertools.chain.from_iterable)
def chain_from_iterable(iterables: Iterable[Iterable[Any]], /) -> Iterator[Any]:
    return _flattened(iter(iterables))


def _position(value: Any, text: str) -> int:
    try:
        position = operator.index(value)
    except TypeError:
        raise ValueError(text) from None
    if not 0 <= position <= sys.maxsize:
        raise ValueError(text)
    return position


@stands_for(itertools.islice)
def islice_(iterable: Iterable[Any], /, *args: Any) -> Iterator[Any]:
    if not args or len(args) > 3:
        word = ("at least 2 arguments", "at most 4 arguments")[len(args) > 3]
        raise TypeError(f"islice expected {word}, got {len(args) + 1}")
    bounds = slice(*args)
    if len(args) == 1:
        text = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."
    else:
        text = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."
    start = 0 if bounds.start is None else _position(bounds.start, text)
    stop = None if bounds.stop is None else _position(bounds.stop, text)
    step_text = "Step for islice() must be a positive integer or None."
    step = 1 if bounds.step is None else _position(bounds.step, step_text)
    if step == 0:
        raise ValueError(step_text)
    return _islice(iter(iterable), start, stop, step)


def _islice(items: Iterator[Any], start: int, stop: int | None, step: int) -> Iterator[Any]:
    """Reads the items up to the larger of `start` and `stop`, even those that it does not yield."""
    index = 0
    wanted = start
    while stop is None or index < max(start, stop):
        item = next(items, MISSING)
        if item is MISSING:
            return
        if index == wanted and (stop is None or index < stop):
            yield item
            wanted += step
        index += 1


@stands_for(itertools.cycle)
def cycle_(iterable: Iterable[Any], /) -> Iterator[Any]:
    return _cycle(iter(iterable))


def _cycle(items: Iterator[Any]) -> Iterator[Any]:
    saved = []
    for item in items:
        saved.append(item)
        yield item
    while saved:
        walk = iter(saved)
        for item in walk:
            yield item


@stands_for(itertools.accumulate)
def accumulate_(iterable: Iterable[Any], func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    return _accumulate(iter(iterable), operator.add if func is None else func, initial)


def _accumulate(items: Iterator[Any], function: Any, initial: Any) -> Iterator[Any]:
    total = initial
    if initial is None:
        total = next(items, MISSING)
        if total is MISSING:
            return
    yield total
    for item in items:
        total = function(total, item)
        yield total


@stands_for(itertools.product)
def product_(*iterables: Iterable[Any], repeat: int = 1) -> Iterator[Any]:
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    pools = [tuple(pool) for pool in iterables] * repeat
    results: list[Any] = [()]
    for pool in pools:
        results = [(*done, item) for done in results for item in pool]
    return _each(results, itertools.product, tuple(pools))


def _each(results: list[Any], made_by: Any, pools: tuple[Any, ...]) -> Iterator[Any]:
    """The rows that `made_by(*pools)` gives."""
    for read, row in enumerate(results, 1):  # noqa: B007 (`rebuilt.py` asks for it)
        yield row


@stands_for(itertools.pairwise)
def pairwise_(iterable: Iterable[Any], /) -> Iterator[Any]:
    return _pairwise(iter(iterable))


def _pairwise(items: Iterator[Any]) -> Iterator[Any]:
    left = next(items, MISSING)
    if left is MISSING:
        return
    for right in items:
        yield left, right
        left = right


@stands_for(itertools.starmap)
def starmap_(function: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _starmap(function, iter(iterable))


def _starmap(function: Any, rows: Iterator[Any]) -> Iterator[Any]:
    for args in rows:
        yield function(*args)


@stands_for(itertools.takewhile)
def takewhile_(predicate: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _takewhile(predicate, iter(iterable))


def _takewhile(predicate: Any, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if not predicate(item):
            return
        yield item


@stands_for(itertools.dropwhile)
def dropwhile_(predicate: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _dropwhile(predicate, iter(iterable))


def _dropwhile(predicate: Any, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if not predicate(item):
            yield item
            break
    yield from items


@stands_for(itertools.zip_longest)
def zip_longest_(*iterables: Iterable[Any], fillvalue: Any = None) -> Iterator[Any]:
    return _zip_longest([iter(i) for i in iterables], fillvalue)


def _zip_longest(iterators: list[Any], fillvalue: Any) -> Iterator[Any]:
    live = len(iterators)
    while live:
        row = []
        for index, iterator in enumerate(iterators):
            item = fillvalue if iterator is None else next(iterator, MISSING)
            if item is MISSING:
                iterators[index] = None
                live -= 1
                item = fillvalue
                if not live:
                    return
            row.append(item)
        yield tuple(row)


def _length(r: Any) -> int:
    length = operator.index(r)
    if length < 0:
        raise ValueError("r must be non-negative")
    return length


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
    pool = tuple(iterable)
    return _each(_combinations(pool, _length(r), 0), itertools.combinations, (pool, r))


@stands_for(itertools.combinations_with_replacement)
def combinations_with_replacement_(iterable: Iterable[Any], r: int) -> Iterator[Any]:
    pool = tuple(iterable)
    results: list[Any] = [((), 0)]
    for _ in range(_length(r)):
        results = [((*done, pool[i]), i) for done, least in results for i in range(least, len(pool))]
    made_by = itertools.combinations_with_replacement
    return _each([row for row, _ in results], made_by, (pool, r))


@stands_for(itertools.permutations)
def permutations_(iterable: Iterable[Any], r: Any = None) -> Iterator[Any]:
    pool = tuple(iterable)
    if r is not None and not isinstance(r, int):
        raise TypeError("Expected int as r")
    length = len(pool) if r is None else _length(r)
    results: list[Any] = [()]
    for _ in range(length):
        results = [(*done, i) for done in results for i in range(len(pool)) if i not in done]
    rows = [tuple([pool[i] for i in row]) for row in results]
    return _each(rows, itertools.permutations, (pool, length))


@stands_for(itertools.compress)
def compress_(data: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    return _compress(iter(data), iter(selectors))


def _compress(items: Iterator[Any], selectors: Iterator[Any]) -> Iterator[Any]:
    for item, selected in zip(items, selectors):
        if selected:
            yield item


@stands_for(itertools.filterfalse)
def filterfalse_(function: Any, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _filterfalse(function, iter(iterable))


def _filterfalse(function: Any, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if not (item if function is None else function(item)):
            yield item


@stands_for(itertools.groupby)
def groupby_(iterable: Iterable[Any], key: Any = None) -> Iterator[Any]:
    return _groupby(iter(iterable), key)


def _groupby(items: Iterator[Any], key: Any) -> Iterator[Any]:
    """Groups share one iterator. The step to the next group skips the remaining items of the group before."""
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


def tee_(iterable: Iterable[Any], n: int = 2, /) -> Any:
    """All readers share one list. It grows when the first reader moves on."""
    if n < 0:
        raise ValueError("n must be >= 0")
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
